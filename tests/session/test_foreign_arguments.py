"""Arguments as ctypes, numpy, DLPack and plain tuples have them."""

import ctypes

import numpy as np
import pytest

from ptxsim import KernelError, Module, PtxError
from ptxsim.cli import main
from ptxsim.session.foreign_arguments import struct_bytes
from tests.helpers import ROOT, run_text, text_of

# axpy of a structure { float* x; const float* y; int n; float a; } by value, 24 bytes.
TEXT = text_of("session/structures.ptx")


def arrays():
    return np.ones(8, np.float32), np.arange(8, dtype=np.float32)


@pytest.mark.parametrize(
    "pack", [lambda x, y: (x, y, 8, 2.0), lambda x, y: {"x": x, "y": y, "n": np.int32(8), "a": np.float32(2)}]
)
def test_a_structure_with_arrays_in_it(pack):
    x, y = arrays()
    Module.from_text(TEXT).kernel("axpy").launch(1, 8, [pack(x, y)])
    assert (x == 1 + 2 * y).all()


def test_arrays_of_a_structure_are_watched_like_others():
    x, y = arrays()
    with pytest.raises(KernelError, match="out-of-bounds"):
        Module.from_text(TEXT).kernel("axpy").launch(1, 32, [(x, y, 9, 2.0)])


def test_structures_of_ctypes_and_numpy_hold_addresses():
    from ptxsim import Device

    class Arguments(ctypes.Structure):
        _fields_ = [("x", ctypes.c_void_p), ("y", ctypes.c_void_p), ("n", ctypes.c_int), ("a", ctypes.c_float)]

    device = Device("sm_90")
    x, y = device.array(arrays()[0]), device.array(arrays()[1])
    addresses = [device.pointer(each) for each in (x, y)]
    kernel = device.module(Module.from_text(TEXT)).kernel("axpy")
    kernel.launch(1, 8, [Arguments(*addresses, 8, 2.0)])
    record = np.array([(*addresses, 8, 2.0)], [("x", "u8"), ("y", "u8"), ("n", "i4"), ("a", "f4")])[0]
    kernel.launch(1, 8, [record])
    assert (x == 1 + 4 * y).all()


def test_dlpack_and_array_interfaces():
    class Interface:
        def __init__(self, array):
            self.array, self.__array_interface__ = array, array.__array_interface__

    class Dlpack:
        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    x, y = arrays()
    Module.from_text(TEXT).kernel("axpy").launch(1, 8, [(Interface(x), Dlpack(y), 8, 2.0)])
    assert (x == 1 + 2 * y).all()


def test_torch_tensors_of_the_cpu():
    torch = pytest.importorskip("torch")
    x, y = torch.ones(8, requires_grad=True), torch.arange(8, dtype=torch.float32)
    Module.from_text(TEXT).kernel("axpy").launch(1, 8, [{"x": x, "y": y, "n": 8, "a": 2.0}])
    assert torch.equal(x.detach(), 1 + 2 * y)
    halves = torch.zeros(2, dtype=torch.bfloat16)  # numpy has no such type
    Module.from_text(TEXT).kernel("fill").launch(1, 1, [halves])
    assert halves.view(torch.int16).tolist() == [7, 0]


@pytest.mark.parametrize("entry", ["_Z4fillPji", "fill(unsigned int*, int)", "fill", "unsigned"])
@pytest.mark.parametrize(
    "given", [("zeros(1):u32", "3"), ("1=3", "0=zeros(1):u32"), ("_Z4fillPji_param_1=3", "_Z4fillPji_param_0=zeros(1):u32")]
)  # fmt: skip
def test_the_command_line_names_kernels_and_arguments(entry, given, capsys):
    path = ROOT / "tests" / "session" / "mangled_names.ptx"
    arguments = [word for each in given for word in ("--arg", each)]
    for value, code in (3, 0), (4, 1):
        expected = f"_Z4fillPji_param_0 == {value}"
        assert main(["run", str(path), entry, "--block", "1", *arguments, "--expect", expected]) == code, (
            capsys.readouterr()
        )


def test_a_pointer_that_is_declared_as_eight_bytes():
    x = np.zeros(1, np.uint32)
    Module.from_text(TEXT).kernel("fill").launch(1, 1, [x])
    assert x[0] == 7


@pytest.mark.parametrize(
    ("value", "words"),
    [((1, 2.0), "has 24 bytes, the structure that is given has 8"), ((object(),), "a object in a structure")],
)
def test_structures_that_do_not_fit(value, words):
    with pytest.raises(PtxError, match=words):
        Module.from_text(TEXT).kernel("axpy").launch(1, 8, [value])


def test_members_are_laid_out_as_c_does():
    found = struct_bytes((np.uint8(1), 2, np.float64(3), (True, np.int16(5))), lambda array: 0)
    assert found == b"\1\0\0\0" + b"\2\0\0\0" + np.float64(3).tobytes() + b"\1\0\5\0" + b"\0\0\0\0"
    assert struct_bytes({"n": 1 << 40}, lambda array: 0) == (1 << 40).to_bytes(8, "little")


def test_arguments_by_position_and_expectations_of_the_caller():
    text = TEXT.replace(".param .align 8 .b8 q[8]", ".param .u64 q")
    result = run_text(text, entry="fill", arguments={"0": "zeros(1):u32"}, expects=("q == 7",), block=(1, 1, 1))
    assert result.passed and result.checked == 1
    wrong = run_text(text, entry="fill", arguments={"0": "zeros(1):u32"}, expects=("q == 8",), block=(1, 1, 1))
    assert [finding.name for finding in wrong.findings] == ["expectation-failed"]
    (finding,) = run_text(text, entry="fill", arguments={"1": "zeros(1):u32"}).findings
    assert finding.message == "fill has no parameter 1"


def test_a_launch_file_beside_the_kernel(tmp_path):
    from ptxsim.session.ptxfile.file import run_file

    text = TEXT.replace(".param .align 8 .b8 q[8]", ".param .u64 q")
    (tmp_path / "k.ptx").write_text(text + "\0")
    (tmp_path / "k.launch").write_text(
        "// ptxsim: launch entry=fill block=1\n// ptxsim: arg q = zeros(1):u32\n// ptxsim: expect q == 8\n"
    )
    assert "fill" in Module.from_text(text + "\0").entries
    (finding,) = run_file(tmp_path / "k.ptx").findings
    assert (finding.name, finding.file, finding.line) == ("expectation-failed", str(tmp_path / "k.launch"), 3)


def test_messages_about_arguments_name_kernels_as_they_are_written(capsys):
    path = ROOT / "tests" / "session" / "mangled_names.ptx"
    assert main(["run", str(path), "fill", "--block", "1", "--arg", "1=3"]) == 2
    told = capsys.readouterr()
    assert "fill(unsigned int*, int) needs a value for" in told.out + told.err
    with pytest.raises(PtxError, match=r"fill\(unsigned int\*, int\) takes 2 arguments, 1 are given"):
        Module.from_file(path).kernel("_Z4fillPji").launch(1, 32, [np.zeros(4, np.uint32)])

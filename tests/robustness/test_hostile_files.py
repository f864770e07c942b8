"""Files that ask for too much, hold what no text holds, or are no files: a finding or a usage error, never an internal one."""

import os
import struct
import zipfile

import numpy as np
import pytest

import ptxsim
from ptxsim import PtxError
from ptxsim.cli import main
from ptxsim.session.ptxfile.expectations import parse_comparison
from ptxsim.session.ptxfile.expressions import evaluate, parse_expression
from tests.helpers import run_text

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
COPY = HEADER + ".visible .entry k(.param .u64 A) { ret; }\n"


def refused(text: str, *words: str) -> None:
    result = run_text(text)
    assert result.run is None and result.findings, result
    assert all(word in result.findings[0].message for word in words), result.findings[0]


@pytest.mark.parametrize("size", ["300000000", "200000000000", "0x7fffffffffffffff"])
def test_large_variables(size):
    refused(
        f"{HEADER}.global .b8 g[{size}];\n.visible .entry k() {{ .reg .b64 %d; mov.u64 %d, g; ret; }}", "device memory"
    )


def test_large_local_arrays():
    refused(
        f"{HEADER}.visible .entry k() {{ .local .b8 l[2000000000]; .reg .b64 %d; mov.u64 %d, l; ret; }}", "local memory"
    )


@pytest.mark.parametrize(
    "values",
    ["zeros(1073741824):f32", "eye(16384):f32", "normal(1073741824):f16", "tensormap(ints(30000,30000):f16, box=16)"],
)
def test_large_arguments(values):
    refused(f"// ptxsim: launch grid=1 block=32\n// ptxsim: arg A = {values}\n{COPY}", "limit")


def test_the_limit_can_be_raised(tmp_path, capsys):
    file = tmp_path / "k.ptx"
    file.write_text(f"// ptxsim: launch grid=1 block=32\n// ptxsim: arg A = zeros(100):f32\n{COPY}")
    assert main(["run", str(file), "--max-memory", "300"]) == 2
    assert "--max-memory" in capsys.readouterr().out
    assert main(["run", str(file), "--max-memory", "400000"]) == 0


def test_array_files(tmp_path, monkeypatch):
    monkeypatch.setattr("ptxsim.arrays.MAX_ELEMENTS", 1 << 20)
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000,), }".ljust(117) + b"\n"
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
    (tmp_path / "object.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 4) + b"{}\n\n")
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "bad.npz").write_bytes(b"PK no archive")
    with zipfile.ZipFile(tmp_path / "many.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(2 << 20))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.npy")
    for name in ("huge.npy", "object.npy", "folder.npy", "bad.npz", "many.npz", "pipe.npy", "nothing.npy"):
        with pytest.raises(PtxError, match=name):
            ptxsim.arrays.load(tmp_path / name, "f32")


def test_no_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ptxsim.source.PATIENCE", 0.1)
    places = ["/dev/zero", "/dev/null", str(tmp_path), str(tmp_path / "nothing")]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.ptx")
        places.append(str(tmp_path / "pipe.ptx"))
    for place in places:
        assert main(["run", place]) == 2, place
        assert place in capsys.readouterr().err


def test_pipes_are_read(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("named pipes")
    ends = os.pipe()
    os.write(ends[1], COPY.encode())
    os.close(ends[1])
    assert ptxsim.Module.from_file(f"/dev/fd/{ends[0]}").entries == ["k"]
    os.close(ends[0])


WIDE = np.ones(1 << 16, np.float32)
NAMES = {"A": np.arange(16, dtype=np.uint32).reshape(4, 4), "B": WIDE, "n": 1 << 31}


@pytest.mark.parametrize(
    "text",
    [
        "A == (10**1000)**1000", "10**100000", "2**64", "A**1000", "A << 64", "1 << 64", "1 << -1", "n*n*n", "7 // 0", "7 % 0",
        "B[:,None] * B", "B[:,None] < B", "maximum(B[:,None], B)", "zeros(100000,100000)", "eye(1000000)", "arange(1e9)", "arange(0,9,1e-12)",
        "B[:,None] @ B[None,:]", "B[:,None] > B and B", "where(B[:,None] > 0, B, 0)", "astype(A, 3)", "zeros()",
        "...", "+...", "None", "'f16'",
    ],
)  # fmt: skip
def test_expressions_that_cost_too_much(text):
    with pytest.raises(PtxError):
        evaluate(parse_expression(text), NAMES)


@pytest.mark.parametrize("text", ["zeros(100000,100000)", "ones(1e12)", "eye(1000000)", "arange(1e9)"])
def test_arrays_too_large_are_refused_before_they_are_made(text):
    """A system that lends more memory than it has would not refuse them."""
    with pytest.raises(PtxError, match="the array would be too large"):
        evaluate(parse_expression(text), NAMES)


def test_words_that_look_like_tolerances_are_read_once():
    with pytest.raises(PtxError):
        parse_comparison("A == " + "ar= " * 1000)  # doubled with each, when what was read could be given back


@pytest.mark.parametrize(
    ("text", "value"),
    [("2**63", 1 << 63), ("(-2)**63", -(1 << 63)), ("(1 << 63) - 1", (1 << 63) - 1), ("7 // -2", -4), ("2**-1", 0.5)],
)
def test_numbers_are_exact(text, value):
    assert evaluate(parse_expression(text), {}).data == value


def test_arguments_that_are_none():
    with pytest.raises(PtxError, match="registers"):
        ptxsim.snippet("mov.u32 %0, 1;", registers=np.array(3))
    with pytest.raises(PtxError, match="shared_base"):
        ptxsim.snippet("mov.u32 %0, 1;", shared=np.zeros(4), shared_base=np.bytes_(b"x"))
    kernel = ptxsim.Module.from_text(COPY).kernel()
    with pytest.raises(PtxError, match="numerics"):
        kernel.launch(1, 32, [np.zeros(4)], numerics=np.zeros((), "V8"))
    with pytest.raises(PtxError, match="engine"):
        kernel.launch(1, 32, [np.zeros(4)], engine=np.zeros((), "V8"))
    with pytest.raises(PtxError, match="progress"):
        kernel.launch(1, 32, [np.zeros(4)], progress=0.5)
    rows = np.zeros((1000, 32), np.int64)
    assert (ptxsim.shared_wavefronts(rows, np.array(4, np.uint64)) == 1).all()
    assert (ptxsim.eye((2, 3), "u8") == [[1, 0, 0], [0, 1, 0]]).all() and ptxsim.eye(2).dtype == np.float32


def test_types_of_arrays_may_be_those_of_numpy():
    assert ptxsim.ints((4, 4), np.float16).dtype == np.float16
    assert (ptxsim.normal((4, 4), np.dtype("f4"), 3) == ptxsim.normal((4, 4), "f32", 3)).all()
    for wrong in (1j, None, "f31", object, np.dtype("S4")):
        with pytest.raises(PtxError):
            ptxsim.ints((4, 4), wrong)


@pytest.mark.parametrize("name", ["ints", "normal", "uniform", "ramp"])
def test_arrays_are_made_piece_by_piece(name, monkeypatch):
    make = getattr(ptxsim, name)
    type = "f16" if name in ("normal", "uniform") else "u8"
    whole = make((30, 41), type, seed=4)
    monkeypatch.setattr("ptxsim.arrays.PIECE", 100)
    assert (make((30, 41), type, seed=4) == whole).all()


@pytest.mark.parametrize("command", ["run", "check", "banks", "profile", "sweep"])
def test_a_name_with_a_nul_character_is_a_usage_error(command, capsys):
    assert main([command, "a\0b.ptx"]) == 2
    assert "NUL" in capsys.readouterr().err

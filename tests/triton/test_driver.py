"""What Triton and its programs ask of a driver besides launching."""

import os
import subprocess
import sys

import pytest

import ptxsim.triton
from ptxsim.diagnostic import PtxError
from ptxsim.session.device import Device
from ptxsim.session.run import KernelError

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")

from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402
from triton import knobs  # noqa: E402

from ptxsim.triton.storages import Storages  # noqa: E402
from tests.helpers import SAMPLES  # noqa: E402
from tests.triton.programs.kernels import add, add_kernel, asserting_kernel  # noqa: E402

SCRIPT = """
import torch, triton
from tests.triton.programs.kernels import add_kernel
assert triton.testing.do_bench.__module__ == "ptxsim.triton.timing"  # before anything has asked for a driver
device = triton.runtime.driver.active.get_active_torch_device()
x = torch.rand(SIZE, device=device)
out = torch.empty_like(x)
add_kernel[(1,)](x, x, out, 300, BLOCK=512)
assert (out == 2 * x).all()
print("right")
"""


def test_views_of_one_storage_are_one_memory():
    whole = torch.arange(300, dtype=torch.float32)
    with ptxsim.triton.active():
        add(whole[:100], whole[100:200], whole[200:])
    assert (whole[200:] == whole[:100] + whole[100:200]).all()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.int64, torch.float8_e4m3fn])
def test_every_type_of_tensor_is_taken_as_it_lies(kind):
    x = torch.arange(64).to(kind)
    out = torch.zeros_like(x)
    with ptxsim.triton.active():
        if kind is torch.float8_e4m3fn:
            add(triton.reinterpret(x, triton.language.int8), triton.reinterpret(torch.zeros_like(x), triton.language.int8), triton.reinterpret(out, triton.language.int8), 64)  # fmt: skip
            assert (out.view(torch.int8) == x.view(torch.int8)).all()
        else:
            add(x, x, out)
            assert (out == x + x).all()


def test_registers_and_spills_are_the_assemblers(monkeypatch):
    monkeypatch.setattr("ptxsim.triton.driver.resources_of", lambda *program: (33, 40))  # bytes of local memory
    x, out = torch.rand(100), torch.zeros(100)
    with ptxsim.triton.active():
        kernel = add_kernel[(1,)](x, x, out, 100, BLOCK=128)
        assert (kernel.n_regs, kernel.n_spills) == (33, 10)


def test_addresses_that_the_program_asks_for_stay_valid():
    x = torch.rand(100)
    with ptxsim.triton.active():
        first = x.data_ptr()
        out = torch.empty(100)
        add(x, x, out)
        assert x.data_ptr() == first and x[4:].data_ptr() == first + 16 and first % 512 == 0
        del x
        y = torch.rand(100)
        add(y, y, out)
        assert (out == y + y).all()


def test_tensors_whose_addresses_the_program_has_live_until_a_launch_is_over():
    storages = Storages(Device("sm_90"))
    x = torch.arange(100.0)
    address = storages.keep(x)
    with storages.placed() as placed:
        storage = StorageWeakRef(x.untyped_storage())
        del x  # as the garbage collector may while a kernel runs
        assert not storage.expired()  # what it holds is copied back at the end
        assert address in {place.address for place in placed.places.values()}
    assert storage.expired()


def test_a_tensor_that_is_gone_before_a_launch_begins_is_not_copied_back():
    storages = Storages(Device("sm_90"))
    with storages.placed() as placed:
        address = storages.keep(torch.arange(100.0))  # as an object may that makes a tensor to say where it lies
        placed.have(storages.kept)
        assert address not in {place.address for place in placed.places.values()}


class Pointer:
    """What Triton takes for a pointer, as libraries have it for views that torch has not."""

    def __init__(self, tensor, offset=0):
        self.tensor, self.offset, self.dtype = tensor, offset, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr() + self.offset * self.dtype.itemsize


def test_objects_with_an_address_are_pointers():
    x, out = torch.rand(100), torch.zeros(100)
    with ptxsim.triton.active() as runs:
        add_kernel[(1,)](x, Pointer(x, 4), Pointer(out, 4), 96, BLOCK=128)
    assert (out[4:] == x[:96] + x[4:]).all() and not out[:4].any()
    assert not runs[0].has_errors


def test_hooks_are_called():
    seen = []
    before = knobs.runtime.launch_enter_hook
    knobs.runtime.launch_enter_hook = lambda data: seen.append(data.get()["name"])
    try:
        with ptxsim.triton.active():
            add(torch.rand(10), torch.rand(10), torch.rand(10))
    finally:
        knobs.runtime.launch_enter_hook = before
    assert seen == ["add_kernel"]


def test_clocks_are_those_of_the_simulated_machine():
    """Models of performance, by which autotuners leave configurations out, ask nvidia-smi."""
    with ptxsim.triton.active(target="sm_90"):
        rate = triton.runtime.driver.active.utils.get_device_properties(0)["sm_clock_rate"]
        assert triton.testing.nvsmi(["clocks.max.sm", "clocks.current.memory"]) == [rate // 1000, 2619]


def test_nothing_is_active_after_it():
    testing, data_ptr = triton.testing.do_bench, torch.Tensor.data_ptr
    with ptxsim.triton.active():
        inner = triton.runtime.driver.active
        assert triton.testing.do_bench != testing
    assert triton.runtime.driver._active is not inner
    assert (triton.testing.do_bench, torch.Tensor.data_ptr) == (testing, data_ptr)
    assert knobs.runtime.add_stages_inspection_hook is None


def test_a_kernel_that_is_stopped_raises():
    with (
        ptxsim.triton.active() as runs,
        pytest.raises(KernelError, match=r"kernels\.py:\d+:\d+: error\[PTX201\].* x_ptr"),
    ):
        add(torch.rand(10), torch.rand(10), torch.rand(10), 512)
    assert runs[0].has_errors


def test_other_devices_and_targets_are_refused():
    with ptxsim.triton.active(), pytest.raises(PtxError, match="x_ptr is a tensor of meta"):
        add(torch.empty(10, device="meta"), torch.rand(10), torch.rand(10))
    with pytest.raises(PtxError, match="sm_91"), ptxsim.triton.active("sm_91"):
        pass


def test_exec_runs_a_program_as_it_is(tmp_path):
    (tmp_path / "sound.py").write_text(SCRIPT.replace("SIZE", "300"))
    (tmp_path / "broken.py").write_text(SCRIPT.replace("SIZE", "200"))
    done = execute(tmp_path, "sound.py")
    assert (done.returncode, done.stdout) == (0, "right\n")
    assert "add_kernel: 1 launch" in done.stderr and "1 launch, no findings" in done.stderr
    done = execute(tmp_path, "broken.py")
    assert done.returncode == 1 and "error[PTX201] out-of-bounds" in done.stderr
    assert "add_kernel: 1 launch, out-of-bounds 1" in done.stderr
    trace = done.stderr[done.stderr.index("Traceback") :].splitlines()
    frames = [line for line in trace if line.startswith("  File ")]
    assert frames and all("broken.py" in line for line in frames)
    assert trace[len(trace) - 3].startswith("ptxsim.KernelError: ")


def execute(folder, name):
    command = [sys.executable, "-m", "ptxsim", "exec", str(folder / name)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_sample_is_right():
    done = subprocess.run(
        [sys.executable, "-m", "ptxsim", "exec", str(SAMPLES / "triton_add.py")], capture_output=True, text=True
    )
    assert done.returncode == 0 and "1 launch, no findings" in done.stderr


def test_the_interpreter_says_nothing_of_what_exec_stops_at():
    sample = str(SAMPLES / "broken" / "softmax_without_mask.py")
    plain = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, sample, "cpu"], capture_output=True, text=True, env=plain)
    assert done.returncode == 0 and "largest difference: 0.05" in done.stdout
    done = subprocess.run([sys.executable, "-m", "ptxsim", "exec", sample], capture_output=True, text=True)
    assert done.returncode == 1 and "right after the end of x_ptr" in done.stderr


CUDA = """
import copy, sys
assert "torch" not in sys.modules
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(8, device="cuda")
assert x.is_cuda and x.cuda() is x and x.to(torch.device("cuda:0")).is_cuda and torch.cuda.is_available()
assert x.device == torch.device("cuda", 0) and x.get_device() == 0 and not x.is_cpu
assert torch.zeros_like(x, device=x.device).to(x.device).device.type == "cuda" and torch.empty(2, device="meta").is_meta
assert copy.deepcopy(torch.nn.Linear(2, 2).to("cuda")).weight.device == x.device
with torch.autocast("cuda", dtype=torch.bfloat16):
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    assert torch.is_autocast_enabled() and torch.get_autocast_gpu_dtype() == torch.get_autocast_dtype("cuda") == torch.bfloat16
assert not torch.is_autocast_enabled("cuda")
with torch.cuda.amp.autocast():
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float16
with torch.device("cuda"):
    assert checkpoint(torch.sin, torch.rand(3, requires_grad=True), use_reentrant=False).requires_grad
assert torch.cuda.get_device_capability() == (8, 0) and torch.cuda.get_device_properties("cuda").multi_processor_count == 108
assert torch.rand(2, generator=torch.Generator(device="cuda").manual_seed(1)).shape == (2,)
assert torch.cuda.get_device_name() == "ptxsim sm_80" and torch.empty(3, pin_memory=True).pin_memory().numel() == 3
a, w = torch.ones(4096, 2, device="cuda").half(), torch.ones(2, device="cuda").half().requires_grad_()
torch.nn.functional.layer_norm(a + torch.arange(2), (2,), w, None).sum().backward()
getattr(torch, "cpu").set_stream(torch.cuda.Stream())
assert torch.ones(2, device=0).is_cuda and torch.ones(2).to(0).is_cuda and torch.device(0) == x.device
assert torch.nn.Linear(2, 2).to(0).weight.is_cuda and torch.Generator(0) and torch.Generator(device=0)
assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "cuda"
torch.set_default_device("cuda")
assert torch.ones(2).is_cuda
torch.set_default_device(None)
torch.manual_seed(5)
generator = torch.cuda.default_generators[0]
assert generator.get_state().view(torch.int64).tolist() == [5, 0] and torch.cuda.initial_seed() == 5
generator.set_state(torch.tensor([2, 8]).view(torch.uint8))
assert (generator.initial_seed(), generator.get_offset()) == (2, 8)
torch.cuda.manual_seed(7)
drawn = torch.rand(2, device="cuda")
torch.cuda.manual_seed(7)
assert (torch.rand(2, device="cuda") == drawn).all()
generator.set_offset(8)
with torch.random.fork_rng(devices=[0]):
    torch.cuda.manual_seed_all(9)
    assert (generator.initial_seed(), generator.get_offset()) == (9, 0)
assert (generator.initial_seed(), generator.get_offset()) == (7, 8)
state = torch.cuda.get_rng_state_all()
drawn = torch.rand(2, device="cuda")
torch.cuda.set_rng_state_all(state)
assert (torch.rand(2, device="cuda") == drawn).all()
torch.cuda.synchronize()
stream = torch.cuda.Stream(priority=-1)
assert stream.query() and stream.device == x.device and stream == torch.cuda.current_stream() and stream.priority == -1
stream.record_event().synchronize()
stream.record_event(torch.cuda.Event())
x.record_stream(stream)
assert not torch.cuda.is_current_stream_capturing() and torch.version.cuda and x.type("torch.cuda.HalfTensor").dtype == torch.float16
assert x.type(dtype="torch.cuda.HalfTensor").dtype == x.type(torch.cuda.HalfTensor).dtype == x.type(dtype=torch.float16).dtype == torch.float16
assert torch.cuda.Stream(0, -1).priority == -1 and torch.cuda.ExternalStream(1234).cuda_stream == 1234
torch.cuda.cudart().cudaProfilerStart()
for context in (torch.cuda.device(x.device), torch.cuda.stream(stream)):
    for _ in range(2):
        with context:
            pass
assert torch.cuda.device("cuda:0").idx == 0 and isinstance(torch.cuda.device(0), torch.cuda.device)
assert torch.compile(lambda given: given + 1)(torch.ones(2, device="cuda")).tolist() == [2, 2]
both = torch.library.Library("both", "DEF")
both.define("ours(Tensor x) -> Tensor")
both.impl("ours", lambda given: given + 2, "CUDA")
both.impl("ours", lambda given: given + 3, "CPU")
both.impl(torch.ops.both.ours.default, lambda given: given + 3, "CPU")
assert torch.ops.both.ours(torch.ones(2, device="cuda")).tolist() == [3, 3]
with torch.library._scoped_library("both", "FRAGMENT") as gone:
    gone.define("late(Tensor x) -> Tensor")
    gone.impl("late", lambda given: given + 2, "CUDA")
both.define("late(Tensor x) -> Tensor")
both.impl("late", lambda given: given + 3, "CPU")
assert torch.ops.both.late(torch.ones(2, device="cuda")).tolist() == [4, 4]
@torch.library.custom_op("both::grown", mutates_args=(), device_types="cuda")
def grown(given: torch.Tensor) -> torch.Tensor:
    return given + 4
assert grown(torch.ones(2, device="cuda")).tolist() == [5, 5]
with torch.cuda.stream(torch.cuda.Stream()):
    print(x.numel(), __name__, sys.argv[1:])
"""


def test_a_failed_assertion_has_cudas_words_which_programs_look_for():
    with ptxsim.triton.active(), pytest.raises(RuntimeError, match=r"device-side assert triggered: .*not positive"):
        asserting_kernel[(1,)](torch.zeros(1))


def test_cuda_is_the_cpu(tmp_path):
    (tmp_path / "says_cuda.py").write_text(CUDA)
    command = [sys.executable, "-m", "ptxsim", "exec", "--target", "sm_80", str(tmp_path / "says_cuda.py"), "-x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "8 __main__ ['-x']\n"), done.stderr
    done = subprocess.run([*command[:4], "--no-cuda-is-cpu", *command[4:]], capture_output=True, text=True)
    assert done.returncode == 1


def test_tritons_cublas_is_torchs_product():
    from triton._C.libtriton import nvidia

    before = nvidia.cublas.CublasLt
    a, b, c = torch.randn(8, 16).half(), torch.randn(4, 16).half(), torch.empty(8, 4).half()
    with ptxsim.triton.active():
        nvidia.cublas.CublasLt(torch.empty(4)).matmul(a, b, c)
    assert nvidia.cublas.CublasLt is before
    torch.testing.assert_close(c, (a.float() @ b.float().T).half())

"""What programs ask torch.cuda of memory, streams and profilers. A program for `ptxsim exec`."""

import io
import warnings

import torch
from torch.cuda import memory_stats, nvtx
from torch.cuda.memory import mem_get_info
from torch.cuda.nvtx import range as marked
from torch.profiler import ProfilerActivity, profile

warnings.simplefilter("ignore")

before = torch.cuda.memory_allocated()
x = torch.ones(1 << 20, device="cuda")
assert torch.cuda.memory_allocated() == before + (4 << 20) == torch.cuda.max_memory_allocated()
free, total = torch.cuda.mem_get_info()
assert (free, total) == mem_get_info() == torch.cuda.cudart().cudaMemGetInfo(0) and total - free == before + (4 << 20)
view = x[5:]
assert torch.cuda.memory_reserved() == torch.cuda.memory_allocated() == before + (4 << 20)
del x, view
assert torch.cuda.memory_allocated() == before and torch.cuda.max_memory_allocated() == before + (4 << 20)
assert memory_stats()["allocated_bytes.all.peak"] == before + (4 << 20)
torch.cuda.reset_peak_memory_stats()
assert torch.cuda.max_memory_allocated() == before == torch.accelerator.max_memory_allocated()
assert "Allocated memory" in torch.cuda.memory_summary() and torch.cuda.memory_snapshot() == []
with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
    x = torch.ones(4, device="cuda")

stream, start, end = (
    torch.Stream(device="cuda"),
    torch.Event("cuda", enable_timing=True),
    torch.cuda.Event(enable_timing=True),
)
with stream:
    start.record(stream)
stream.record_event(end)
stream.wait_event(start)
assert start.elapsed_time(end) == 0 and isinstance(end, torch.cuda.Event) and isinstance(end, torch.Event)
assert isinstance(torch.cuda.current_stream(), torch.Stream) and stream.__cuda_stream__() == (0, 0)

nvtx.range_push("a")
nvtx.range_pop()
nvtx.range_end(nvtx.range_start("b"))
with marked("c"), nvtx.range("d {}", 1), torch.cuda.profiler.profile(), torch.autograd.profiler.emit_nvtx():
    nvtx.mark("e")
torch.cuda.check_error(torch.cuda.cudart().cudaHostRegister(0, 0, 0))
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
    x * 2
assert "aten::mul" in found.key_averages().table()

file = io.BytesIO()
torch.save(x, file)
for place in ("cuda", "cuda:0", torch.device("cuda")):
    file.seek(0)
    assert torch.load(file, map_location=place).is_cuda
assert (
    isinstance(x, torch.cuda.FloatTensor)
    and torch.cuda.LongTensor([1]).is_cuda
    and x.type() == "torch.cuda.FloatTensor"
)
print("right")

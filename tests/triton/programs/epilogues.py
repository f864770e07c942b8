"""Products on tensor memory whose sums are read by each shape of load and written in each way, and their tile moved through tensor memory."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_mma,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from tests.triton.programs.blackwell import numbers

store_tile = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global  # until Triton 3.8
KINDS = {torch.float16: gl.float16, torch.bfloat16: gl.bfloat16, torch.float32: gl.float32}


@gluon.jit
def epilogue_kernel(
    a_ptr, b_ptr, c_ptr, out_map, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, SHAPE: gl.constexpr, BACK: gl.constexpr,
    HALVES: gl.constexpr, BY_COPY: gl.constexpr, OUT: gl.constexpr,
):  # fmt: skip
    """C = A @ B. The sums are read in SHAPE; if BACK is a shape, they go to tensor memory by it once more, as halves if HALVES, before they
    are read as SHAPE."""
    warps: gl.constexpr = gl.num_warps()
    operand: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [warps, 1], [1, 0])
    rows, inner = gl.arange(0, M, gl.SliceLayout(1, operand)), gl.arange(0, K, gl.SliceLayout(0, operand))
    down, columns = gl.arange(0, K, gl.SliceLayout(1, operand)), gl.arange(0, N, gl.SliceLayout(0, operand))
    tile_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([M, K], gl.float16)
    tile_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([K, N], gl.float16)
    a = gl.allocate_shared_memory(gl.float16, [M, K], tile_a, gl.load(a_ptr + rows[:, None] * K + inner[None, :]))
    b = gl.allocate_shared_memory(gl.float16, [K, N], tile_b, gl.load(b_ptr + down[:, None] * N + columns[None, :]))
    sums = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    fence_async_shared()
    tcgen05_mma(a, b, sums, use_acc=False, mbarriers=[done])
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    if BACK == "":
        layout: gl.constexpr = sums.get_reg_layout(instr_variant=SHAPE)
        found = sums.load(layout)
    else:
        kind: gl.constexpr = gl.float16 if HALVES else gl.float32
        again = allocate_tensor_memory(kind, [M, N], TensorMemoryLayout([M, N], col_stride=2 if HALVES else 1))
        to: gl.constexpr = again.get_reg_layout(instr_variant=BACK)
        again.store(gl.convert_layout(sums.load(), to).to(kind))
        layout: gl.constexpr = again.get_reg_layout(instr_variant=SHAPE)
        found = again.load(layout).to(gl.float32)
    if BY_COPY:
        tile = gl.allocate_shared_memory(OUT, [M, N], out_map.layout, found.to(OUT))
        fence_async_shared()
        store_tile(out_map, [0, 0], tile)
        tma.store_wait(pendings=0)
    else:
        row, column = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
        gl.store(c_ptr + row[:, None] * N + column[None, :], found.to(OUT))


def epilogue(m, n, shape, kind=torch.float32, by_copy=False, back="", halves=False, warps=4, k=32):
    """Exact, or an assertion; what was compiled."""
    a, b, out = numbers(m, k), numbers(k, n), torch.zeros(m, n, dtype=kind)
    layout = gl.NVMMASharedLayout.get_default_for([m, n], KINDS[kind])
    compiled = epilogue_kernel[(1,)](
        a.half(), b.half(), out, TensorDescriptor.from_tensor(out, [m, n], layout), M=m, N=n, K=k, SHAPE=shape, BACK=back,
        HALVES=halves, BY_COPY=by_copy, OUT=KINDS[kind], num_warps=warps,
    )  # fmt: skip
    assert (out == (a @ b).to(kind)).all()
    return compiled

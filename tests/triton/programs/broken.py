"""Triton and Gluon kernels with a bug each, at the line that says so; `PROGRAMS` gives the name of what is found there."""

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma_wait
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma as warpgroup_mma_
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

copy_async = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
load_tile = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
store_tile = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global


@triton.jit
def no_mask_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)  # bug
    tl.store(out_ptr + at, x, mask=at < n)


def load_without_mask():
    x = torch.rand(1000)
    no_mask_kernel[(2,)](x, torch.empty(1000), 1000, BLOCK=512)


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, stride, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + r * stride + c, mask=(r < rows) & (c < columns))
    tl.store(out_ptr + c * stride + r, x, mask=(r < rows) & (c < columns))  # bug


def stride_of_the_other_matrix():
    x = torch.rand(20, 60)
    transpose_kernel[(1,)](x, torch.empty(60, 20), 20, 60, x.stride(0), M=32, N=64)


@triton.jit
def sum_kernel(x_ptr, sum_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x_ptr + at), axis=0)
    tl.store(sum_ptr, tl.load(sum_ptr) + total)  # bug


def sum_without_atomics():
    x, out = torch.rand(1024), torch.zeros(1)
    sum_kernel[(4,)](x, out, BLOCK=256)


@triton.jit
def reverse_kernel(x_ptr, scratch_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + at, tl.load(x_ptr + at) * 2)
    y = tl.load(scratch_ptr + BLOCK - 1 - at)  # bug
    tl.store(out_ptr + at, y)


def no_barrier_between_store_and_load():
    x = torch.rand(256)
    reverse_kernel[(1,)](x, torch.empty(256), torch.empty(256), BLOCK=256)


@triton.jit
def flag_kernel(data_ptr, flag_ptr, out_ptr):
    if tl.program_id(0) == 0:
        tl.store(data_ptr, 42)  # bug
        tl.atomic_xchg(flag_ptr, 1, sem="relaxed")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="relaxed") == 0:
            pass
        tl.store(out_ptr, tl.load(data_ptr))


def relaxed_flag():
    data, flag, out = (torch.zeros(1, dtype=torch.int32) for _ in range(3))
    flag_kernel[(2,)](data, flag, out, num_warps=1)


@triton.jit
def waiting_kernel(flag_ptr, out_ptr):
    while tl.atomic_add(flag_ptr, 0) == 0:  # bug
        pass
    tl.store(out_ptr, 1)


def flag_that_nobody_sets():
    waiting_kernel[(1,)](torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), num_warps=1)


@triton.jit
def locked_kernel(x_ptr, sums_ptr, lock_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sums_ptr + at, tl.load(sums_ptr + at) + x)  # bug
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="relaxed")


def lock_let_go_without_release():
    x, sums, lock = torch.rand(1024), torch.zeros(256), torch.zeros(1, dtype=torch.int32)
    locked_kernel[(4,)](x, sums, lock, BLOCK=256)


@gluon.jit
def product_kernel(a_desc, b_desc, c_desc, PHASE: gl.constexpr, BYTES: gl.constexpr):
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    mbarrier.expect(bar, BYTES)
    load_tile(a_desc, [0, 0], bar, a)
    load_tile(b_desc, [0, 0], bar, b)
    if PHASE is not None:
        mbarrier.wait(bar, PHASE)  # bytes
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    sums = gl.zeros([64, 64], gl.float32, layout)
    sums = warpgroup_mma_(a, b, sums, is_async=True)  # wait
    sums = warpgroup_mma_wait(num_outstanding=0, deps=[sums])
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c.store(sums.to(gl.float16))
    fence_async_shared()
    store_tile(c_desc, [0, 0], c)
    tma.store_wait(pendings=0)


def product(phase=0, bytes=2 * 64 * 64 * 2):
    a, b, c = torch.randn(64, 64).half(), torch.randn(64, 64).half(), torch.zeros(64, 64).half()
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    maps = [TensorDescriptor.from_tensor(x, [64, 64], layout) for x in (a, b, c)]
    product_kernel[(1,)](*maps, phase, bytes, num_warps=4)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=4e-2, rtol=1e-2)


def no_wait_for_the_tiles():
    product(phase=None)


def too_many_bytes_expected():
    product(bytes=3 * 64 * 64 * 2)


def wait_for_the_wrong_phase():
    product(phase=1)


@gluon.jit
def staged_kernel(x_ptr, out_ptr, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    reverse: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK], shared)
    copy_async(tile, x_ptr + gl.arange(0, BLOCK, layout))
    async_copy.commit_group()
    y = tile.load(reverse)  # bug
    async_copy.wait_group(0)
    gl.store(out_ptr + gl.arange(0, BLOCK, reverse), y)


def no_wait_for_cp_async():
    staged_kernel[(1,)](torch.rand(512), torch.empty(512), 512, num_warps=4)


@triton.jit
def producing_kernel(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(x_ptr + at, at)


@triton.jit
def consuming_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)  # bug
    tl.extra.cuda.gdc_wait()
    tl.store(out_ptr + at, x)


def begun_before_the_kernel_before_is_over():
    x, out = torch.zeros(256, dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
    producing_kernel[(1,)](x, BLOCK=256, launch_pdl=True)
    consuming_kernel[(1,)](x, out, BLOCK=256, launch_pdl=True)


PROGRAMS = {
    load_without_mask: ("out-of-bounds", "bug"),
    stride_of_the_other_matrix: ("out-of-bounds", "bug"),
    sum_without_atomics: ("race-global", "bug"),
    no_barrier_between_store_and_load: ("race-global", "bug"),
    relaxed_flag: ("race-global", "bug"),
    flag_that_nobody_sets: ("deadlock", "bug"),
    lock_let_go_without_release: ("race-global", "bug"),
    no_wait_for_the_tiles: ("missing-wait", "wait"),
    too_many_bytes_expected: ("deadlock", "bytes"),
    wait_for_the_wrong_phase: ("missing-wait", "wait"),
    no_wait_for_cp_async: ("cp-async-not-waited", "bug"),
    begun_before_the_kernel_before_is_over: ("missing-grid-wait", "bug"),
}

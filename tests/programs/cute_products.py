"""A * B by TMA and products on tensor memory in CuTe DSL, of small distinct integers: M of 64 and 128, several types. For `ptxsim exec`."""

import cutlass
import ml_dtypes
import numpy as np
from cuda.bindings import driver
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.cute.runtime import make_ptr
from cutlass.utils import blackwell_helpers

TYPES = {
    "f16": (cutlass.Float16, np.float16),
    "bf16": (cutlass.BFloat16, ml_dtypes.bfloat16),
    "tf32": (cutlass.TFloat32, np.float32),
    "e4m3": (cutlass.Float8E4M3FN, ml_dtypes.float8_e4m3fn),
}
THREADS = 128


@cute.kernel
def product(
    mma: cute.TiledMma,
    load_a: cute.CopyAtom,
    a: cute.Tensor,
    load_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    shape: cutlass.Constexpr,
    type: cutlass.Constexpr,
):
    t, _, _ = cute.arch.thread_idx()
    i, j, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    storage = cutlass.utils.SmemAllocator()
    tile_a = storage.allocate_tensor(type, layout_a.outer, 1024, swizzle=layout_a.inner)
    tile_b = storage.allocate_tensor(type, layout_b.outer, 1024, swizzle=layout_b.inner)
    full, done = storage.allocate_array(cutlass.Int64, 1), storage.allocate_array(cutlass.Int64, 1)
    place = storage.allocate_array(cutlass.Int32, 1)
    if t == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init(done, 1)
    cute.arch.mbarrier_init_fence()
    if warp == 0:
        cute.arch.alloc_tmem(256, place)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    thread = mma.get_slice(0)
    own_a = thread.partition_A(cute.local_tile(a, shape, (i, j, None), proj=(1, None, 1)))
    own_b = thread.partition_B(cute.local_tile(b, shape, (i, j, None), proj=(None, 1, 1)))
    own_c = thread.partition_C(cute.local_tile(c, shape, (i, j, None), proj=(1, 1, None)))
    to_a, of_a = cpasync.tma_partition(
        load_a, 0, cute.make_layout(1), cute.group_modes(tile_a, 0, 3), cute.group_modes(own_a, 0, 3)
    )
    to_b, of_b = cpasync.tma_partition(
        load_b, 0, cute.make_layout(1), cute.group_modes(tile_b, 0, 3), cute.group_modes(own_b, 0, 3)
    )
    factor_a, factor_b = mma.make_fragment_A(tile_a), mma.make_fragment_B(tile_b)
    address = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, place)
    result = cute.make_tensor(address, mma.make_fragment_C(mma.partition_shape_C(shape[:2])).layout)
    if warp == 0:
        for k in range(cute.size(of_a, mode=[1])):
            with cute.arch.elect_one():
                bytes = cute.size_in_bytes(type, cute.select(layout_a, mode=[0, 1, 2])) + cute.size_in_bytes(
                    type, cute.select(layout_b, mode=[0, 1, 2])
                )
                cute.arch.mbarrier_arrive_and_expect_tx(full, bytes)
            cute.copy(load_a, of_a[(None, k)], to_a[(None, 0)], tma_bar_ptr=full)
            cute.copy(load_b, of_b[(None, k)], to_b[(None, 0)], tma_bar_ptr=full)
            cute.arch.mbarrier_wait(full, k % 2)
            for step in cutlass.range_constexpr(cute.size(factor_a, mode=[2])):
                cute.gemm(mma, result, factor_a[(None, None, step, 0)], factor_b[(None, None, step, 0)], result)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            with cute.arch.elect_one():
                tcgen05.commit(done)
            cute.arch.mbarrier_wait(done, k % 2)
    cute.arch.sync_threads()
    move = tcgen05.Ld32x32bOp if cutlass.const_expr(shape[0] == 128) else tcgen05.Ld16x256bOp
    number = tcgen05.Repetition.x16 if cutlass.const_expr(shape[0] == 128) else tcgen05.Repetition.x2
    copy = tcgen05.make_tmem_copy(cute.make_copy_atom(move(number), cutlass.Float32), result)
    part = copy.get_slice(t)
    of, to = part.partition_S(result), part.partition_D(own_c)
    registers = cute.make_rmem_tensor(to.shape, cutlass.Float32)
    cute.copy(copy, of, registers)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(registers, to)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(address, 256)


@cute.jit
def host(
    pa: cute.Pointer,
    pb: cute.Pointer,
    pc: cute.Pointer,
    m: cutlass.Constexpr,
    n: cutlass.Constexpr,
    k: cutlass.Constexpr,
    rows: cutlass.Constexpr,
    columns: cutlass.Constexpr,
    type: cutlass.Constexpr,
):
    a = cute.make_tensor(pa, cute.make_layout((m, k), stride=(k, 1)))
    b = cute.make_tensor(pb, cute.make_layout((n, k), stride=(k, 1)))
    c = cute.make_tensor(pc, cute.make_layout((m, n), stride=(n, 1)))
    mma = blackwell_helpers.make_trivial_tiled_mma(
        type, OperandMajorMode.K, OperandMajorMode.K, cutlass.Float32, tcgen05.CtaGroup.ONE, (rows, columns)
    )
    shape = (rows, columns, 128 * 8 // type.width)
    layout_a, layout_b = (
        blackwell_helpers.make_smem_layout_a(mma, shape, type, 1),
        blackwell_helpers.make_smem_layout_b(mma, shape, type, 1),
    )
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    load_a, a = cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.select(layout_a, mode=[0, 1, 2]), shape, mma)
    load_b, b = cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.select(layout_b, mode=[0, 1, 2]), shape, mma)
    product(mma, load_a, a, load_b, b, c, layout_a, layout_b, shape, type).launch(
        grid=(m // rows, n // columns, 1), block=(THREADS, 1, 1)
    )


def memory(array, type):
    _, place = driver.cuMemAlloc(array.nbytes)
    driver.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes)
    return place, make_ptr(type, int(place), cute.AddressSpace.gmem, assumed_align=16)


driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
random = np.random.default_rng(0)
for name, m, n, k, rows, columns in (
    ("f16", 256, 128, 192, 128, 64),
    ("bf16", 64, 64, 128, 64, 64),
    ("tf32", 128, 64, 64, 64, 64),
    ("e4m3", 128, 128, 256, 128, 128),
):
    type, dtype = TYPES[name]
    a, b, c = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (n, k)), np.zeros((m, n), np.float32)
    (_, pa), (_, pb), (place, pc) = (
        memory(a.astype(dtype), type),
        memory(b.astype(dtype), type),
        memory(c, cutlass.Float32),
    )
    host(pa, pb, pc, m, n, k, rows, columns, type)
    driver.cuMemcpyDtoH(c.ctypes.data, place, c.nbytes)
    assert (c == a @ b.T).all(), name
    print("right", name)

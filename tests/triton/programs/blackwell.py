"""Products on tensor memory, as Triton's compiler makes them for sm_100: small whole numbers, whose sums are exact."""

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_mma,
)


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, k, am, ak, bk, bn, cm, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, EPILOGUE: tl.constexpr
):  # fmt: skip
    rows, columns, inner = (
        tl.program_id(0) * M + tl.arange(0, M),
        tl.program_id(1) * N + tl.arange(0, N),
        tl.arange(0, K),
    )
    sums = tl.zeros((M, N), tl.float32)
    for step in range(0, k, K):
        a = tl.load(a_ptr + rows[:, None] * am + (step + inner)[None, :] * ak)
        b = tl.load(b_ptr + (step + inner)[:, None] * bk + columns[None, :] * bn)
        sums = tl.dot(a, b, sums)
    if EPILOGUE == "relu":
        sums = tl.maximum(sums, 0.0)
    if EPILOGUE == "sums":
        tl.store(c_ptr + rows * cm + tl.program_id(1), tl.sum(sums, axis=1))
    elif EPILOGUE == "halves":
        left, right = tl.split(tl.permute(tl.reshape(sums, (M, 2, N // 2)), (0, 2, 1)))
        half = tl.program_id(1) * N + tl.arange(0, N // 2)
        tl.store(c_ptr + rows[:, None] * cm + half[None, :], left.to(c_ptr.dtype.element_ty))
        tl.store(c_ptr + rows[:, None] * cm + (half + N // 2)[None, :], right.to(c_ptr.dtype.element_ty))
    elif EPILOGUE == "transposed":
        tl.store(c_ptr + columns[:, None] * cm + rows[None, :], tl.trans(sums).to(c_ptr.dtype.element_ty))
    else:
        tl.store(c_ptr + rows[:, None] * cm + columns[None, :], sums.to(c_ptr.dtype.element_ty))


def numbers(rows, columns, limit=4):
    """Whole numbers within a limit, no two rows and no two columns the same."""
    return torch.randint(-limit, limit + 1, (rows, columns)).float()


def product(kind, m=128, n=128, k=64, warps=4, epilogue="", result=torch.float32, order="nn", ctas=1):
    """The product of two matrices of a kind of numbers, by tiles of m times n."""
    a, b = numbers(m, 2 * k), numbers(2 * k, 2 * n)
    first, second = a.to(kind), b.to(kind)
    if order[0] == "t":
        first = first.T.contiguous().T
    if order[1] == "t":
        second = second.T.contiguous().T
    shape = {"sums": (m, 2), "transposed": (2 * n, m)}.get(epilogue, (m, 2 * n))
    out = torch.zeros(shape, dtype=result)
    compiled = product_kernel[(1, 2)](
        first, second, out, 2 * k, *first.stride(), *second.stride(), out.stride(0), M=m, N=n, K=k, EPILOGUE=epilogue,
        num_warps=warps, num_ctas=ctas,
    )  # fmt: skip
    whole = a @ b
    wanted = {
        "relu": whole.relu(), "sums": whole.reshape(m, 2, n).sum(2), "transposed": whole.T,
    }.get(epilogue, whole)  # fmt: skip
    assert (out == wanted.to(result)).all()
    return compiled


@triton.jit
def scaled_kernel(
    a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr,
    PACKED: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    rows, columns, inner, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // PACKED), tl.arange(0, K // GROUP)
    a = tl.load(a_ptr + rows[:, None] * (K // PACKED) + inner[None, :])
    b = tl.load(b_ptr + columns[None, :] * (K // PACKED) + inner[:, None])
    sa = tl.load(sa_ptr + rows[:, None] * (K // GROUP) + groups[None, :])
    sb = tl.load(sb_ptr + columns[:, None] * (K // GROUP) + groups[None, :])
    sums = tl.dot_scaled(a, sa, KIND, b, sb, KIND)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums)


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def scaled(kind, group, m=128, n=128, k=256, warps=4):
    """The same of numbers with a scale for each group along k: mxfp8, mxfp4 (32 and powers of two), nvfp4 (16, and e4m3)."""
    packed = 2 if kind == "e2m1" else 1

    def matrix(rows):
        if kind == "e2m1":
            codes = torch.randint(0, 16, (rows, k))
            values = FP4[codes & 7] * torch.where(codes > 7, -1.0, 1.0)
            return values, (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
        values = numbers(rows, k)
        return values, values.to(torch.float8_e4m3fn if kind == "e4m3" else torch.float8_e5m2)

    def scales(rows):
        if group == 16:
            values = torch.randint(1, 4, (rows, k // group)).float() / 2
            return values, values.to(torch.float8_e4m3fn)
        powers = torch.randint(-2, 3, (rows, k // group))
        return 2.0**powers, (powers + 127).to(torch.uint8)

    (a, first), (b, second), (sa, one), (sb, other) = matrix(m), matrix(n), scales(m), scales(n)
    out = torch.zeros(m, n)
    compiled = scaled_kernel[(1,)](
        first, one, second, other, out, M=m, N=n, K=k, KIND=kind, PACKED=packed, GROUP=group, num_warps=warps
    )  # fmt: skip
    wide = (a * sa.repeat_interleave(group, 1)).double() @ (b * sb.repeat_interleave(group, 1)).double().T
    assert (out == wide.float()).all()
    return compiled


@gluon.jit
def pair_kernel(a_ptr, b_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    rows_apart: gl.constexpr = [[1, 0]]
    columns_apart: gl.constexpr = [[0, 1]]
    of_a: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0], cga_layout=rows_apart)
    of_b: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0], cga_layout=columns_apart)
    rows, inner = gl.arange(0, M, gl.SliceLayout(1, of_a)), gl.arange(0, K, gl.SliceLayout(0, of_a))
    a = gl.load(a_ptr + rows[:, None] * K + inner[None, :])
    down, columns = gl.arange(0, K, gl.SliceLayout(1, of_b)), gl.arange(0, N, gl.SliceLayout(0, of_b))
    b = gl.load(b_ptr + down[:, None] * N + columns[None, :])
    tile_of_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([M, K], gl.float16, cga_layout=rows_apart)
    tile_of_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([K, N], gl.float16, cga_layout=columns_apart)
    shared_a = gl.allocate_shared_memory(gl.float16, [M, K], tile_of_a, a)
    shared_b = gl.allocate_shared_memory(gl.float16, [K, N], tile_of_b, b)
    of_sums: gl.constexpr = TensorMemoryLayout([M // 2, N], col_stride=1, cga_layout=rows_apart, two_ctas=True)
    sums = allocate_tensor_memory(gl.float32, [M, N], of_sums)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    fence_async_shared(cluster=True)
    gl.barrier(cluster=True)
    tcgen05_mma(shared_a, shared_b, sums, use_acc=False, multicast=True, mbarriers=[done])
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    layout: gl.constexpr = sums.get_reg_layout()
    row, column = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    gl.store(c_ptr + row[:, None] * N + column[None, :], sums.load(layout))


def pair(m, n=128, k=64):
    """A product of two CTAs: each has half of the rows of A and of the sums, and half of the columns of B."""
    a, b, out = numbers(m, k), numbers(k, n), torch.zeros(m, n)
    compiled = pair_kernel[(1,)](a.half(), b.half(), out, M=m, N=n, K=k, num_ctas=2, num_warps=4)
    assert (out == a @ b).all()
    return compiled

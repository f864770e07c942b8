"""Triton kernels of the kinds that the official tutorials teach, each written anew and with what it should give."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside), mask=inside)


def add():
    x, y = torch.rand(5003), torch.rand(5003)
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    assert (out == x + y).all()


@triton.jit
def softmax_kernel(out_ptr, x_ptr, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + at, e / tl.sum(e, axis=0), mask=at < columns)


def softmax():
    x = torch.randn(37, 781)
    out = torch.empty_like(x)
    softmax_kernel[(8,)](out, x, x.stride(0), out.stride(0), 37, 781, BLOCK=1024, STAGES=2, num_warps=8)
    torch.testing.assert_close(out, torch.softmax(x, 1))


@triton.autotune(
    [triton.Config({"M": 64, "N": 64, "K": 32, "GROUP": 4}, num_warps=4, num_stages=3),
     triton.Config({"M": 128, "N": 64, "K": 32, "GROUP": 4}, num_warps=4, num_stages=2)],
    key=["m", "n", "k"],
)  # fmt: skip
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, cm, cn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    pid, across = tl.program_id(0), tl.cdiv(n, N)
    group = pid // (GROUP * across)
    first = group * GROUP
    size = min(tl.cdiv(m, M) - first, GROUP)
    row, column = first + (pid % (GROUP * across)) % size, (pid % (GROUP * across)) // size
    rows, columns = (row * M + tl.arange(0, M)) % m, (column * N + tl.arange(0, N)) % n
    inner = tl.arange(0, K)
    a, b = a_ptr + rows[:, None] * am + inner[None, :] * ak, b_ptr + inner[:, None] * bk + columns[None, :] * bn
    sums = tl.zeros((M, N), tl.float32)
    for step in range(tl.cdiv(k, K)):
        sums = tl.dot(
            tl.load(a, mask=inner[None, :] < k - step * K, other=0.0),
            tl.load(b, mask=inner[:, None] < k - step * K, other=0.0), sums,
        )  # fmt: skip
        a += K * ak
        b += K * bk
    rows, columns = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * cm + columns[None, :] * cn, sums.to(c_ptr.dtype.element_ty), mask=inside)


def matmul(kind=torch.float16):
    m, n, k = 200, 136, 96
    a, b = torch.randn(m, k).to(kind), torch.randn(k, n).to(kind)
    c = torch.empty(m, n, dtype=torch.float16)
    matmul_kernel[lambda meta: (triton.cdiv(m, meta["M"]) * triton.cdiv(n, meta["N"]),)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride()
    )
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=2e-2, rtol=1e-2)


def matmul_fp8():
    matmul(torch.float8_e5m2)


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=at < n)


def dropout():
    x = torch.randn(3000)
    first, again, other = (torch.empty_like(x) for _ in range(3))
    for out, seed in ((first, 123), (again, 123), (other, 512)):
        dropout_kernel[(3,)](x, out, x.numel(), 0.5, seed, BLOCK=1024)
    assert (first == again).all() and (first != other).any()
    kept = first != 0
    assert (first[kept] == x[kept] / 0.5).all() and 0.4 < kept.float().mean() < 0.6


@triton.jit
def norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
        squares += tl.where(at < n, (x - mean) * (x - mean), 0.0)
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < n)
        w, b = tl.load(w_ptr + at, mask=at < n), tl.load(b_ptr + at, mask=at < n)
        tl.store(y_ptr + row * stride + at, (x - mean) * rstd * w + b, mask=at < n)


@triton.jit
def norm_backward_kernel(
    dy_ptr, dw_ptr, db_ptr, lock_ptr, x_ptr, mean_ptr, rstd_ptr, stride, n, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Sums over rows, which CTAs add up in GROUP buffers: a lock of each, and whether it has been written."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    slot = row % GROUP
    lock, count = lock_ptr + slot, lock_ptr + GROUP + slot
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    dy = tl.load(dy_ptr + row * stride + at, mask=at < n, other=0.0)
    dw, db = dy * (x - tl.load(mean_ptr + row)) * tl.load(rstd_ptr + row), dy
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    is_first = tl.load(count) == 0
    tl.debug_barrier()  # one thread sets what all have read
    if is_first:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(dw_ptr + slot * n + at, mask=at < n)
        db += tl.load(db_ptr + slot * n + at, mask=at < n)
    tl.store(dw_ptr + slot * n + at, dw, mask=at < n)
    tl.store(db_ptr + slot * n + at, db, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def layer_norm():
    rows, n = 24, 200
    x, w, b = torch.randn(rows, n), torch.rand(n), torch.rand(n)
    y, mean, rstd = torch.empty_like(x), torch.empty(rows), torch.empty(rows)
    norm_kernel[(rows,)](x, y, w, b, mean, rstd, n, n, 1e-5, BLOCK=128)
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (n,), w, b), atol=1e-5, rtol=1e-4)
    dy, locks = torch.randn(rows, n), torch.zeros(8, dtype=torch.int32)
    dw, db = torch.empty(4, n), torch.empty(4, n)
    norm_backward_kernel[(rows,)](dy, dw, db, locks, x, mean, rstd, n, n, GROUP=4, BLOCK=256)
    torch.testing.assert_close(db.sum(0), dy.sum(0), atol=1e-4, rtol=1e-4)
    hat = (x - x.mean(1, keepdim=True)) * rstd[:, None]
    torch.testing.assert_close(dw.sum(0), (dy * hat).sum(0), atol=1e-3, rtol=1e-3)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, length, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr
):
    start, head = tl.program_id(0) * M, tl.program_id(1) * length * D
    rows, inner = start + tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + head + rows[:, None] * D + inner[None, :])
    most, total = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32)
    sums = tl.zeros([M, D], tl.float32)
    for first in range(0, start + M if CAUSAL else length, N):
        columns = first + tl.arange(0, N)
        k = tl.load(k_ptr + head + columns[None, :] * D + inner[:, None])
        scores = tl.dot(q, k) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1.0e6)
        new = tl.maximum(most, tl.max(scores, 1))
        p, shrink = tl.math.exp2(scores - new[:, None]), tl.math.exp2(most - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + head + columns[:, None] * D + inner[None, :])
        sums = tl.dot(p.to(tl.float16), v, sums * shrink[:, None])
        most = new
    tl.store(out_ptr + head + rows[:, None] * D + inner[None, :], (sums / total[:, None]).to(tl.float16))


def attention():
    heads, length, d = 2, 128, 64
    q, k, v = (torch.randn(heads, length, d, dtype=torch.float16) for _ in range(3))
    for causal in (False, True):
        out = torch.empty_like(q)
        scale = d**-0.5 * 1.44269504
        attention_kernel[(length // 64, heads)](q, k, v, out, scale, length, D=d, M=64, N=32, CAUSAL=causal)
        right = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
        torch.testing.assert_close(out.float(), right, atol=1e-2, rtol=1e-2)


@triton.jit
def grouped_kernel(pointers_ptr, sizes_ptr, groups, K: tl.constexpr, T: tl.constexpr):
    """One launch, many products: tables in memory say where their matrices lie and how large they are."""
    tile, last = tl.program_id(0), 0
    for g in range(groups):
        m, n, k = tl.load(sizes_ptr + g * 3), tl.load(sizes_ptr + g * 3 + 1), tl.load(sizes_ptr + g * 3 + 2)
        across = tl.cdiv(n, T)
        tiles = tl.cdiv(m, T) * across
        while tile >= last and tile < last + tiles:
            a = tl.load(pointers_ptr + g * 3).to(tl.pointer_type(tl.float16))
            b = tl.load(pointers_ptr + g * 3 + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(pointers_ptr + g * 3 + 2).to(tl.pointer_type(tl.float16))
            rows, columns = (tile - last) // across * T + tl.arange(0, T), (tile - last) % across * T + tl.arange(0, T)
            sums = tl.zeros((T, T), tl.float32)
            for step in range(0, k, K):
                inner = step + tl.arange(0, K)
                sums = tl.dot(tl.load(a + rows[:, None] * k + inner[None, :]), tl.load(b + inner[:, None] * n + columns[None, :]), sums)  # fmt: skip
            tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16))
            tile += tl.num_programs(0)
        last += tiles


def grouped_gemm():
    shapes = [(64, 64, 32), (128, 64, 64), (64, 128, 32)]
    groups = [(torch.randn(m, k).half(), torch.randn(k, n).half(), torch.zeros(m, n).half()) for m, n, k in shapes]
    pointers = torch.tensor([x.data_ptr() for group in groups for x in group])
    sizes = torch.tensor(shapes, dtype=torch.int32)
    grouped_kernel[(4,)](pointers, sizes, len(shapes), K=32, T=64)
    for a, b, c in groups:
        torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=2e-2, rtol=1e-2)


@triton.jit
def persistent_kernel(a_desc, b_desc, c_desc, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    across = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * across, tl.num_programs(0), flatten=True):
        row, column = tile // across * M, tile % across * N
        sums = tl.zeros((M, N), tl.float32)
        for step in range(tl.cdiv(k, K)):
            sums = tl.dot(a_desc.load([row, step * K]), b_desc.load([column, step * K]).T, sums)
        c_desc.store([row, column], sums.to(tl.float16))


def persistent_host_descriptors():
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, k = 256, 128, 128
    a, b, c = torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n).half()
    blocks = ((a, [64, 64]), (b, [64, 64]), (c, [64, 64]))
    maps = [TensorDescriptor(x, x.shape, x.stride(), block) for x, block in blocks]
    persistent_kernel[(3,)](*maps, m, n, k, M=64, N=64, K=64, num_stages=3)
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=4e-2, rtol=1e-2)


@triton.jit
def specialised_kernel(a_desc, b_desc, c_desc, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    across = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * across, tl.num_programs(0), warp_specialize=True):
        row, column = tile // across * M, tile % across * N
        sums = tl.zeros((M, N), tl.float32)
        for step in range(tl.cdiv(k, K)):
            sums = tl.dot(a_desc.load([row, step * K]), b_desc.load([column, step * K]).T, sums)
        c_desc.store([row, column], sums.to(tl.float16))


def warps_that_take_parts():
    """Warps copy, multiply and store apart; warpgroups lend each other registers."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, k = 200, 136, 96
    a, b, c = torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n).half()
    blocks = ((a, [64, 32]), (b, [64, 32]), (c, [64, 64]))
    maps = [TensorDescriptor(x, x.shape, x.stride(), block) for x, block in blocks]
    specialised_kernel[(3,)](*maps, m, n, k, M=64, N=64, K=32, num_stages=3)
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=4e-2, rtol=1e-2)


@triton.jit
def device_descriptor_kernel(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    c = tl.make_tensor_descriptor(c_ptr, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    persistent_kernel(a, b, c, m, n, k, M, N, K)


def device_descriptors():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
    m, n, k = 192, 128, 96
    a, b, c = torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n).half()
    device_descriptor_kernel[(2,)](a, b, c, m, n, k, M=64, N=64, K=32)
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=4e-2, rtol=1e-2)


@triton.jit
def libdevice_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.extra.libdevice.asin(x), mask=at < n)


def libdevice():
    x = torch.rand(1000)
    y = torch.empty_like(x)
    libdevice_kernel[(1,)](x, y, 1000, BLOCK=1024)
    torch.testing.assert_close(y, torch.asin(x))


@triton.jit(debug=True)
def asserting_kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "not positive")


PROGRAMS = (
    add, softmax, matmul, matmul_fp8, dropout, layer_norm, attention, grouped_gemm, persistent_host_descriptors,
    device_descriptors, libdevice, warps_that_take_parts,
)  # fmt: skip


def add(x, y, out, n=None):
    return add_kernel[(1,)](x, y, out, x.numel() if n is None else n, BLOCK=512)

"""Attention of which every step is exact, so that nothing but the last rounding is left to compare: forward and backward.

Keys fall into classes; each class has a weight that is a power of two or zero, and a row's weights sum up to one. So exp2, sums and the quotient
are exact in any order, wherever a kernel begins a new block of keys.
"""

import numpy as np
import torch
import triton
import triton.language as tl

from tests.triton.programs.kernels import attention_kernel


def exponents(rng, counts, single, spread, never):
    """Whole numbers x of classes with `counts` keys, so that counts * 2**x sums up to one, or `never`; `single`: classes of one key or none yet."""
    have, others = np.flatnonzero(single & (counts > 0)), np.flatnonzero(~single & (counts > 0))
    while True:
        x = np.full(len(counts), never)
        if len(have) < single.sum():  # halves of halves
            parts = [0]
            while len(parts) < len(have):
                parts += [parts.pop(rng.integers(len(parts))) - 1] * 2
            x[have] = rng.permutation(parts)
        else:  # what the others leave is written in binary
            some = others[rng.random(len(others)) < rng.uniform(0.1, 0.9)]
            x[some] = rng.integers(-spread, -spread // 2, len(some))
            units = sum(int(counts[i]) << int(x[i] + spread) for i in some)
            rest = (1 << units.bit_length()) - units
            bits = [bit for bit in range(rest.bit_length()) if rest >> bit & 1]
            if len(bits) > len(have):
                continue
            x[rng.permutation(have)[: len(bits)]] = np.array(bits) - spread
            x[x != never] -= units.bit_length() - spread
        if x[x != never].min() >= -2 * spread:
            return x


def inputs(rng, length, d, causal, spread, never):
    """q, k and v of length x d; the exact weights; and of each row the logarithm of the sum of 2**(q @ k.T). 2**never is zero to the kernel."""
    classes, single = d // 2, np.arange(d // 2) < d // 4
    kind = np.concatenate([rng.permutation(d // 4), rng.integers(d // 4, classes, length - d // 4)])
    k = np.eye(classes)[kind].repeat(2, axis=1)  # each score is a sum of two
    q, weights = np.zeros((length, d)), np.zeros((length, length))
    shift = rng.integers(-3, 4, length)
    for row in range(length):
        seen = np.arange(length) <= row if causal else np.ones(length, bool)
        x = exponents(rng, np.bincount(kind[seen], minlength=classes), single, spread, never)
        weights[row] = np.where(x == never, 0, 2.0**x)[kind] * seen
        x += np.where(x == never, 0, shift[row])
        q[row, ::2], q[row, 1::2] = x // 2, x - x // 2
    assert (weights.sum(1) == 1).all()
    return q, k, rng.integers(-3, 4, (length, d)).astype(float), weights, shift


def forward(causal, rows=128, columns=64, length=256, d=64, warps=4):
    """The kernel of the other test of attention, without a tolerance."""
    q, k, v, weights, _ = inputs(np.random.default_rng(rows + columns + causal), length, d, causal, 8, never=-256)
    out = torch.empty(length, d, dtype=torch.float16)
    compiled = attention_kernel[(length // rows, 1)](
        *map(torch.HalfTensor, (q, k, v)), out, 1.0, length, D=d, M=rows, N=columns, CAUSAL=causal, num_warps=warps
    )
    assert (out.numpy() == (weights @ v).astype(np.float16)).all()
    return compiled


@triton.jit
def backward_kernel(
    q_ptr, k_ptr, v_ptr, gain_ptr, logs_ptr, given_ptr, dq_ptr, dk_ptr, dv_ptr, length, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """`gain`: gradients of the output; `logs`: logarithms of the sums of rows; `given`: sums of output times gradient."""
    start = tl.program_id(0) * N
    columns, inner = start + tl.arange(0, N), tl.arange(0, D)
    at = columns[:, None] * D + inner[None, :]
    k, v = tl.load(k_ptr + at), tl.load(v_ptr + at)
    dk, dv = tl.zeros([N, D], tl.float32), tl.zeros([N, D], tl.float32)
    for first in range(start // M * M if CAUSAL else 0, length, M):
        rows = first + tl.arange(0, M)
        here = rows[:, None] * D + inner[None, :]
        q, gain = tl.load(q_ptr + here), tl.load(gain_ptr + here)
        p = tl.math.exp2(tl.dot(q, k.T) - tl.load(logs_ptr + rows)[:, None])
        if CAUSAL:
            p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        ds = (p * (tl.dot(gain, v.T) - tl.load(given_ptr + rows)[:, None])).to(tl.float16)
        dv = tl.dot(p.to(tl.float16).T, gain, dv)
        dk = tl.dot(ds.T, q, dk)
        tl.atomic_add(dq_ptr + here, tl.dot(ds, k))
    tl.store(dk_ptr + at, dk)
    tl.store(dv_ptr + at, dv)


def backward(causal, rows=64, columns=128, length=256, d=64, warps=4):
    rng = np.random.default_rng(rows + causal)
    q, k, v, weights, logs = inputs(rng, length, d, causal, 3, never=-32)  # zero in halves
    gain = np.where(rng.random((length, d)) < 0.02, rng.integers(-1, 2, (length, d)), 0)
    given = (weights @ v * gain).sum(1)
    dq, dk, dv = (torch.zeros(length, d) for _ in range(3))
    compiled = backward_kernel[(length // columns,)](
        *map(torch.HalfTensor, (q, k, v, gain)), *map(torch.FloatTensor, (logs, given)), dq, dk, dv, length,
        D=d, M=rows, N=columns, CAUSAL=causal, num_warps=warps,
    )  # fmt: skip
    ds = (weights * (gain @ v.T - given[:, None])).astype(np.float16).astype(float)
    assert (
        np.log2((abs(ds.T) @ abs(q)).max() / abs(ds[ds != 0]).min()) < 24
    )  # the largest of the three in single precision
    for found, wanted in ((dv, weights.T @ gain), (dk, ds.T @ q), (dq, ds @ k)):
        assert (found.numpy() == wanted).all()
    return compiled

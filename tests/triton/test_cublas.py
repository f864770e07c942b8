"""The products of block-scaled numbers that Triton's library asks cuBLASLt for."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from ptxsim.triton.cublas import CublasLt  # noqa: E402

ROWS, COLUMNS, K = 160, 256, 192


def stored(scales):
    """Scales (rows, n) byte by byte where cuBLAS looks for them."""
    rows, columns = scales.shape
    across = -(-columns // 4)
    out = torch.zeros(-(-rows // 128) * across * 512, dtype=torch.uint8)
    for r in range(rows):
        for c in range(columns):
            out[(r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    return out


def test_e4m3_with_powers_of_two():
    a, b = (torch.randn(n, K).to(torch.float8_e4m3fn) for n in (ROWS, COLUMNS))
    scales = [torch.randint(120, 134, (n, K // 32), dtype=torch.uint8) for n in (ROWS, COLUMNS)]
    out = torch.empty(ROWS, COLUMNS, dtype=torch.float16)
    CublasLt().block_scaled_matmul_mxfp8(a, b, out, *map(stored, scales))
    wide = [x.float() * torch.exp2(s.float() - 127).repeat_interleave(32, 1) for x, s in zip((a, b), scales)]
    assert torch.equal(out, (wide[0] @ wide[1].T).half())


def test_e2m1_with_scales_of_e4m3():
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
    codes = [torch.randint(0, 16, (n, K), dtype=torch.uint8) for n in (ROWS, COLUMNS)]
    scales = [torch.rand(n, K // 16).to(torch.float8_e4m3fn) for n in (ROWS, COLUMNS)]
    out = torch.empty(ROWS, COLUMNS, dtype=torch.float16)
    packed = [code[:, ::2] | code[:, 1::2] << 4 for code in codes]
    CublasLt().block_scaled_matmul_nvfp4(*packed, out, *(stored(s.view(torch.uint8)) for s in scales))
    wide = [values[code.long()] * s.float().repeat_interleave(16, 1) for code, s in zip(codes, scales)]
    assert torch.equal(out, (wide[0] @ wide[1].T).half())


def test_a_scale_that_is_no_number_makes_none():
    a = torch.ones(128, 32).to(torch.float8_e4m3fn)
    scales = torch.full((128, 1), 127, dtype=torch.uint8)
    scales[3] = 255
    out = torch.empty(128, 128, dtype=torch.float16)
    CublasLt().block_scaled_matmul_mxfp8(
        a, a, out, stored(scales), stored(torch.full((128, 1), 127, dtype=torch.uint8))
    )
    assert out[3].isnan().all() and (out[4] == 32).all()

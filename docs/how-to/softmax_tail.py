"""A softmax whose rows are no power of two long: the lanes beyond the row are not what its sum should see."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + at, mask=at < n)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + at, e / tl.sum(e, axis=0), mask=at < n)


x = torch.linspace(-1, 1, 8 * 100, device="cuda").view(8, 100)
out = torch.zeros_like(x)
softmax[(8,)](out, x, 100, BLOCK=128)
print("right:", torch.allclose(out, torch.softmax(x, dim=1), atol=1e-4))

"""A sum of two vectors in Triton: ptxsim exec samples/triton_add.py"""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n  # without it the last CTA reads past the end
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


x, y = torch.rand(5000, device=DEVICE), torch.rand(5000, device=DEVICE)
out = torch.empty_like(x)
add_kernel[(triton.cdiv(5000, 1024),)](x, y, out, 5000, BLOCK=1024)
assert (out == x + y).all()
print("right:", out[:4].tolist())

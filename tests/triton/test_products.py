"""Matrix products of halves in programs under `ptxsim exec`. How fast: tools/bench/half_products.py."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

PRODUCTS = """
import torch

for kind in torch.float16, torch.bfloat16:
    a, b = torch.randn(700, 700, device="cuda", dtype=kind), torch.randn(700, 700, device="cuda", dtype=kind)
    a.requires_grad_()
    wide, single = a.detach().float().requires_grad_(), b.float()
    ones = torch.ones_like(a)
    (a @ b).backward(ones)
    (wide @ single).backward(ones.float())
    assert torch.equal(a @ b, (wide @ single).to(kind)) and torch.equal(a.grad, wide.grad.to(kind))
    assert torch.equal(torch.addmm(b, a, b, beta=0.5), torch.addmm(single, wide, single, beta=0.5).to(kind))
    assert torch.equal(torch.einsum("bij,bjk->bik", a[None], b[None])[0], a @ b)
assert (torch.ones(2, 3, dtype=torch.int64, device="cuda") @ torch.ones(3, dtype=torch.int64, device="cuda")).tolist() == [3, 3]
"""


def test_products_of_halves_are_made_in_single_precision(tmp_path):
    (tmp_path / "products.py").write_text(PRODUCTS)
    command = [sys.executable, "-m", "ptxsim", "exec", str(tmp_path / "products.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr

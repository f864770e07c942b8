"""Matrix products of halves on the CPU: torch's own, and as programs under `ptxsim exec` have them (ptxsim.triton.products).

    python tools/bench/half_products.py [N] [--types float16,bfloat16]

Seconds of processor time for N x N by N x N on one core, the second of two calls. Needs the extra triton. Torch's own float16 takes 44 s at 2,048.
"""

from __future__ import annotations

import argparse
import time

import torch

from ptxsim.triton import products


def seconds(a: torch.Tensor, b: torch.Tensor) -> float:
    a @ b
    began = time.thread_time()
    a @ b
    return time.thread_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", type=int, nargs="?", default=512)
    parser.add_argument("--types", default="float16,bfloat16")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = options.types.split(",")
    pairs = {
        name: [torch.randn(options.size, options.size, dtype=getattr(torch, name)) for _ in range(2)] for name in names
    }
    own = {name: seconds(*pair) for name, pair in pairs.items()}
    products.apply()
    for name, pair in pairs.items():
        print(f"{name} {options.size}: torch's own {own[name]:.3f} s, in single precision {seconds(*pair):.3f} s")


if __name__ == "__main__":
    main()

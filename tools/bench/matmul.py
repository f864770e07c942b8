#!/usr/bin/env python3
"""Speed of the bit-exact matrix product against numpy's f32 product of the same shape, one core, as JSON.

    OPENBLAS_NUM_THREADS=1 python tools/bench/matmul.py [--rounds N] [--mmasim PYTHON]

Every round times one call of each in turn; medians are reported, and the median of the rounds' ratios. With --mmasim
(a Python that has mmasim 2.1.1 and torch) its `dpa` gets the same dot products in a process of its own, turn by turn, and bits
are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

import ml_dtypes
import numpy as np

from ptxsim.numerics import find, matmul, product

CASES = [
    ("wgmma.m64n256k16.f32.f16.f16", "sm_90a", (64, 256, 16)),
    ("wgmma.m64n256k16.f32.f16.f16", "sm_90a", (512, 512, 512)),
    ("wgmma.m64n256k16.f16.f16.f16", "sm_90a", (512, 512, 512)),
    ("wgmma.m64n256k16.f32.bf16.bf16", "sm_90a", (512, 512, 512)),
    ("wgmma.m64n256k8.f32.tf32.tf32", "sm_90a", (512, 512, 512)),
    ("wgmma.m64n256k32.f32.e4m3.e4m3", "sm_90a", (512, 512, 512)),
    ("mma.m16n8k16.f32.f16.f16.f32", "sm_80", (512, 512, 512)),
]
TYPES = {
    "f16": np.float16,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
}

# Run by the other Python: reads operands from a file, then for every line of input times one batch of dot products (`dpa`)
# and writes the seconds; at the end the result's bits.
MMASIM = """
import json, sys, time
import numpy as np, torch
from mmasim.nv_ptx.sim import WGMMA
torch.set_num_threads(1)
arch, name, path = sys.argv[1:]
with np.load(path) as data:
    a, b, c = (torch.from_numpy(data[k]) for k in "abc")
kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}
kind = name.split(".")[2]
a, b = (x.view(kinds.get(kind, torch.float32)) for x in (a, b))
c = c.view(torch.float32)
simulator = WGMMA(arch, name)
for line in sys.stdin:
    start = time.perf_counter(), time.process_time()
    d = simulator.dpa(a, b, c)
    print(json.dumps([time.perf_counter() - start[0], time.process_time() - start[1]]), flush=True)
print(json.dumps(d.contiguous().view(torch.int32).numpy().astype(np.uint32).ravel().tolist()), flush=True)
"""


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(form: str, target: str, shape: tuple[int, int, int], rounds: int) -> dict[str, Any]:
    m, n, k = shape
    types = find(form, target).form
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(m, k)).astype(TYPES[types.a]), rng.normal(size=(k, n)).astype(TYPES[types.b])
    c = rng.normal(size=(m, n)).astype(TYPES[types.c])
    x, y = a.astype(np.float32), b.astype(np.float32)
    matmul(a, b, c, form, target)
    times = [(timed(lambda: matmul(a, b, c, form, target)), timed(lambda: x @ y)) for _ in range(rounds)]
    ours, numpys = median(t[0] for t in times), median(t[1] for t in times)
    return {
        "form": form,
        "target": target,
        "shape": shape,
        "microseconds": round(ours * 1e6, 1),
        "gmac_per_second": round(m * n * k / ours / 1e9, 2),
        "numpy_sgemm_gmac_per_second": round(m * n * k / numpys / 1e9, 2),
        "times_sgemm": round(median(t[0] / t[1] for t in times), 2),
    }


def tiles() -> list[dict[str, Any]]:
    """One instruction through `product`, which compiles nothing."""
    rows = []
    for form in ["mma.m16n8k16.f32.f16.f16.f32", "wgmma.m64n256k16.f32.f16.f16", "mma.m16n8k32.s8", "mma.m8n8k4.f64"]:
        rule = find(form)
        rng = np.random.default_rng(0)
        f = rule.form
        make = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s8": np.int8, "s32": np.int32}
        shapes = ((f.m, f.k), (f.k, f.n), (f.m, f.n))
        operands = [(rng.normal(size=s) * 5).astype(make[t]) for s, t in zip(shapes, (f.a, f.b, f.c))]
        codes = [x.view(f"u{x.itemsize}") for x in operands]
        product(rule, *codes)
        times = [timed(partial(product, rule, *codes)) for _ in range(200)]
        rows.append({"form": form, "microseconds": round(median(times) * 1e6, 1)})
    return rows


def against_mmasim(python: str, rounds: int) -> list[dict[str, Any]]:
    """A batch of dot products: that of a whole product of the form's shape, and many that share no operand."""
    rows = []
    for form in [
        "m64n256k16.f32.f16.f16",
        "m64n256k16.f32.bf16.bf16",
        "m64n256k8.f32.tf32.tf32",
        "m64n256k32.f32.e4m3.e4m3",
    ]:
        types = find(f"wgmma.{form}").form
        rng = np.random.default_rng(1)
        a = rng.normal(size=(types.m, types.k)).astype(TYPES[types.a])
        b = rng.normal(size=(types.k, types.n)).astype(TYPES[types.b])
        c = rng.normal(size=(types.m, types.n)).astype(np.float32)
        pairs = np.broadcast_arrays(a[:, None, :], b.T[None, :, :])
        rows.append(duel(python, form, "one product", (a, b, c), (*pairs, c), rounds))
        x, y = (rng.normal(size=(types.m * types.n, types.k)).astype(TYPES[t]) for t in (types.a, types.b))
        z = rng.normal(size=len(x)).astype(np.float32)
        ours = x[:, None, :], y[:, :, None], z[:, None, None]
        rows.append(duel(python, form, "independent pairs", ours, (x, y, z), rounds))
        a, b = (
            rng.normal(size=s).astype(TYPES[t])
            for s, t in (((256, 16, types.k), types.a), ((256, types.k, 8), types.b))
        )
        c = rng.normal(size=(256, 16, 8)).astype(np.float32)
        pairs = np.broadcast_arrays(a[:, :, None, :], b.transpose(0, 2, 1)[:, None, :, :])
        rows.append(duel(python, form, "256 products of 16 x 8", (a, b, c), (*pairs, c), rounds))
    return rows


REPEATED = 10  # calls of ours for one of mmasim's, which takes much longer


def duel(
    python: str, form: str, batch: str, ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], rounds: int
) -> dict[str, Any]:
    """numerics.matmul on `ours` and mmasim's dpa on `theirs`, the same dot products, turn by turn."""
    opcode = f"wgmma.{form}"
    words: dict[str, Any] = {name: np.ascontiguousarray(x).view(f"i{x.itemsize}") for name, x in zip("abc", theirs)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operands.npz"
        np.savez(path, **words)
        command = [python, "-c", MMASIM, "Hopper", form, str(path)]
        other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert other.stdin is not None and other.stdout is not None
        times = []
        for _ in range(rounds + 1):
            other.stdin.write("\n")
            other.stdin.flush()
            took, busy = json.loads(other.stdout.readline())
            mine = time.process_time()
            mine_took = timed(lambda: [matmul(*ours, opcode) for _ in range(REPEATED)])
            times.append((took, busy, mine_took / REPEATED, (time.process_time() - mine) / REPEATED))
        other.stdin.close()
        bits = np.array(json.loads(other.stdout.readline()), np.uint32)
        other.wait()
    del times[0]  # the first calls compile
    return {
        "form": opcode,
        "batch": batch,
        "dot_products": len(bits),
        "microseconds": round(median(t[2] for t in times) * 1e6, 1),
        "mmasim_microseconds": round(median(t[0] for t in times) * 1e6, 1),
        "times_faster": round(median(t[0] / t[2] for t in times), 1),
        "times_faster_by_processor_time": round(median(t[1] / t[3] for t in times), 1),
        "different_bits": int((matmul(*ours, opcode).view(np.uint32).ravel() != bits).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only-mmasim", action="store_true", help="leave out the comparisons with numpy")
    parser.add_argument("--mmasim", metavar="PYTHON", help="a Python with mmasim 2.1.1 to compare with")
    options = parser.parse_args()
    result: dict[str, Any] = (
        {}
        if options.only_mmasim
        else {
            "matmul": [measure(*case, options.rounds if case[2][2] > 100 else 10 * options.rounds) for case in CASES],
            "one_instruction": tiles(),
        }
    )
    if options.mmasim:
        result["mmasim"] = against_mmasim(options.mmasim, options.rounds)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

"""How long kernels of several sizes take from text to ready native code: JSON, medians in milliseconds of fresh processes.

`cold` has an empty cache, `cached` one that knows the kernel, `again` is a second launch of the same text in the process. Each
is what comes on top of the imports: parsing, binding, code, one launch of one warp. Sizes are run in turn, so that what else
the machine does falls on all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from common import show

CHILD = """
import json, sys, time
def now(): return time.perf_counter(), time.process_time()
began = now()
import numpy as np
from ptxsim import Module
imported = now()
text = open(sys.argv[1]).read()
def launch():
    kernel = Module.from_text(text).kernel()
    kernel.launch(1, 32, [np.zeros(32, np.uint32)], engine="compiled", jobs=1)
start = now(); launch(); first = now(); launch(); second = now()
print(json.dumps([[b - a for a, b in zip(*pair)] for pair in ((began, imported), (start, first), (first, second))]))
"""
STATEMENTS = (
    "add.u32 %r{a}, %r{b}, %r{c};", "fma.rn.f32 %f{a}, %f{b}, %f{c}, %f{d};", "xor.b32 %r{a}, %r{b}, {c};",
    "mad.lo.s32 %r{a}, %r{b}, %r{c}, %r{d};", "setp.lt.s32 %p1, %r{a}, %r{b};", "@%p1 mov.u32 %r{a}, %r{b};",
    "ld.shared.u32 %r{a}, [tile+{e}];", "st.shared.f32 [tile+{e}], %f{b};", "mul.f32 %f{a}, %f{b}, %f{c};",
)  # fmt: skip


def kernel(count: int, seed: int) -> str:
    """A kernel of about `count` instructions in blocks of 40."""
    r = Random(seed)
    lines = [f"mov.u32 %r{i}, %tid.x;\nmov.f32 %f{i}, 0f3F800000;" for i in range(min(64, count // 4))]
    registers = len(lines)
    lines.append("setp.eq.u32 %p1, %r0, 3;")
    for i in range(count - 2 * registers):
        a, b, c, d = (r.randrange(registers) for _ in range(4))
        lines.append(r.choice(STATEMENTS).format(a=a, b=b, c=c, d=d, e=4 * r.randrange(64)))
        if i % 40 == 39:
            lines.append(f"@%p1 bra L{i};\nadd.u32 %r{a}, %r{b}, 7;\nL{i}:")
    return "\n".join(
        [
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{",
            ".reg .b32 %r<64>; .reg .f32 %f<64>; .reg .pred %p<2>; .reg .b64 %d; .shared .align 16 .b8 tile[1024];",
            *lines,
            "ld.param.u64 %d, [out];\nst.global.u32 [%d], %r1;\nret;\n}\n",
        ]
    )


def child(text: str, cache: str, bytecode: str) -> list[list[float]]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PTXSIM_CACHE_DIR": cache, "PYTHONPATH": str(root), "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(
        [sys.executable, "-c", CHILD, text], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found: list[list[float]] = json.loads(run.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 300, 3000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[tuple[int, str], list[list[list[float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds + 1):  # the first one writes the bytecode
            for size in options.sizes:
                text = Path(folder) / "kernel.ptx"
                text.write_text(kernel(size, number))
                with tempfile.TemporaryDirectory() as cache:
                    for state in ("cold", "cached"):
                        times = child(str(text), cache, str(Path(folder) / "bytecode"))
                        if number:
                            found.setdefault((size, state), []).append(times)
    rows = []
    for size in options.sizes:
        row: dict[str, Any] = {"instructions": size}
        for state, part, name in (
            ("cold", 1, "cold"),
            ("cached", 1, "cached"),
            ("cached", 2, "again"),
            ("cached", 0, "imports"),
        ):
            parts = [run[part] for run in found[size, state]]
            row[name] = round(median(t[0] for t in parts) * 1e3, 1)
            row[f"{name}_processor"] = round(median(t[1] for t in parts) * 1e3, 1)
        rows.append(row)
    show(rows)


if __name__ == "__main__":
    main()

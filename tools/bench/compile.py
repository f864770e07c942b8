"""A kernel of 3,000 instructions from text to the first result, without and with the object cache, each in a new process."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHILD = """
import random, sys, time
began, busy = time.perf_counter(), time.process_time()
import numpy as np
from ptxsim import Module
imported, imported_cpu = time.perf_counter() - began, time.process_time() - busy
r = random.Random(1)
lines = []
for i in range(int(sys.argv[1])):
    a, b, c, d = (r.randrange(64) for _ in range(4))
    lines.append(r.choice((
        f"add.u32 %r{a}, %r{b}, %r{c};", f"fma.rn.f32 %f{a}, %f{b}, %f{c}, %f{d};", f"xor.b32 %r{a}, %r{b}, {c};",
        f"mad.lo.s32 %r{a}, %r{b}, %r{c}, %r{d};", f"setp.lt.s32 %p1, %r{a}, %r{b};", f"@%p1 mov.u32 %r{a}, %r{b};",
        f"ld.shared.u32 %r{a}, [tile+{4 * b}];", f"st.shared.f32 [tile+{4 * a}], %f{b};", f"mul.f32 %f{a}, %f{b}, %f{c};",
    )))
    if i % 40 == 39:
        lines.append(f"@%p1 bra L{i}; add.u32 %r{a}, %r{b}, 7;{chr(10)}L{i}:")
newline = chr(10)
text = (newline.join((".version 8.0", ".target sm_80", ".address_size 64", "")) + ".visible .entry k(.param .u64 out) { .reg .b32 %r<64>; .reg .f32 %f<64>;"
    ".reg .pred %p<2>; .reg .b64 %d; .shared .align 16 .b8 tile[1024];"
    + "".join(f"mov.u32 %r{i}, %tid.x; mov.f32 %f{i}, 0f3F800000;" for i in range(64)) + f"setp.eq.u32 %p1, %r0, 3;{newline}" + newline.join(lines)
    + newline + "ld.param.u64 %d, [out]; st.global.u32 [%d], %r1; ret; }")
began, busy = time.perf_counter(), time.process_time()
Module.from_text(text).kernel().launch(1, 32, [np.zeros(32, np.uint32)], engine=sys.argv[2])
took, cpu = time.perf_counter() - began, time.process_time() - busy
print(f"import {imported * 1e3:.0f} ms ({imported_cpu * 1e3:.0f} CPU), first launch {took * 1e3:.0f} ms ({cpu * 1e3:.0f} CPU)")
"""

root = Path(__file__).parents[2]
with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "PTXSIM_CACHE_DIR": folder, "PYTHONPATH": str(root)}
    for count in (20, 3000):
        for state in ("cold cache", "warm cache"):
            out = subprocess.run(
                [sys.executable, "-c", CHILD, str(count), "compiled"],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            print(f"{count} instructions, {state}: {out.stdout.strip()}")

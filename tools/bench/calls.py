"""Loops of a call of a function and an indexed branch, and of a vote at a barrier: warp instructions a second of processor time,
natively and in the interpreter.

    python tools/bench/calls.py

Prints what took the slow path, too; exits with 1 if anything did.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from ptxsim import Kernel, Module

TEXT = """.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 result) plus(.param .b32 x)
{{
    .reg .b32 %x;
    ld.param.b32 %x, [x]; add.u32 %x, %x, 3; st.param.b32 [result], %x;
    ret;
}}
.visible .entry k(.param .u64 D)
{{
    .reg .pred %p, %q; .reg .b32 %t, %n, %i, %c, %s; .reg .b64 %D, %o;
    ld.param.u64 %D, [D]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %s, %c, 256, %t;
    mul.wide.u32 %o, %s, 4; add.u64 %D, %D, %o; mov.u32 %i, 0; mov.u32 %n, %t;
again:
    {body}
    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 100;
    @%p bra again;
    st.global.u32 [%D], %n;
    ret;
}}
"""
BODIES = {
    "a call and an indexed branch": """{ .param .b32 a; .param .b32 r; st.param.b32 [a], %n; call (r), plus, (a); ld.param.b32 %n, [r]; }
    and.b32 %s, %i, 3;
    ways: .branchtargets one, two, one, two;
    brx.idx %s, ways;
one: add.u32 %n, %n, 1; bra.uni on;
two: xor.b32 %n, %n, 5;
on:""",
    "a vote at a barrier": """add.u32 %s, %t, %i; and.b32 %s, %s, 7; setp.eq.u32 %q, %s, 3;
    barrier.cta.red.popc.aligned.u32 %s, 0, %q; add.u32 %n, %n, %s;""",
}


def rate(kernel: Kernel, ctas: int, engine: str) -> tuple[float, int]:
    """Warp instructions a second, in millions, the better of two launches; and executions on the slow path."""
    found = []
    for _ in range(2):
        began = time.process_time()
        run = kernel.launch(ctas, 256, [np.zeros(256 * ctas, np.uint32)], engine=engine, jobs=1)
        found.append((run.warp_instructions / (time.process_time() - began) / 1e6, sum(r.count for r in run.slow_path)))
    return max(found)


def main() -> int:
    slow = 0
    for name, body in BODIES.items():
        kernel = Module.from_text(TEXT.format(body=body)).kernel("k")
        (native, left), (interpreted, _) = rate(kernel, 132, "compiled"), rate(kernel, 2, "interpreter")
        slow += left
        print(f"{name:30}{native:8.2f} M/s natively, {interpreted:6.3f} in the interpreter, slow path {left}")
    return slow > 0


if __name__ == "__main__":
    sys.exit(main())

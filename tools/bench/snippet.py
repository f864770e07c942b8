"""Snippets of 20 lines, each a new text, in milliseconds: in a warm process, and from the start of a fresh one.

A fresh process has an empty cache; `with_bytecode` has the .pyc files that an installed package has, `without` those that lie
in the checkout, and makes none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import interleaved, show, wall

TEXT = """
.reg .pred %q;
mov.u32 %a, %tid.x; add.u32 %b, %a, NUMBER; mul.lo.u32 %c, %b, %a; shl.b32 %d, %c, 3; xor.b32 %e, %d, %a;
cvt.rn.f32.u32 %f, %e; fma.rn.f32 %g, %f, %f, 0f3F800000; add.f32 %h, %g, %f; setp.gt.f32 %q, %h, 0f42000000;
selp.b32 %i, %a, %b, %q; and.b32 %j, %i, 31; mul.wide.u32 %o, %j, 4; add.u64 %p, %o, %buf; ld.global.u32 %k, [%p];
add.u32 %l, %k, %j; st.global.u32 [%p], %l; shfl.sync.bfly.b32 %m, %l, 1, 31, -1; max.s32 %n, %m, %l;
min.s32 %r, %n, 1000; sub.u32 %s, %r, %a;
"""
CHILD = """
import numpy as np
from ptxsim import snippet
snippet({text!r}, buffers={{"buf": np.arange(64, dtype=np.uint32)}}, engine={engine!r})
import time
print(time.process_time())
"""
ROUNDS = 9
numbers = count(1)


def new_text() -> str:
    return TEXT.replace("NUMBER", str(time.time_ns() % (1 << 28) + next(numbers)))


def fresh(engine: str | None, bytecode: str) -> tuple[float, float]:
    """Seconds on the clock and of processor time of a new process; `bytecode` is the folder of its .pyc files, if any."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PTXSIM_CACHE_DIR": cache, "PYTHONPATH": str(Path(__file__).parents[2])}
        if bytecode:
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            environment["PYTHONPYCACHEPREFIX"] = bytecode
        else:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        began = time.perf_counter()
        child = CHILD.format(text=new_text(), engine=engine)
        out = subprocess.run(
            [sys.executable, "-c", child], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return time.perf_counter() - began, float(out.stdout)


def main() -> None:
    from ptxsim import snippet

    def warm(engine: str | None) -> Callable[[], object]:
        return lambda: snippet(new_text(), buffers={"buf": np.arange(64, dtype=np.uint32)}, engine=engine)

    actions = {"default": warm(None), "compiled": warm("compiled")}
    interleaved(actions, 1)
    result: dict[str, Any] = {}
    for name, times in interleaved(actions, 21).items():
        result[f"warm_{name}"] = {
            "milliseconds": round(wall(times) * 1e3, 2),
            "processor_milliseconds": round(median(t[1] for t in times) * 1e3, 2),
        }
    with tempfile.TemporaryDirectory() as bytecode:
        fresh(None, bytecode), fresh("compiled", bytecode)
        found: dict[str, list[Any]] = {}
        for _ in range(ROUNDS):
            for name, engine in (("default", None), ("compiled", "compiled")):
                for kind, folder in (("with_bytecode", bytecode), ("without", "")):
                    found.setdefault(f"fresh_{name}_{kind}", []).append(fresh(engine, folder))
    for name, times in found.items():
        result[name] = {
            "milliseconds": round(median(t[0] for t in times) * 1e3),
            "processor_milliseconds": round(median(t[1] for t in times) * 1e3),
            "least_processor_milliseconds": round(min(t[1] for t in times) * 1e3),
        }
    show(result)


if __name__ == "__main__":
    main()

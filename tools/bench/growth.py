#!/usr/bin/env python3
"""How time and memory grow: CTAs, warp instructions, bytes of buffers, lines of modules. Each size in a process of its own, one after the other.

tools/bench/growth.py [--only REGEX] [--largest] [--write docs/growth.md]

Seconds are those of the processor, memory is the most that the process held. --largest takes the last column too, which needs
9 GB and a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import ptxsim
from ptxsim.session.module import check
from ptxsim.source import Source

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
ADD = (
    HEADER
    + """.visible .entry add(.param .u64 A, .param .u64 B, .param .u64 C)
{
    .reg .b32 %r, %t, %n; .reg .b64 %a, %b, %c, %o; .reg .f32 %x, %y;
    ld.param.u64 %a, [A]; ld.param.u64 %b, [B]; ld.param.u64 %c, [C];
    mov.u32 %r, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x;
    mad.lo.u32 %r, %r, %n, %t;
    mul.wide.u32 %o, %r, 4;
    add.u64 %a, %a, %o; add.u64 %b, %b, %o; add.u64 %c, %c, %o;
    ld.global.f32 %x, [%a]; ld.global.f32 %y, [%b];
    add.f32 %x, %x, %y;
    st.global.f32 [%c], %x;
    ret;
}
"""
)
LOOP = (
    HEADER
    + """.visible .entry loop(.param .u64 A, .param .u32 n)
{
    .reg .b32 %i, %n, %x, %t, %s; .reg .b64 %a; .reg .pred %p; .shared .align 4 .b8 tile[128];
    ld.param.u64 %a, [A]; ld.param.u32 %n, [n];
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; mov.u32 %i, 0; mov.u32 %x, %t;
L:  st.shared.u32 [%s], %x;
    mad.lo.u32 %x, %x, 1664525, 1013904223;
    xor.b32 %x, %x, %i;
    ld.shared.u32 %t, [%s];
    add.u32 %x, %x, %t;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra L;
    mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a; st.global.u32 [%a], %x;
    ret;
}
"""
)


def ctas(count: int, **options: Any) -> None:
    """A vector addition, one warp in a CTA."""
    a, b, c = (np.full(32 * count, 1, np.float32) for _ in range(3))
    ptxsim.Module.from_text(ADD).kernel().launch(count, 32, [a, b, c], banks=False, **options)
    assert (c == 2).all()


def instructions(count: int, **options: Any) -> None:
    """One warp in a loop of eight instructions, two of them in shared memory."""
    run = (
        ptxsim.Module.from_text(LOOP)
        .kernel()
        .launch(1, 32, [np.zeros(32, np.uint32), count // 8], banks=False, **options)
    )
    assert abs(run.warp_instructions - count) < 100


def arrays(size: int) -> None:
    """Arguments of so many bytes in all, of which a few are used."""
    a, b, c = (np.ones(size // 12, np.float32) for _ in range(3))
    ptxsim.Module.from_text(ADD).kernel().launch(64, 256, [a, b, c], banks=False)
    assert c[0] == 2 and c[-1] == 1


def device_memory(size: int) -> None:
    """Memory of a device of so many bytes, of which a few are used."""
    device = ptxsim.Device("sm_80", memory=size + (1 << 20))
    a, b, c = (device.malloc(size // 12 * 4) for _ in range(3))
    device.launch(ptxsim.Module.from_text(ADD).kernel(), grid=64, block=256, args=[a, b, c])


def text_of(lines: int, each: int) -> str:
    """A module of kernels of `each` lines, no two lines alike."""
    draw, parts = random.Random(lines), [HEADER]
    for kernel in range(lines // each):
        parts.append(
            f".visible .entry k{kernel}(.param .u64 A)\n{{\n    .reg .b32 %r<64>; .reg .pred %p<8>; .reg .b64 %d;\n"
        )
        parts.append("    ld.param.u64 %d, [A];\n")
        for n in range(each - 7):
            to, a, b, c = (*(draw.randrange(64) for _ in range(3)), draw.randrange(1 << 20))
            parts.append((
                f"    add.u32 %r{to}, %r{a}, {c};\n", f"    ld.global.u32 %r{to}, [%d+{4 * (c % 64)}];\n",
                f"    mad.lo.u32 %r{to}, %r{a}, %r{b}, {c};\n", f"L{n}: xor.b32 %r{to}, %r{a}, {c};\n",
                f"    setp.lt.u32 %p{to % 8}, %r{a}, {c};  @%p{to % 8} bra L{n + 4};\n" if n < each - 15 else f"    mov.u32 %r{to}, {c};\n",
            )[n % 5])  # fmt: skip
        parts.append("    st.global.u32 [%d], %r1;\n    ret;\n}\n")
    return "".join(parts)


def checked_module(lines: int) -> None:
    """`ptxsim check` of kernels of a thousand lines."""
    assert not check(Source(text_of(lines, 1000), "many.ptx"))


def run_of_a_module(lines: int) -> None:
    """The first kernel of many is run."""
    ptxsim.Module.from_text(text_of(lines, 1000)).kernel("k0").launch(1, 32, [np.zeros(64, np.uint32)], banks=False)


def long_kernel(lines: int, **options: Any) -> None:
    """One kernel of so many lines is run."""
    kernel = ptxsim.Module.from_text(text_of(lines, lines)).kernel()
    kernel.launch(1, 32, [np.zeros(64, np.uint32)], banks=False, **options)


@dataclass(frozen=True)
class Row:
    """What is measured, at which sizes."""

    name: str
    unit: str
    action: Callable[[int], None]
    sizes: tuple[int, ...]


def _rows() -> tuple[Row, ...]:
    steps = (10**6, 10**7, 10**8)
    return (
        Row("CTAs, no checks", "CTA", lambda n: ctas(n, checks="none"), (10**3, 10**4, 10**5)),
        Row("CTAs, all checks", "CTA", lambda n: ctas(n, checks="all"), (10**3, 10**4, 10**5)),
        Row("warp instructions, no checks", "warp instruction", lambda n: instructions(n, checks="none"), steps),
        Row("warp instructions, all checks", "warp instruction", lambda n: instructions(n, checks="all"), steps),
        Row("warp instructions, interpreter", "warp instruction", lambda n: instructions(n, engine="interpreter"), (10**4, 10**5, 10**6)),
        Row("arrays as arguments", "byte", arrays, (4 * 10**7, 4 * 10**8, 4 * 10**9)),
        Row("memory of a device", "byte", device_memory, (4 * 10**7, 4 * 10**8, 4 * 10**9)),
        Row("lines of kernels, checked", "line", checked_module, (10**4, 10**5, 10**6)),
        Row("lines of kernels, one is run", "line", run_of_a_module, (10**4, 10**5, 10**6)),
        Row("lines of one kernel, run", "line", long_kernel, (10**4, 10**5, 10**6)),
        Row("lines of one kernel, interpreter", "line", lambda n: long_kernel(n, engine="interpreter"), (10**4, 10**5, 10**6)),
    )  # fmt: skip


ROWS = _rows()


def measured(row: Row, size: int) -> tuple[float, float]:
    """Seconds and MB that a process takes for a size, beyond one that does nothing."""
    command = [sys.executable, __file__, "--one", row.name, "--size", str(size)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found["seconds"], found["megabytes"]


def _one(name: str, size: int) -> None:
    """In a process of its own: one size; what it took."""
    row = next(row for row in ROWS if row.name == name)
    began = time.process_time()
    row.action(size)
    took, most = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": took, "megabytes": most}))


def line_of(row: Row, found: list[tuple[float, float]]) -> str:
    """A row of the table: at each size seconds and memory; what one more costs, from the two largest."""
    cells = [f"{seconds:.1f} s, {megabytes:,.0f} MB" for seconds, megabytes in found]
    cells += [""] * (len(row.sizes) - len(cells))
    (s0, m0), (s1, m1), more = found[-2], found[-1], row.sizes[len(found) - 1] - row.sizes[len(found) - 2]
    each = f"{1e6 * max(s1 - s0, 0) / more:.3g} µs, {2**20 * max(m1 - m0, 0) / more:.3g} B"
    return f"| {row.name} ({', '.join(f'{size:.0e}'.replace('e+0', 'e') for size in row.sizes)}) | {' | '.join(cells)} | {each} a {row.unit} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name has this")
    parser.add_argument("--largest", action="store_true", help="the largest sizes, too")
    parser.add_argument("--write", type=Path, help="put the table into this page, in place of the one there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _one(options.one, options.size)
        return 0
    lines = ["| what (sizes) | first | ten times | a hundred times | one more |", "| --- | --- | --- | --- | --- |"]
    for row in ROWS:
        if re.search(options.only, row.name):
            lines.append(line_of(row, [measured(row, size) for size in row.sizes[: 3 if options.largest else 2]]))
            print(lines[-1], flush=True)
    if options.write:
        text = options.write.read_text()
        options.write.write_text(
            re.sub(r"\| what \(.*?(?=\n\n|\Z)", lambda _: "\n".join(lines), text, count=1, flags=re.DOTALL)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

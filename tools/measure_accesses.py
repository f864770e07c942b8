#!/usr/bin/env python3
"""Measure patterns of accesses to global memory on this machine's GPU: what goes from L1 to L2 because of them, and how long loads take.

python tools/measure_accesses.py [FILE ...] > TABLE

Each line of the files (or of the standard input) is a pattern, in tab-separated cells as the tables have them, what comes after these being left
out: CTAs, each with a MiB of its own; warps; lanes; bytes from lane to lane and from warp to warp; turns; bytes from turn to turn; a program.
Words of a program: `w4+0` stores 4 bytes at an offset, `r16+128` loads 16, `a4+0` adds; modifiers stand behind (`w4+0.cg`); `w4+0:128:8` does it
8 times, 128 bytes apart; `z100` waits so many cycles, `n5` reads the clock 5 times, `b` is a barrier, `fcta` and `fgpu` are fences; after `@1`
warp 1 alone goes on, after `@` all do.

Written are the cycles of the longest warp's program in a CTA, those of each load that no loop repeats (warp by warp), and what Nsight Compute
counts per CTA and turn at L2: requests and sectors that were written, and that were read.
"""

from __future__ import annotations

import csv
import fileinput
import importlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

METRICS = [f"lts__t_{what}_srcunit_tex_op_{how}.sum" for how in ("write", "read") for what in ("requests", "sectors")]
HEADER = ["ctas", "warps", "lanes", "lane_bytes", "warp_bytes", "turns", "turn_bytes", "program", "cycles", "loads"]
COUNTED = ["write_requests", "write_sectors", "read_requests", "read_sectors"]
TYPES = {1: ".u8", 2: ".u16", 4: ".u32", 8: ".v2.u32", 16: ".v4.u32"}
WORD = re.compile(r"([wra])(\d+)\+(\d+)(?::(\d+):(\d+))?([._:\w]*)$")
CLOCKS = 31  # loads of a warp whose cycles are kept, and the program's
ROW = 4 * (CLOCKS + 1)
ON = "@%on"  # lanes that take part


def values(size: int, name: str) -> str:
    """The operand of an access to so many bytes."""
    count = max(1, size // 4)
    found = ", ".join(f"%{name}{k}" for k in range(count))
    return "{" + found + "}" if count > 1 else found


def access(kind: str, size: int, offset: int, modifiers: str, clock: int) -> str:
    """One access, and where there is a place for it, its cycles."""
    if kind == "a":
        return f"{ON} red.global.add.u32 [%base+{offset}], 1;"
    strong = modifiers.startswith((".relaxed", ".volatile", ".release", ".acquire"))
    how = f"{modifiers}.global{TYPES[size]}" if strong else f".global{modifiers}{TYPES[size]}"
    if kind == "w":
        return f"{ON} st{how} [%base+{offset}], {values(size, 'v')};"
    load = f"{ON} ld{how} {values(size, 'l')}, [%base+{offset}];"
    if clock >= CLOCKS:
        return f"{load} add.u32 %sum, %sum, %l0;"
    # What was loaded decides a branch that is never taken, so that the second clock is read when it is there.
    return (
        f"mov.u32 %c0, %clock; {load} setp.eq.u32 %p, %l0, 0xabcdef01; @%p bra NEVER; mov.u32 %c1, %clock;\n"
        f"sub.u32 %c1, %c1, %c0; st.shared.u32 [%mine+{4 * clock}], %c1;"
    )


def body(program: str, looped: bool) -> list[str]:
    """The program's text."""
    text: list[str] = []
    loads, inside = 0, ""
    for label, word in enumerate(program.split()):
        if word[0] == "@":
            if inside:
                text.append(f"{inside}:")
            inside = f"L{label}" if word[1:] else ""
            if inside:
                text.append(f"setp.ne.u32 %p, %warp, {word[1:]}; @%p bra {inside};")
        elif word[0] == "z":
            text.append(f"mov.u32 %c0, %clock; W{label}: mov.u32 %c1, %clock; sub.u32 %c1, %c1, %c0;")
            text.append(f"setp.lt.u32 %p, %c1, {word[1:]}; @%p bra W{label};")
        elif word[0] == "n":
            text += ["mov.u32 %c0, %clock; add.u32 %sum, %sum, %c0;"] * int(word[1:])
        elif word == "b":
            text.append("bar.sync 0;")
        elif word[0] == "f":
            text.append(f"fence.acq_rel.{word[1:]};")
        else:
            found = WORD.match(word)
            assert found, f"{word} is no word of a program"
            kind, size, first, apart, count, modifiers = found.groups()
            for k in range(int(count or 1)):
                text.append(
                    access(kind, int(size), int(first) + k * int(apart or 0), modifiers, CLOCKS if looped else loads)
                )
                loads += kind == "r"
    return [*text, f"{inside}:"] if inside else text


def kernel(number: int, cells: list[str]) -> str:
    """The kernel of a pattern: writes the clocks of each warp to `out`."""
    lanes, stride, apart, turns, step = (int(cell) for cell in cells[2:7])
    again = f"add.u64 %base, %base, {step}; add.u32 %turn, %turn, 1; setp.lt.u32 %p, %turn, {turns}; @%p bra AGAIN;"
    return "\n".join([
        f".visible .entry pattern{number}(.param .u64 buffer, .param .u64 out) {{",
        ".reg .b64 %base, %out, %t; .reg .b32 %v<4>, %l<4>, %sum, %c0, %c1, %c2, %warp, %lane, %mine, %turn, %x; .reg .pred %p, %on;",
        f".shared .align 16 .b8 clocks[{32 * ROW}];",
        "mov.u32 %x, %tid.x; shr.u32 %warp, %x, 5; and.b32 %lane, %x, 31; mov.u32 %sum, 0; mov.u32 %turn, 0;",
        "ld.param.u64 %base, [buffer]; ld.param.u64 %out, [out];",
        f"mul.wide.u32 %t, %lane, {stride}; add.u64 %base, %base, %t; mul.wide.u32 %t, %warp, {apart}; add.u64 %base, %base, %t;",
        f"mov.u32 %l0, %ctaid.x; mul.wide.u32 %t, %l0, {1 << 20}; add.u64 %base, %base, %t;",
        f"mov.u32 %mine, clocks; mad.lo.u32 %mine, %warp, {ROW}, %mine;",
        *(f"add.u32 %v{k}, %x, {k + 1};" for k in range(4)),
        "mad.lo.u32 %l0, %lane, 4, %mine; st.shared.u32 [%l0], 0; bar.sync 0; mov.u32 %c2, %clock;",
        f"setp.lt.u32 %on, %lane, {lanes}; mov.u32 %l0, 0;",
        "AGAIN:", *body(cells[7], turns > 1), again if turns > 1 else "",
        f"mov.u32 %c1, %clock; sub.u32 %c1, %c1, %c2; st.shared.u32 [%mine+{4 * CLOCKS}], %c1;",
        "setp.eq.u32 %p, %sum, 0xabcdef01; @%p bra NEVER;",
        "bar.warp.sync -1; mad.lo.u32 %l0, %lane, 4, %mine; ld.shared.u32 %l1, [%l0];",
        "mul.wide.u32 %t, %x, 4; add.u64 %out, %out, %t; st.global.u32 [%out], %l1;",
        "NEVER: ret; }",
    ])  # fmt: skip


def run(cubin: str, sizes: list[str]) -> list[list[list[int]]]:
    """Launch each pattern twice, of CTAs x warps; the clocks of each warp of a CTA of the second launch."""
    cupy = importlib.import_module("cupy")
    module = cupy.RawModule(path=cubin)
    buffer, out = cupy.zeros(1 << 26, cupy.uint32), cupy.zeros(1024, cupy.uint32)
    found = []
    for number, size in enumerate(sizes):
        ctas, warps = (int(count) for count in size.split("x"))
        for _ in range(2):
            module.get_function(f"pattern{number}")((ctas,), (32 * warps,), (buffer, out))
        found.append(out.get().reshape(32, 32)[:warps].tolist())
    return found


def counted(cubin: str, sizes: list[str]) -> list[list[float]]:
    """What the profiler counts of the second launch of each pattern."""
    command = ["ncu", "--csv", "--cache-control", "none", "--clock-control", "none", "--kernel-name", "regex:pattern", "--metrics", ",".join(METRICS)]  # fmt: skip
    text = subprocess.run(
        [*command, sys.executable, __file__, "--launch", cubin, *sizes], capture_output=True, text=True, check=True
    ).stdout
    rows = csv.DictReader(io.StringIO(text[text.index('"ID"') :]))
    found: dict[int, list[float]] = {}
    for row in rows:
        at = found.setdefault(int(row["Kernel Name"][len("pattern") :].split("(")[0]), [0.0] * len(METRICS))
        at[METRICS.index(row["Metric Name"])] = float(row["Metric Value"].replace(",", ""))
    return [found[number] for number in range(len(sizes))]


def main() -> None:
    if sys.argv[1:2] == ["--launch"]:
        run(sys.argv[2], sys.argv[3:])
        return
    with fileinput.input() as given:
        lines = [line.rstrip("\n").split("\t")[:8] for line in given if line[:1].isdigit()]
    nothing = [[*size, "32", "0", "0", "1", "0", ""] for size in sorted({(cells[0], cells[1]) for cells in lines})]
    patterns = [*nothing, *lines]
    sizes = ["x".join(cells[:2]) for cells in patterns]
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = Path(folder, "patterns.ptx"), Path(folder, "patterns.cubin")
        texts = [kernel(number, cells) for number, cells in enumerate(patterns)]
        ptx.write_text(".version 8.0\n.target sm_90a\n.address_size 64\n" + "\n".join(texts))
        subprocess.run(["ptxas", "-arch=sm_90a", ptx, "-o", cubin], check=True)
        clocks, sectors = run(str(cubin), sizes), counted(str(cubin), sizes)
    empty = dict(zip(sizes[: len(nothing)], sectors))  # what is of no pattern
    print("\t".join([*HEADER, *COUNTED]))
    for cells, times, numbers, size in list(zip(patterns, clocks, sectors, sizes))[len(nothing) :]:
        parts = int(cells[0]) * int(cells[5])
        loads = ["/".join(str(t) for t in warp[:CLOCKS] if t) for warp in times]
        each = [(n - none) / parts for n, none in zip(numbers, empty[size])]
        shown = [*cells, str(max(warp[CLOCKS] for warp in times)), " ".join(loads).strip(), *(f"{n:.2f}" for n in each)]
        print("\t".join(shown))


if __name__ == "__main__":
    main()

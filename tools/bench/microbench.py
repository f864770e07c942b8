#!/usr/bin/env python3
"""How well the cycle model meets measured latencies and throughputs: tools/bench/microbench.py instructions.tsv.

Every row of the table is a loop of one PTX template. The loop is built again, run with two trip counts, and the difference
of the predicted cycles is compared with the measured ones: latency (one warp, one dependent chain) and cycles of the SM
per template (independent chains, 16 warps). Prints rows, worst first, and medians; exits 1 if a median is over --limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxsim import Kernel

import argparse
import csv
import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

GROUPS = ("alu", "cvt", "warp", "mma", "wmma", "ldmatrix", "smem", "sync")
COPIES = 64  # of the template in the loop body
TRIPS = (2, 6)
WIDTHS = {"tl": "b64", "la": "b64", "lb": "b64", "ha": "b16", "hb": "b16", "td": "b64", "da": "b64", "db": "b64"}
NOT_COSTS = ("folded", "hoisted", "removed")  # notes of rows that measure something else
TEMPLATE = 160  # characters that the table keeps of a template


def completed(template: str) -> str:
    """A template that the table has cut off: a product continues with the accumulators it begins with. Raises ValueError."""
    if len(template) < TEMPLATE or template.rstrip().endswith(";"):
        return template
    found = re.fullmatch(r"((?:w?mma\.)\S+ )(\{[^}]*(?:\{j\}[^}]*)*\}),(.*)", template)
    if found is None or ".sp" in found[1]:
        raise ValueError("the table has cut the template off")
    opcode, accumulators, rest = found.groups()
    factors = re.findall(r"\{[^{}]*\}", rest.replace("{j}", "\x01"))[:2]
    if len(factors) < 2:
        raise ValueError("the table has cut the template off")
    return f"{opcode}{accumulators},{','.join(factors)},{accumulators};".replace("\x01", "{j}")


def register_of(name: str, chain: str, double: bool = False) -> str:
    """The type of a template's own register %name or {name}. `double`: fragments of a product are f64."""
    if double and re.match(r"m[abc]\d", name):
        return "b64"
    base = re.sub(r"[\d_]+$", "", name)
    if base.startswith("p") or base == "tp":
        return "pred"
    if name.startswith("th"):
        return "b16"
    if base in WIDTHS:
        return WIDTHS[base]
    return chain if name in ("x", "a", "b", "c", "e", "u", "w") or re.fullmatch(r"x\d+", name) else "b32"


def kernel(template: str, chains: int, chain: str) -> str:
    """PTX of a loop over `chains` independent chains of the template; `chain` is the type of the chain's register."""
    names: dict[str, str] = {}
    template = completed(template)
    double = "mma" in template and ".f64" in template

    def use(name: str, copy: int | None = None) -> str:
        full = f"m_{name}" if copy is None else f"m_{name}_{copy}"
        names[full] = register_of(name, chain, double)
        return f"%{full}"

    def instance(j: int, number: int) -> str:
        text = template.replace("{j}", str(j)).replace("{k}", f"{number}").replace("{off}", str(16 * (number % 4)))
        text = re.sub(
            r"\{(\w+)\}",
            lambda m: (
                use(m[1], j) if m[1] in ("x", "t", "u", "w", "p", "p2", "tl", "th", "th2", "tf", "td") else use(m[1])
            ),
            text,
        )
        return re.sub(r"%(?!m_|laneid|lanemask|smid|clock|globaltimer)(\w+)", lambda m: use(m[1]), text)

    body = [instance(j, number * chains + j) for number in range(max(1, COPIES // chains)) for j in range(chains)]
    declarations = "".join(f".reg .{t} %{n}; " for n, t in names.items())
    numbers, ends = [], []
    for name, t in names.items():
        if t == "pred":
            numbers.append(f"setp.eq.u32 %{name}, %tid1, 1;")
        elif name.startswith("m_s"):
            numbers.append(f"mov.u32 %{name}, cells; mad.lo.u32 %{name}, %tid0, 4, %{name};")
        elif name == "m_nt":
            numbers.append(f"mov.u32 %{name}, %ntid.x;")
        else:
            source = {"b16": "%h0", "b32": "%tid0", "b64": "%l0"}[t]
            numbers.append(f"mov.{t} %{name}, {source};")
            low = {
                "b16": f"cvt.u32.u16 %out, %{name};",
                "b32": f"mov.b32 %out, %{name};",
                "b64": f"cvt.u32.u64 %out, %{name};",
            }[t]
            ends.append(f"{low} xor.b32 %sum, %sum, %out;")
    return f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry bench(.param .u64 place, .param .u32 trips)
{{ .reg .u32 %n, %tid0, %tid1, %sum, %out; .reg .u64 %l0, %at; .reg .b16 %h0; .reg .pred %more; {declarations}
.shared .align 16 .b8 cells[32768];
ld.param.u32 %n, [trips]; ld.param.u64 %at, [place]; mov.u32 %tid0, %tid.x; and.b32 %tid1, %tid0, 1;
cvt.u64.u32 %l0, %tid0; cvt.u16.u32 %h0, %tid0; mov.u32 %sum, 0;
{chr(10).join(numbers)}
again:
.pragma "nounroll";
{chr(10).join(body)}
add.u32 %n, %n, -1;
setp.ne.u32 %more, %n, 0;
@%more bra again;
{chr(10).join(ends)}
st.global.u32 [%at], %sum;
ret; }}
"""


def module_of(template: str, chains: int) -> Kernel | None:
    """The loop as a module, with the chain's register as wide as the template wants it; None where none fits."""
    from ptxsim import Module
    from ptxsim.diagnostic import PtxError

    for chain in ("b32", "b64", "b16"):
        try:
            found = Module.from_text(kernel(template, chains, chain)).kernel()
            found.program()
            return found
        except PtxError:
            continue
    return None


def predicted(found: Kernel, chains: int, warps: int, engine: str | None) -> float:
    """Cycles of the SM per template and warp."""
    import numpy as np

    cycles = []
    for trips in TRIPS:
        run = found.launch(
            1,
            32 * warps,
            [np.zeros(64, np.uint32), trips],
            profile=True,
            checks="none",
            on_error="report",
            engine=engine,
        )
        if any(f.level == "error" for f in run.findings):
            raise ValueError(run.findings[0].message)
        assert run.cycles is not None
        cycles.append(run.cycles.cycles)
    return (cycles[1] - cycles[0]) / (TRIPS[1] - TRIPS[0]) / (max(1, COPIES // chains) * chains)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return [
            r
            for r in csv.DictReader(file, delimiter="\t")
            if r["group"] in GROUPS and not any(n in r["note"] for n in NOT_COSTS)
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--select", default="", help="only rows whose name contains this")
    parser.add_argument("--engine", choices=("compiled", "interpreter"))
    parser.add_argument("--limit", type=float, default=0.05)
    options = parser.parse_args()
    results: dict[str, list[tuple[float, str]]] = {"latency": [], "throughput": []}
    left_out = 0
    for row in rows(options.table):
        if options.select not in row["op"]:
            continue
        latency = row["variant"] == "dep"
        warps = 1 if latency else 16
        real = float(row["cyc_W1"] if latency else row["sm_cycles_per_template_peak"] or 0)
        chains = int(row["chains"])
        try:
            found = module_of(row["ptx_template"], chains) if real else None
            if found is None:
                raise ValueError("the template does not stand alone")
            got = predicted(found, chains, warps, options.engine) / warps
        except Exception as error:
            left_out += 1
            print(f"left out: {row['op']} {row['variant']}: {str(error)[:80]}", file=sys.stderr)
            continue
        kind = "latency" if latency else "throughput"
        results[kind].append(
            (
                abs(got / real - 1),
                f"{row['op']:44} {kind:10} measured {real:8.2f}  predicted {got:8.2f}  {got / real - 1:+.0%}",
            )
        )
    worst = 0.0
    for kind, found_rows in results.items():
        for _, line in sorted(found_rows, reverse=True):
            print(line)
        if found_rows:
            median = statistics.median(error for error, _ in found_rows)
            within = sum(error <= 0.05 for error, _ in found_rows)
            worst = max(worst, median)
            print(f"{kind}: median error {median:.1%}, {within} of {len(found_rows)} within 5 %\n")
    print(f"{left_out} rows left out")
    return int(worst > options.limit)


if __name__ == "__main__":
    sys.exit(main())

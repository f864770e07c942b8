"""Memory counters of whole kernels: shared wavefronts and conflicts, global requests and sectors, per launch.

The profiler counts machine instructions, `run.banks` those of the PTX. What else passes through the pipe of shared
memory is added by rules, from numbers of the run: one wavefront for each warp that reads %tid.x, .y or .z, for each shfl a
warp executes, for each barrier a CTA passes, for each access all of whose lanes are predicated off; four for each
transpose of a wmma operand; what wgmma reads (and nothing for cp.async.cg, which bypasses the pipe). What the assembler
makes of a kernel beyond that is in data/counters.tsv. A count is

    equal        as the profiler counts it
    explained    with those terms, within 0.3 % (it reads its counters in several passes). Where CTAs share an SM, their
                 barriers can meet in one wavefront: up to a tenth of them may be missing there (no recorded launch with
                 a CTA per SM misses one, those with more miss 1 to 8 %)
    open         neither: the launch fails, and what is left is printed

Open today, with what was tried:

    mma_swz, mma_conflict    1.5 to 2 conflicts for each 128-bit store, in no address pattern. igemm_mma makes the same
                             accesses in the same order and has none, with rows of global memory half as far apart and
                             16 instead of 20 KB of shared memory
    bulk_copy_scale          the same kind of conflicts, and 7386 wavefronts beside fences and waits for mbarriers
    wgmma_cpasync, tri_attn  about 50 wavefronts a warp beside cp.async: LDS of no lane, LDGDEPBAR, MEMBAR; no sum of them
                             fits both
    bfs_frontier             a race: within 1.5 % of what lanes in step give (tools/bench/counters.py)
"""

from __future__ import annotations

import csv
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suites.common import Options, Tally, spread
from suites.timing import argument, buffer, read

DATA = Path(__file__).parents[1] / "data" / "counters.tsv"
TOLERANCE = 0.003
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
GLOBAL = "l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
SHORT = 8  # instructions of a block that is predicated instead of branched around
WARPGROUP = 4  # warps
SMS = 132


@dataclass
class Term:
    """So much of a metric comes from `what`."""

    what: str
    count: int


def run(options: Options, tally: Tally) -> bool:
    launches = json.loads((options.folder / "kernels.json").read_text())
    chosen = [launch for launch in launches if launch["counters"] and options.selects("kernels.json", launch["id"])]
    counts = {"equal": 0, "explained": 0, "open": 0}
    work = [(str(options.folder), launch, options.engine) for launch in chosen]
    for launch, (lines, states, seconds) in zip(chosen, spread(one, work, options.jobs, chunk=1)):
        verdict = "open" if "open" in states else "explained" if "explained" in states else "equal"
        for state in states:
            counts[state] += 1
        tally.notes.append(f"{launch['id']:24} {verdict:10} {seconds:6.1f} s")
        tally.notes += [f"    {line}" for line in lines]
        if verdict == "open":
            tally.failures.append(f"{launch['id']}: {'; '.join(x for x in lines if ' open' in x)}")
        else:
            tally.passed += 1
    tally.notes.append(", ".join(f"{count} counters {state}" for state, count in counts.items()))
    return not tally.failures and tally.passed > 0


def one(work) -> tuple[list[str], list[str], float]:
    """A line for each counter that is not equal, the state of each, and the seconds it took."""
    folder, launch, engine = work
    start = time.perf_counter()
    try:
        ours, passed = count(Path(folder), launch, engine)
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]} open"], ["open"], time.perf_counter() - start
    lines, states = [], []
    wanted = recorded(launch)
    for metric, theirs in wanted.items():
        terms = terms_of(metric, launch, passed)
        shared_sm = metric == "wavefronts" and np.prod(launch["grid"]) > SMS
        state, line = judge(metric, ours[metric], theirs, terms, len(passed.phases) // 10 if shared_sm else 0)
        states.append(state)
        if state != "equal":
            lines.append(line)
    return lines, states, time.perf_counter() - start


def judge(metric: str, ours: int, theirs: int, terms: list[Term], meeting: int = 0) -> tuple[str, str]:
    """The state of a counter, and how it comes about. `meeting`: so many of it may be missing."""
    total = ours + sum(term.count for term in terms)
    text = f"{metric}: {ours}" + "".join(f" {term.count:+d} {term.what}" for term in terms)
    if not any(term.count for term in terms) and ours == theirs:
        return "equal", text
    if -max(meeting, TOLERANCE * theirs) <= theirs - total <= TOLERANCE * theirs:
        rest = f" ({theirs - total:+d})" if total != theirs else ""
        return "explained", f"{text} = {total}, recorded {theirs}{rest}"
    return "open", f"{text} = {total}, recorded {theirs}: {theirs - total:+d} open"


def count(folder: Path, launch: dict, engine: str | None):
    """Our counts under short names, and what else passed through the pipe."""
    from ptxsim.session.launch import Launch, shape

    module = read(folder / "kernels" / f"{launch['kernel']}.ptx")
    kernel = module.kernel(launch["entry"])
    memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}

    class Watched(Launch):
        """A launch with one more observer."""

        def _checkers(self, prepared: bool) -> list:
            self.passed = passed_of(self.program)
            return [self.passed]

    launched = Watched(
        kernel, shape(launch["grid"]), shape(launch["block"]), (1, 1, 1), module.target,
        [argument(value, memory) for value in launch["args"]], launch["dsmem"],
        engine=engine, numerics="target", seed=0, jobs=1, checks="none", banks=True, profile=False,
        max_steps=None, progress=None,
    )  # fmt: skip
    banks = launched.execute("report").banks
    copies = (row for row in banks.rows if row.instruction.startswith("cp.async.cg"))
    launched.passed.copied = sum(row.wavefronts for row in copies)
    return short_counts(banks), launched.passed


def short_counts(table) -> dict[str, int]:
    """Our counts under short names."""
    found = {"wavefronts": table.wavefronts, "conflicts": sum(row.conflicts for row in table.rows)}
    for op in ("ld", "st"):
        found[f"{op} requests"] = sum(row.requests for row in table.global_rows if row.kind == op)
        found[f"{op} sectors"] = sum(row.sectors for row in table.global_rows if row.kind == op)
    return found


def recorded(launch: dict) -> dict[str, int]:
    """The profiler's counts under the same names."""
    given = launch["counters"]
    found = {"wavefronts": given[SHARED], "conflicts": given[CONFLICTS]}
    for op in ("ld", "st"):
        for what in ("requests", "sectors"):
            found[f"{op} {what}"] = given[GLOBAL.format(what=what, op=op)]
    return {name: round(value) for name, value in found.items()}


def passed_of(program):
    """An observer of what a run does besides accesses."""
    from ptxsim.machine.event import Event, Observer, Space

    class Passed(Observer):
        events = None

        def __init__(self):
            self.program = program
            self.entered = np.zeros(len(program.ops) + 1, np.int64)  # by the first instruction of a block
            self.accessed = np.zeros(len(program.ops) + 1, np.int64)  # shared accesses with a lane, by site
            self.copied = 0  # wavefronts of cp.async.cg if it were a store
            self.phases: set[tuple[int, int, int]] = set()

        def consume(self, records: np.ndarray) -> None:
            event = records["event"]
            np.add.at(self.entered, records["site"][event == Event.EXECUTE], 1)
            shared = (records["space"] == Space.SHARED) & (event <= Event.STMATRIX)
            np.add.at(self.accessed, records["site"][shared], 1)
            arrived = records[event == Event.ARRIVE]
            self.phases.update(
                zip(arrived["cta"].tolist(), arrived["addresses"][:, 0].tolist(), arrived["addresses"][:, 1].tolist())
            )

        def findings(self, program) -> list:
            return []

        def executed(self, wanted) -> float:
            """How often warps executed instructions of which `wanted` says so."""
            return sum(int(self.entered[block[0].site]) * sum(map(wanted, block)) for block in program.blocks if block)

    return Passed()


def terms_of(metric: str, launch: dict, passed) -> list[Term]:
    """What the rules and the table add to a metric."""
    ctas = int(np.prod(launch["grid"]))
    warps = ctas * -(-int(np.prod(launch["block"])) // 32)
    units = {"warp": warps, "cta": ctas, "later barrier": len(passed.phases) - 2 * ctas, "launch": 1}
    terms = [
        Term(row["mechanism"], round(float(row["count"]) * units[row["per"]]))
        for row in table()
        if row["kernel"] == launch["kernel"] and row["metric"] == metric
    ]
    if metric != "wavefronts":
        return terms
    operands = " ".join(str(op.bound.statement.operands) for op in passed.program.ops)
    axes = sum(f"%tid.{axis}" in operands for axis in "xyz")
    rules = [
        Term("reads of %tid", axes * warps),
        Term("shfl", passed.executed(lambda op: op.opcode.startswith("shfl"))),
        Term("barriers of CTAs", len(passed.phases)),
        Term("predicated off", off(passed)),
        Term("wgmma reads", wgmma(passed)),
        Term("cp.async.cg", -passed.copied),
        Term(
            "transposes of wmma",
            4 * passed.executed(lambda op: op.opcode.startswith("wmma.load.b") and ".row" in op.opcode),
        ),
    ]
    return [term for term in rules + terms if term.count]


def table() -> list[dict[str, str]]:
    """Rows of data/counters.tsv."""
    with DATA.open() as file:
        return list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))


def wgmma(passed) -> int:
    """Reads of operands in shared memory: 64 rows of A and N of B, 32 bytes of each; once per warpgroup."""

    def lines(op) -> float:
        found = re.match(r"wgmma\.mma_async\..*\.m64n(\d+)k", op.opcode)
        if not found:
            return 0
        in_registers = isinstance(op.bound.statement.operands[1], ast.Vector)
        return (int(found[1]) + (0 if in_registers else 64)) * 32 / 128 / WARPGROUP

    from ptxsim.syntax import ast

    return round(passed.executed(lines))


def off(passed) -> int:
    """Shared accesses that a warp came to with all its lanes predicated off.

    By a guard, or by a branch around a short block: the assembler makes guards of it.
    """
    blocks, found = passed.program.blocks, 0
    for number, block in enumerate(blocks):
        if not block:
            continue
        before = blocks[number - 1] if number else None
        around = before and before[-1].control == "bra" and before[-1].guard and before[-1].targets == (number + 1,)
        short = around and len(block) <= SHORT and not any(op.aligned for op in block)
        for op in block:
            if op.opcode.split(".")[0] in ("ld", "st") and "shared" in op.opcode and (short or op.guard):
                came = passed.entered[(before if short else block)[0].site]
                found += int(came - passed.accessed[op.site])
    return found

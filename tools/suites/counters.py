"""Memory counters of whole kernels: shared wavefronts and conflicts, global requests and sectors, per launch.

The profiler counts machine instructions, `run.banks` those of the PTX. Each counter is

    equal        as the profiler counts it
    explained    with the terms below, within 0.3 % (it reads its counters in several passes)
    split        with what the profiler itself calls no access, or arbitration, on an H200 (data/pipe_counters.tsv, which
                 gives what several runs of every launch showed)
    open         neither: the launch fails, and what is left is printed

`ld`, `st`, `atom` and `gmma` are wavefronts as the profiler counts them per instruction (sass__* counters): address patterns
and nothing else. `wavefronts` and `conflicts` are recorded from the pipe of shared memory, through which more passes.
Rules for that, measured one by one (tools/data/tables.md), from numbers of the run: one wavefront for each warp that
reads %tid.x, .y or .z; for each shfl; for each barrier a CTA comes to with accesses to memory before it; for each access
all of whose lanes are predicated off; half a one for mbarrier.init; two for fence.proxy.async, four for each transpose of a
wmma operand. Warps that come to a fence or barrier at the same time can share its wavefronts: where CTAs share an SM, up to
a tenth of the barriers may be missing, and an eighth of the fences anywhere. What the assembler makes of a kernel beyond that
is in data/counters.tsv.

Conflicts that are no address pattern: stores to shared memory wait for lines that loads bring into L1. The profiler counts
them with the bank conflicts, and by themselves as data_bank_conflicts_type_arbitration; they are gone when the loads bypass
L1 or have all come before the stores (data/arbitration.tsv), and differ from run to run.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind, Control, Mechanism, Proxy, Role, Scope, Synchronisation
from ptxsim.machine.event import FLAG_ASYNC_PROXY, Event, Observer, Space
from ptxsim.session.run import BankTable
from suites.common import Options, Record, Tally, spread
from suites.timing import argument, buffer, read

DATA = Path(__file__).parents[1] / "data"
TOLERANCE = 0.003
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
GLOBAL = "l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
SHORT = 8  # instructions of a block that is predicated instead of branched around
SMS = 132
OPERATIONS = {
    "ld": "ld", "ldmatrix": "ld", "st": "st", "stmatrix": "st", "atom": "atom", "red": "atom", "cas": "atom", "count": "atom",
    "wgmma": "gmma",
}  # fmt: skip
PATTERNS = ("ld", "st", "atom", "gmma")

INITIALISES = Synchronisation(Mechanism.MBARRIER, Role.INIT)


@dataclass
class Range:
    """What several runs showed."""

    low: int
    high: int

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


@dataclass
class Term:
    """So much of a metric comes from `what`."""

    what: str
    count: int


def run(options: Options, tally: Tally) -> bool:
    launches = json.loads((options.folder / "kernels.json").read_text())
    chosen = [launch for launch in launches if launch["counters"] and options.selects("kernels.json", launch["id"])]
    counts = {"equal": 0, "explained": 0, "split": 0, "open": 0}
    work = [(str(options.folder), launch, options.engine) for launch in chosen]
    for launch, (lines, states, seconds) in zip(chosen, spread(one, work, options.jobs, chunk=1)):
        verdict = max(states, key=list(counts).index)
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


def one(work: tuple[str, Record, str | None]) -> tuple[list[str], list[str], float]:
    """A line for each counter that is not equal, the state of each, and the seconds it took."""
    folder, launch, engine = work
    start = time.perf_counter()
    try:
        ours, passed = count(Path(folder), launch, engine)
        shown = measured(launch["id"])
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]} open"], ["open"], time.perf_counter() - start
    lines, states = [], []
    for metric, theirs in (recorded(launch) | {name: shown[name].middle for name in PATTERNS}).items():
        terms, missing = terms_of(metric, launch, passed)
        state, line = judge(metric, ours[metric], theirs, terms, missing)
        if state == "open" and metric in shown and metric not in PATTERNS:
            state, line = judge_split(metric, ours, theirs, terms_of(metric, launch, passed, rules=False)[0], shown)
        states.append(state)
        if state != "equal":
            lines.append(line)
    return lines, states, time.perf_counter() - start


def judge(metric: str, ours: int, theirs: int, terms: list[Term], missing: int = 0, near: float = 0) -> tuple[str, str]:
    """The state of a counter, and how it comes about. missing: so many wavefronts may be shared; near: how far it varies."""
    total = ours + sum(term.count for term in terms)
    text = f"{metric}: {ours}" + "".join(f" {term.count:+d} {term.what}" for term in terms)
    if not any(term.count for term in terms) and ours == theirs:
        return "equal", text
    if -max(missing, near, TOLERANCE * theirs) <= theirs - total <= max(near, TOLERANCE * theirs):
        rest = f" ({theirs - total:+d})" if total != theirs else ""
        return "explained", f"{text} = {total}, recorded {theirs}{rest}"
    return "open", f"{text} = {total}, recorded {theirs}: {theirs - total:+d} open"


def judge_split(
    metric: str, ours: dict[str, int], theirs: int, terms: list[Term], shown: dict[str, Range]
) -> tuple[str, str]:
    """As `judge`, with what the profiler shows of other runs beside the accesses."""
    total = shown[metric].middle
    if metric == "wavefronts":
        accesses = sum(shown[name].middle for name in PATTERNS)
        waiting = Term("stores that wait for L1", shown["pipe_st"].middle - shown["st"].middle)
        beside = Term("no access (op_misc)", shown["misc"].middle)
        copied = ours["wavefronts"] - sum(ours[name] for name in PATTERNS)
        together = total - accesses - copied - waiting.count - beside.count
        terms = [*terms, waiting, beside, Term("shown once where two go together", together)]
    elif metric == "conflicts":
        terms = [*terms, Term("no address pattern: stores wait for L1", total - ours[metric])]
    else:
        terms = [*terms, Term("a race", total - ours[metric] - sum(term.count for term in terms))]
    terms = [term for term in terms if term.count]
    state, text = judge(metric, ours[metric], theirs, terms, near=shown[metric].high - shown[metric].low)
    return ("split" if state == "explained" else state), f"{text}; {shown[metric]} in other runs"


def count(folder: Path, launch: Record, engine: str | None) -> tuple[dict[str, int], Passed]:
    """Our counts under short names, and what else passed through the pipe."""
    from ptxsim.session.execution import execute
    from ptxsim.session.options import LaunchOptions

    module = read(folder / "kernels" / f"{launch['kernel']}.ptx")
    kernel = module.kernel(launch["entry"])
    memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}

    options = LaunchOptions(
        grid=launch["grid"],
        block=launch["block"],
        shared_mem=launch["dsmem"],
        engine=engine,
        jobs=1,
        checks="none",
        banks=True,
    )
    prepared = kernel.prepare([argument(value, memory) for value in launch["args"]], options)
    passed = Passed(prepared.program)
    return short_counts(execute(prepared, observers=[passed]).banks), passed


def short_counts(table: BankTable) -> dict[str, int]:
    """Our counts under short names."""
    found = {"wavefronts": table.wavefronts, "conflicts": sum(row.conflicts for row in table.rows)}
    for operation in PATTERNS:
        found[operation] = sum(row.wavefronts for row in table.rows if OPERATIONS.get(row.kind) == operation)
    for op in ("ld", "st"):
        found[f"{op} requests"] = sum(row.requests for row in table.global_rows if row.kind == op)
        found[f"{op} sectors"] = sum(row.sectors for row in table.global_rows if row.kind == op)
    return found


def recorded(launch: Record) -> dict[str, int]:
    """The profiler's counts under the same names."""
    given = launch["counters"]
    found = {"wavefronts": given[SHARED], "conflicts": given[CONFLICTS]}
    for op in ("ld", "st"):
        for what in ("requests", "sectors"):
            found[f"{op} {what}"] = given[GLOBAL.format(what=what, op=op)]
    return {name: round(value) for name, value in found.items()}


class Passed(Observer):
    """Observes what a run does besides accesses."""

    events = None

    def __init__(self, program: Program):
        self.program = program
        self.entered = np.zeros(len(program.ops) + 1, np.int64)  # by the first instruction of a block
        self.accessed = np.zeros(len(program.ops) + 1, np.int64)  # shared accesses with a lane, by site
        self.arrived: dict[int, int] = {}  # barriers a warp has come to
        self.barriers: set[tuple[int, int]] = set()  # CTA and number of those with accesses before them

    def consume(self, records: np.ndarray) -> None:
        event = records["event"]
        np.add.at(self.entered, records["site"][event == Event.EXECUTE], 1)
        shared = (records["space"] == Space.SHARED) & (event <= Event.STMATRIX)
        np.add.at(self.accessed, records["site"][shared], 1)
        self._follow(records, event)

    def _follow(self, records: np.ndarray, event: np.ndarray) -> None:
        """Which barriers of a CTA, counted per warp, have accesses to memory before them."""
        arrives = event == Event.ARRIVE
        reaches = (event <= Event.STMATRIX) | (
            (event == Event.ASYNC_ISSUE) & (records["flags"] & FLAG_ASYNC_PROXY == 0)
        )
        kept = arrives | reaches
        warps = (records["cta"][kept].astype(np.int64) << 8) | records["warp"][kept]
        order = np.argsort(warps, kind="stable")
        warps, arrives, reaches = warps[order], arrives[kept][order], reaches[kept][order]
        for first, last in pairwise([0, *np.flatnonzero(np.diff(warps)) + 1, len(warps)]):
            if first < last:
                warp = int(warps[first])
                number = self.arrived.get(warp, 0) + np.cumsum(arrives[first:last])
                self.arrived[warp] = int(number[-1])
                self.barriers.update((warp >> 8, n) for n in set(number[reaches[first:last]].tolist()))

    def shown(self) -> int:
        """Barriers with accesses before them."""
        passed: dict[int, int] = {}
        for warp, count in self.arrived.items():
            passed[warp >> 8] = max(passed.get(warp >> 8, 0), count)
        return sum(number < passed.get(cta, 0) for cta, number in self.barriers)

    def findings(self, program: Program) -> list[Finding]:
        return []

    def executed(self, wanted: Callable[[Op], bool]) -> int:
        """How often warps executed instructions of which `wanted` says so."""
        return sum(int(self.entered[block[0].site]) * sum(map(wanted, block)) for block in self.program.blocks if block)


def is_async_fence(op: Op) -> bool:
    return op.fence is not None and op.fence.proxy is Proxy.ASYNC


def is_transposed(op: Op) -> bool:
    """Whether an operation loads B for wmma from rows."""
    return op.family == "wmma_load" and (op.words["operand"], op.words["layout"]) == ("B", "row")


def is_shared(op: Op) -> bool:
    """Whether an operation is a load or a store of shared memory by threads."""
    is_threads = op.facts.by_lanes and op.facts.scope is Scope.LANE and op.completes_by is not Mechanism.CP_ASYNC_GROUP
    return is_threads and any(a.space == "shared" and a.kind is not AccessKind.ATOMIC for a in op.accesses)


def terms_of(metric: str, launch: Record, passed: Passed, rules: bool = True) -> tuple[list[Term], int]:
    """What the rules and the table add to a metric, and how much of it may be shared."""
    ctas = int(np.prod(launch["grid"]))
    warps = ctas * -(-int(np.prod(launch["block"])) // 32)
    units = {"warp": warps, "cta": ctas, "launch": 1}
    parts = (metric, *PATTERNS) if metric == "wavefronts" else (metric,)
    terms = [
        Term(row["mechanism"], round(float(row["count"]) * units[row["per"]]))
        for row in table("counters.tsv")
        if row["kernel"] == launch["kernel"] and row["metric"] in parts and (rules or row["metric"] in PATTERNS)
    ]
    if metric != "wavefronts" or not rules:
        return terms, 0
    operands = " ".join(str(op.bound.statement.operands) for op in passed.program.ops)
    axes = sum(f"%tid.{axis}" in operands for axis in "xyz")

    barriers, fences = passed.shown(), 2 * passed.executed(is_async_fence)
    found = [
        Term("reads of %tid", axes * warps),
        Term("shfl", passed.executed(lambda op: op.family == "shuffle")),
        Term("barriers after accesses", barriers),
        Term("fence.proxy.async", fences),
        Term("mbarrier.init", round(passed.executed(lambda op: op.synchronises == INITIALISES) / 2)),
        Term("predicated off", off(passed)),
        Term("transposes of wmma", 4 * passed.executed(is_transposed)),
    ]
    missing = fences // 8 + (barriers // 10 if ctas > SMS else 0)
    return [term for term in found + terms if term.count], missing


def table(name: str) -> list[dict[str, str]]:
    """Rows of a table in tools/data."""
    with (DATA / name).open() as file:
        return list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))


def measured(launch: str) -> dict[str, Range]:
    """What other runs of a launch showed: accesses, by metric of ours, and the pipe."""
    row = next((row for row in table("pipe_counters.tsv") if row["launch"] == launch), None)
    if row is None:
        raise LookupError(f"tools/data/pipe_counters.tsv has no launch {launch}: what it counts besides is not known")
    names = {"code_ld": "ld", "code_st": "st", "code_atom": "atom", "ld": "pipe_ld", "st": "pipe_st", "atom": "pipe_atom",
             "st_requests": "st requests", "st_sectors": "st sectors"}  # fmt: skip
    found = {}
    for name, text in row.items():
        if name != "launch" and text:
            low, _, high = text.partition("..")
            found[names.get(name, name)] = Range(int(low), int(high or low))
    return found


def off(passed: Passed) -> int:
    """Shared accesses that a warp came to with all its lanes predicated off.

    By a guard, or by a branch around a short block: the assembler makes guards of it.
    """
    blocks, found = passed.program.blocks, 0
    for number, block in enumerate(blocks):
        if not block:
            continue
        before = blocks[number - 1] if number else []
        around = (
            before and before[-1].control is Control.BRANCH and before[-1].guard and before[-1].targets == (number + 1,)
        )
        short = around and len(block) <= SHORT and not any(op.aligned for op in block)
        for op in block:
            if is_shared(op) and (short or op.guard):
                came = passed.entered[(before if short else block)[0].site]
                found += int(came - passed.accessed[op.site])
    return found

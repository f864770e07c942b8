"""Through what threads may mean to hand data over, where nothing orders them: the strong accesses after the write and before the read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ptxsim.checks.order.findings.remedies import writes
from ptxsim.closure import closure
from ptxsim.engine.analysis.control_flow import block_of, control_flow
from ptxsim.engine.analysis.def_use import DefUse, def_use, slots_of
from ptxsim.engine.program.operand import Address
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Mechanism, Role

# What a flag that lacks an order asks for, by whether it lies in global memory.
_FENCES = {
    True: "fence.acq_rel.gpu; in CUDA __threadfence()",
    False: "fence.acq_rel.cta; in CUDA __threadfence_block()",
}
_RELEASES, _ACQUIRES = ("release", "acq_rel"), ("acquire", "acq_rel")


@dataclass(frozen=True, slots=True)
class Flag:
    """Accesses that may be to a flag: after the write, and before the read; and whether these release and acquire."""

    after: Op
    before: Op
    releases: bool
    acquires: bool

    @property
    def lacks_something(self) -> bool:
        return not (self.releases and self.acquires)


def flag_between(program: Program, one: Op, two: Op, *, in_global: bool = True) -> Flag | None:
    """The flag between two accesses, of two CTAs to global memory or of two warps to shared memory, of which one reads, if the text has one
    there."""
    writer, reader = (one, two) if writes(one, True) else (two, one)
    if writes(reader, True):
        return None
    told = list(_strong(program.ops[writer.site + 1 :], in_global, writes=True))
    asked = list(_strong(program.ops[: reader.site][::-1], in_global, writes=False))
    if not told or not asked:
        return None
    bases, none = _bases(program), set[int]()
    of_one = ((w, r) for r in asked for w in told if bases.get(w.site, none) & bases.get(r.site, none))
    after, before = next(of_one, (told[0], asked[0]))  # the nearest of one array, such as the head of a list
    if reader.site in (after.site, before.site):
        return None
    releases = _order(after) in _RELEASES or _has_fence(program, writer, after)
    acquires = _order(before) in _ACQUIRES or _has_fence(program, before, reader)
    return Flag(after, before, releases, acquires)


def lack_of_flag(program: Program, one: Op, two: Op, *, in_global: bool = True) -> str:
    """What the flag between two accesses lacks, as a clause that follows a remedy; empty where the text has none, or it lacks nothing."""
    narrow = [op for op in (one, two) if any(each.order != "weak" and each.scope == "cta" for each in op.accesses)]
    if in_global and narrow and is_of_flag(one) and is_of_flag(two):
        return f": the scope of {' and '.join(f'{op.opcode} at line {op.line}' for op in narrow)} ends with the CTA"
    flag = flag_between(program, one, two, in_global=in_global)
    if flag is None or (not in_global and not flag.lacks_something):
        return ""
    after, before, lacks = flag.after, flag.before, list[str]()
    if not flag.lacks_something:
        for first, last in barriers_that_lack(program, one, two):
            names = (
                f"{op.opcode} of line {op.line}" if op in (after, before) else f"line {op.line}" for op in (first, last)
            )
            lacks.append(f"bar.sync between {' and '.join(names)}")
        return f": if the flag is that of line {after.line}, it lacks {', and '.join(lacks)}" if lacks else ""
    if not flag.releases:
        lacks.append(f"a release at {after.opcode} of line {after.line} or a fence before it")
    if not flag.acquires:
        lacks.append(f"an acquire at {before.opcode} of line {before.line} or a fence after it")
    return f": if the flag is that of line {after.line}, it lacks {', and '.join(lacks)} ({_FENCES[in_global]})"


def barriers_that_lack(program: Program, one: Op, two: Op) -> list[tuple[Op, Op]]:
    """Between which operations threads of a CTA should meet, where a flag between two accesses lacks nothing else."""
    flag = flag_between(program, one, two)
    if flag is None or flag.lacks_something:
        return []
    writer, reader = (one, two) if writes(one, True) else (two, one)
    found = []
    if _is_apart(program, writer, flag.after, flag.after):
        found.append((writer, flag.after))
    if _is_apart(program, flag.before, reader, flag.before):
        found.append((flag.before, reader))
    return found


def _is_apart(program: Program, first: Op, last: Op, flag: Op) -> bool:
    """Whether one of two operations, `flag`, may be another thread's: a way or a guard leads past it, and no thread waits for others between."""
    between = program.ops[first.site + 1 : last.site]
    if any(op.synchronises is not None and op.synchronises.role in (Role.SYNC, Role.WAIT) for op in between):
        return False
    graph, block = control_flow(program), block_of(program)
    always = graph.postdominators[block[first.site]] if flag is last else graph.dominators[block[last.site]]
    return block[flag.site] not in always or first.guard != last.guard


def is_of_flag(op: Op) -> bool:
    """Whether an operation accesses global memory as threads do that tell each other something."""
    return any(access.order != "weak" and access.space != "shared" for access in op.accesses)


def _strong(ops: Sequence[Op], in_global: bool, writes: bool) -> Iterator[Op]:
    """Those of some that access global or shared memory with an order and may be a flag's: a store or an atomic, or anything that reads."""
    other = "shared" if in_global else "global"
    for op in ops:
        if any(a.order != "weak" and a.space != other and (a.writes if writes else a.reads) for a in op.accesses):
            yield op


@fact
def _bases(program: Program) -> dict[int, set[int]]:
    """The bytes of the kernel's parameters that the address of each strong access comes from by arithmetic, by site."""
    flow = def_use(program)
    strong = [op for op in program.ops if op.site in flow.reads and any(a.order != "weak" for a in op.accesses)]
    return {op.site: _parameters_of(flow, op) for op in strong}


def _parameters_of(flow: DefUse, op: Op) -> set[int]:
    ops = flow.program.ops
    bases = [
        flow.value(op, n) for n, source in enumerate(op.sources) if isinstance(source, Address) and slots_of([source])
    ]
    slots = closure(
        bases, lambda slot: [r for site in flow.definers[slot] if not ops[site].accesses for r in flow.reads[site]]
    )
    loads = [ops[site] for slot in slots for site in flow.definers[slot]]
    loads = [each for each in loads if any(access.space == "param" for access in each.accesses)]
    return {source.offset for each in loads for source in each.sources if isinstance(source, Address)}


def _order(op: Op) -> str:
    return next((access.order for access in op.accesses if access.order != "weak"), "weak")


def _has_fence(program: Program, first: Op, last: Op) -> bool:
    between = program.ops[first.site + 1 : last.site]
    return any(op.synchronises is not None and op.synchronises.mechanism is Mechanism.FENCE for op in between)

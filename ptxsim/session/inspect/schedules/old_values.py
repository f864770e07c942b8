"""Runs in which strong accesses to global memory are seen late, as far as nothing orders them: a load takes an older value, or of two stores
the first one lands last. What was written before a flag may not be there yet for a thread that has seen the flag, where the flag hands
nothing on (schedules.known_writes)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import changing
from ptxsim.engine.analysis.reordering import joins_ctas
from ptxsim.engine.held import Held
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Proxy
from ptxsim.machine.cta import Warp
from ptxsim.machine.records import RUNS
from ptxsim.machine.state import Machine
from ptxsim.session.inspect.schedules.known_writes import Knowledge, only_access
from ptxsim.session.inspect.schedules.schedule import Schedule

MOST_BYTES = 1 << 20  # of global memory that is copied for this


@fact
def late_sites(program: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Blocks with strong loads of global memory, and sites of strong stores. None where threads know of each other by other means than global
    memory.

    Blocks that are loops are left out: a thread that looks again and again gets no old value for long.
    """
    if len(program.functions) > 1 or any(_is_other(op) for op in program.ops):
        return (), ()
    successors = control_flow(program).successors
    loads = tuple(
        number for number, block in enumerate(program.blocks)
        if any(_is(op, AccessKind.READ) for op in block) and not any(_is(op, AccessKind.ATOMIC) for op in block)
        and (number not in successors[number] or _goes_elsewhere(block))
    )  # fmt: skip
    return loads, tuple(op.site for op in program.ops if _is(op, AccessKind.WRITE))


def _goes_elsewhere(loop: list[Op]) -> bool:
    """Whether a strong load of a block that is a loop by itself has another address in each turn: it follows what it finds, and does not look again."""
    change = changing(loop)
    return any(op.site in change and _is(op, AccessKind.READ) for op in loop)


def _is_other(op: Op) -> bool:
    return joins_ctas(op) or any(
        access.proxy is not Proxy.GENERIC and access.space != "shared" for access in op.accesses
    )


def _is(op: Op, kind: AccessKind) -> bool:
    access = only_access(op)
    return access is not None and access.kind is kind and access.order != "weak" and access.space != "shared"


@dataclass(slots=True)
class Late(Held):
    """No warp stands still, and turns are of one block.

    A load of a block takes the oldest values that it may, once in each warp, or each time where that is `often`; or a store of a site lands
    before the one that it follows, of which it does not know; or all is as it is.
    """

    knowledge: Knowledge | None = None
    store: int = -1
    often: bool = False
    are_over: set[tuple[int, int]] = field(default_factory=set)  # warps that have had their old values
    who: tuple[int, int] = -1, -1  # the warp whose turn it was

    @property
    def met(self) -> tuple[int, ...]:
        """The instruction that got an old value, or came first, and the one that came too late for it; none where nothing came late, or that may not be."""
        know = self.knowledge
        return know.met or () if know is not None and know.is_legal else ()

    @property
    def is_awaited(self) -> bool:
        return True

    def let_go(self) -> bool:
        return False

    def holds(self, warp: Warp, machine: Machine) -> bool:
        know = self.knowledge
        if know is None:
            return False
        if know.memory is None:
            if machine.memory.allocated > MOST_BYTES:
                return False
            know.memory, know.before = machine.memory, machine.memory.copy()
        know.look(machine)
        if know.restore():
            self.are_over.add(self.who)
        if self.store >= 0:
            self._put_under(know)
        know.touched.clear()
        if self.store < 0 and any(split.block == self.block and split.wait == RUNS for split in warp.splits):
            self._hide(know, warp)
        return False

    def _hide(self, know: Knowledge, warp: Warp) -> None:
        who = warp.cta.linear, warp.index
        if who in self.are_over and not self.often:
            return
        for place, writes in know.writes.items():
            count = know.oldest(who[0], place)
            is_late = count < len(writes) and know.old_value(place, count) != know.value(place)
            if is_late and know.stands_alone(place):
                know.hide(place, count)
        self.who = who

    def _put_under(self, know: Knowledge) -> None:
        for site, cta, place, count in know.touched if know.met is None else ():
            writes = know.writes.get(place, [])
            if site != self.store or len(writes) < 2 or [each[2] for each in know.touched].count(place) > 1:
                continue
            first, last = writes[-2:]
            if not _is(know.program.ops[first.site], AccessKind.WRITE):
                continue  # what an atomic makes of what it finds, and whether it writes at all, would be otherwise
            is_known = (
                first.cta == cta or know.known.get(cta, {}).get(first.cta, -1) >= first.time or count >= len(writes) - 1
            )
            if not is_known and first.value != last.value and know.stands_alone(place):
                know.swap(place, cta)
                know.met = site, first.site


def late_runs(program: Program, early: Set[int], from_last: bool) -> Iterator[Late]:
    """The runs that may show something. early: accesses that might come before what they have met, as one without has found; from_last: CTAs come in from
    the last one on."""
    all_blocks, stores = late_sites(program)
    blocks = [each for each in all_blocks if any(op.site in early for op in program.blocks[each])]
    for block in blocks:
        yield Late(block, from_last, 0, knowledge=Knowledge(program))
    for store in stores:
        if store in early:
            yield Late(-1, from_last, 0, knowledge=Knowledge(program), store=store)
    for block in blocks:
        yield Late(block, from_last, 0, knowledge=Knowledge(program), often=True)


@dataclass(slots=True)
class SeenLate(Schedule):
    """What others have written is seen late on it."""

    def is_so(self, again: Callable[[Schedule], object]) -> bool:
        return bool(self._late.met)

    def says(self, program: Program) -> str:
        one, other = (program.ops[site] for site in self._late.met)
        if self._late.store >= 0:
            return (
                f"where {other.opcode} of line {other.line} comes after {one.opcode} of line {one.line} to the same place: nothing keeps the two in order, and the "
                f"last one stays"
            )
        return (
            f"where {one.opcode} of line {one.line} gets what was there before {other.opcode} of line {other.line}: nothing keeps the two in order, whatever flag "
            f"its thread has seen"
        )

    def counts(self, finding: Finding) -> bool:
        # Nothing is old for ever: who asks until it is not gets on.
        return not (self._late.often and finding.name == "deadlock")

    def told(self, program: Program, finding: Finding) -> Finding:
        return with_order(program, self._late, finding)

    @property
    def _late(self) -> Late:
        assert isinstance(self.held, Late)
        return self.held


def with_order(program: Program, late: Late, finding: Finding) -> Finding:
    """A finding of such a run, with what keeps the two in order."""
    one, other = (program.ops[site] for site in late.met)
    known = (finding.line, *(label.line for label in finding.labels))
    labels = [
        Label.at(op, text) for op, text in ((other, "this comes late"), (one, "for this")) if op.line not in known
    ]
    return replace(
        finding, labels=(*finding.labels, *labels), fixes=(),
        help=f"what tells who executes line {one.line} of line {other.line} hands nothing on: let it be written with .release and read with .acquire, or with "
        "fence.acq_rel.gpu before and after it (in CUDA __threadfence())",
    )  # fmt: skip

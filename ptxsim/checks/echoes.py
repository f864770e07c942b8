"""One cause, one finding: findings with the same cause become notes of one of them.

Findings have one cause where one remedy serves all of them: a wait for the same copy, a barrier at one place, a fence after the same
stores, a flag that hands both on. What the run has come to because of it (a hang, bytes left over) is a note of it, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ptxsim.checks.covered import RACES, WAITS, without_covered, written_lines
from ptxsim.checks.findings.causes import stretch_of
from ptxsim.checks.order.findings.flags import barriers_that_lack, flag_between, is_of_flag
from ptxsim.checks.order.findings.remedies import writes
from ptxsim.checks.order.findings.rounds import next_round
from ptxsim.checks.order.sites import SCOPE, site_bits
from ptxsim.closure import closure
from ptxsim.diagnostic import BESIDE, LEFT_OVER, MIXED_SIZES, NOT_BEGUN, NOT_OVER, SURPLUS, Finding, lines_of
from ptxsim.engine.analysis.control_flow import block_of, control_flow
from ptxsim.engine.analysis.def_use import def_use, slots_of
from ptxsim.engine.analysis.short_waits import short_wait
from ptxsim.engine.program.operand import Address
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.source import Source

_OF_COPIES = (
    *RACES, *WAITS, "race-global", "tile-overwritten", "cluster-exit", "tensor-memory-order", "register-in-flight",
)  # fmt: skip
_OF_ORDER = (*_OF_COPIES, "missing-proxy-fence", "mbarrier-visibility")
_OF_LAYOUTS = ("swizzle-mismatch", "swizzle-start", "descriptor-overlap", "descriptor-past-tile", "fragment-order")
_OF_STEPS = (*_OF_LAYOUTS, "missing-wgmma-fence")  # which are found again at each step of an unrolled loop
_END = Synchronisation(Mechanism.MBARRIER, Role.END)
# What copies that are not waited for may lead to.
_OUTCOMES = {"mbarrier-phase": "bytes", "deadlock": "stuck"}
MOST_TOLD = 3  # findings of one kind that have the cause of another one, and are told in full
# Which finding of a cause stands for it: the first kind here; then the first in the text.
_RANKS = (
    "member-mask", "missing-commit", *WAITS, "register-in-flight", "tensor-memory-order", "race-shared", "mbarrier-visibility", "race-warp", "race-global",
    "tile-overwritten", "uninitialized-read", "missing-proxy-fence", "cluster-exit", "mbarrier-phase", "barrier-count", "mbarrier-init",
    "deadlock", "out-of-bounds", "cancel-after-failure", *_OF_STEPS,
)  # fmt: skip


def without_echoes(program: Program, source: Source, findings: list[Finding], has_stopped: bool) -> list[Finding]:
    """The findings without those whose cause another one names; these become notes of that one.

    has_stopped: the launch has ended early, so that what CTAs have left is no mistake of their ends.
    """
    if has_stopped:
        findings = [each for each in findings if each.name not in WAITS or each.case != LEFT_OVER]
    findings = without_covered(program, source, findings)
    judged = [n for n, finding in enumerate(findings) if finding.level != "note" and finding.name in _RANKS]
    if len(judged) < 2:
        return findings
    causes = _Causes(program, source, [findings[n] for n in judged])
    gone: set[int] = set()
    for group in causes.groups():
        first, *others = (judged[each] for each in group)
        is_error = any(findings[each].level == "error" for each in (first, *others))
        told = _with_notes(findings[first], [findings[n] for n in others], source)
        findings[first] = replace(told, level="error" if is_error else told.level)
        gone.update(others)
    return [finding for n, finding in enumerate(findings) if n not in gone]


@dataclass(slots=True)
class _Causes:
    """Errors about order, and what may be their causes."""

    program: Program
    source: Source
    findings: Sequence[Finding]

    def groups(self) -> list[list[int]]:
        """The numbers of findings that have one cause, several in each group; the one that stands for it comes first."""
        places = [_ops(self.program, finding) for finding in self.findings]
        by_cause: dict[Hashable, int] = {}
        root = list(range(len(self.findings)))

        def find(n: int) -> int:
            while root[n] != n:
                n = root[n]
            return n

        for n, (finding, ops) in enumerate(zip(self.findings, places)):
            for cause in self._causes(finding, ops):
                root[find(n)] = find(by_cause.setdefault(cause, n))
        pairs = (
            self._at_one_barrier,
            self._by_flags,
            self._of_raced_addresses,
            self._of_early_reads,
            self._of_wrong_counts,
        )
        for one, two in (pair for each in pairs for pair in each(places)):
            root[find(two)] = find(one)
        groups: dict[int, list[int]] = {}
        for n in range(len(root)):
            groups.setdefault(find(n), []).append(n)
        return [sorted(group, key=lambda n: self._rank(n, places[n])) for group in groups.values() if len(group) > 1]

    def _causes(self, finding: Finding, ops: Sequence[Op]) -> Iterator[Hashable]:
        name, names = finding.name, {each.name for each in self.findings}
        if name in _OF_ORDER:
            yield name, written_lines(finding, self.source)
        copies = [op for op in ops if op.completes_by is not None and op.accesses]
        if name in _OF_COPIES and copies:
            for op in copies:
                yield "copy", self._line(op)
                if "missing-commit" in names:
                    yield "commit", op.completes_by
            if name in (*RACES, *WAITS):
                yield "access", self._line(ops[0])
            if name in WAITS:
                yield from (("wait", wait) for op in copies for wait in self._waits_of(op))
            by_threads = self._waits_at_mbarriers and any(op.completes_by is Mechanism.CP_ASYNC_GROUP for op in copies)
            if by_threads or any(op.completes_by is Mechanism.MBARRIER for op in copies):
                yield from (_OUTCOMES[each] for each in names & _OUTCOMES.keys())
        if name == "missing-wgmma-fence":
            yield name, self._line(ops[0])
        if name in _OF_LAYOUTS:  # steps of a loop over k that is unrolled
            yield name, stretch_of(self.program)[ops[0].site] if ops else None
        if name == "uninitialized-read":  # what was to bring it has not been waited for
            yield "access", self._line(ops[0])
            if self._waits_at_mbarriers:
                yield from (_OUTCOMES[each] for each in names & _OUTCOMES.keys())
        if "cancel-after-failure" in names and name in ("cancel-after-failure", *WAITS, "uninitialized-read"):
            yield "cancel-after-failure", None  # what is looked at before the answer is there
        if name in ("mbarrier-init", "uninitialized-read") and ops:  # what a copy completes on, and what it adds to
            yield "unready", self._line(ops[0])
        if name == "mbarrier-init" or (name in RACES and any(op.synchronises == _END for op in ops)):
            yield "ended", None
        if finding.case == MIXED_SIZES:
            yield name, finding.case
        if name == "cluster-exit":  # the barrier of the cluster at the begin, or at the end
            yield name, finding.case
        if name in ("cluster-exit", "race-shared"):
            yield from (("far", self._line(op)) for op in ops)
        if name in ("missing-proxy-fence", "tensor-memory-order"):
            yield from ((name, self._line(op)) for op in ops)
        if name == "tensor-memory-order" or (
            name == "cluster-exit" and "tensor-memory-order" in names
        ):  # who does not wait for others comes too early for those that wait for it
            yield "tensor-memory-order", None
        if name == "out-of-bounds" and ops:  # columns that another warp has given back too early
            yield "tensor-memory-order", self._line(ops[0])
        if name == "race-warp":  # lanes of one store that put different values into one place are among them
            yield from (("place", self._line(op)) for op in ops)
        if name == "mbarrier-visibility" or finding.case == NOT_BEGUN:  # the barrier at the begin serves both
            yield NOT_BEGUN, None
        if name == "mbarrier-visibility":
            yield "begun", block_of(self.program)[ops[-1].site]
        if name == "missing-commit":
            yield "commit", ops[0].synchronises and ops[0].synchronises.mechanism
        if name == "mbarrier-phase" and finding.case in (LEFT_OVER, SURPLUS):
            yield _OUTCOMES["mbarrier-phase"]
        if name == "race-global":  # what a store does not hand on, it hands on to nobody
            yield from ((name, self._statement(op)) for op in ops if not is_of_flag(op))
            if len(ops) == 2 and all(map(is_of_flag, ops)):  # one of the scopes is too narrow
                yield name, self._statement(min(ops, key=lambda op: site_bits(self.program)[op.site] >> SCOPE & 3))
        is_late = name in RACES and self._waits_at_mbarriers  # who has gone on too early is not there for others
        if "deadlock" in names and (is_late or name == "race-global"):
            yield _OUTCOMES["deadlock"]
        if name in ("deadlock", "barrier-count", "mbarrier-init") or (name in RACES and "barrier-count" in names):
            yield _OUTCOMES["deadlock"]
        if name in RACES and len(ops) == 2 and not copies:
            loop = next_round(self.program, *sorted(ops, key=lambda op: op.line))
            yield from [("round", loop)] if loop else []

    @property
    def _waits_at_mbarriers(self) -> bool:
        return any(op.synchronises == Synchronisation(Mechanism.MBARRIER, Role.WAIT) for op in self.program.ops)

    def _waits_of(self, copy: Op) -> list[Hashable]:
        """What is wrong with the waits for a copy's group, where there are none, or one that lets groups go on."""
        if copy.completes_by not in (Mechanism.CP_ASYNC_GROUP, Mechanism.BULK_GROUP):
            return []
        wait = Synchronisation(copy.completes_by, Role.WAIT)
        if not any(op.synchronises == wait for op in self.program.ops) and not self._waits_at_mbarriers:
            return [copy.completes_by]
        short = short_wait(self.program, copy)
        return [self._line(short[0])] if short else []

    def _line(self, op: Op) -> Hashable:
        """The line of an operation as its author has written it."""
        return self.source.origin(op.line) or op.line

    def _statement(self, op: Op) -> Hashable:
        """The same without where the function that it stands in was inlined."""
        origin = self.source.origin(op.line)
        return op.line if origin is None else (origin.file, origin.line)

    def _rank(self, n: int, ops: Sequence[Op]) -> tuple[object, ...]:
        """Of a finding among those of its cause: an access that comes too early says more than a copy that overwrites."""
        finding = self.findings[n]
        is_of_flag_itself = finding.name == "race-global" and any(map(is_of_flag, ops))
        is_overwriting, is_asynchronous = bool(ops) and writes(ops[0]), bool(ops) and ops[0].completes_by is not None
        return (
            finding.level != "error" and finding.name not in ("mbarrier-init", "member-mask"),
            finding.case not in (SURPLUS, NOT_OVER, BESIDE),
            not is_of_flag_itself,
            _RANKS.index(finding.name),
            is_overwriting,
            is_asynchronous,
            finding.line,
        )

    def _at_one_barrier(self, places: Sequence[Sequence[Op]]) -> Iterator[tuple[int, int]]:
        """Pairs of findings that one barrier would correct: each is between two places of the text, and these stretches overlap."""
        spans = []
        for n, (finding, ops) in enumerate(zip(self.findings, places)):
            if finding.name in (*RACES, "mbarrier-visibility") and len(ops) == 2 and ops[0] is not ops[1]:
                first, last = sorted(ops, key=lambda op: op.site)
                if finding.name not in RACES or not next_round(self.program, first, last):
                    spans.append((last.site, first.site, n))
            elif finding.name == "race-global" and len(ops) == 2:
                for first, last in barriers_that_lack(self.program, *ops)[:1]:
                    spans.append((last.site, first.site, n))
        spans.sort()
        while spans:
            end, _, one = spans[0]
            together = [n for _, start, n in spans if start < end]
            yield from ((one, n) for n in together)
            spans = [span for span in spans if span[1] >= end]

    def _by_flags(self, places: Sequence[Sequence[Op]]) -> Iterator[tuple[int, int]]:
        """Pairs of races in global memory: a flag, or what stands for one, and what it hands on; two things that one flag hands on."""
        races = [(n, ops) for n, ops in enumerate(places) if self.findings[n].name == "race-global" and len(ops) == 2]
        flags = [(n, ops) for n, ops in races if any(map(is_of_flag, ops))]
        by_flag: dict[Hashable, int] = {}
        for n, ops in races:
            if any(map(is_of_flag, ops)):
                continue
            for one, (flag, other) in ((one, two) for one, two in flags):
                if _hands_on(self.program, flag, other, *ops) or _hands_on(self.program, other, flag, *ops):
                    yield one, n
            found = flag_between(self.program, *ops)
            if found is not None:
                yield (
                    by_flag.setdefault(
                        (self._statement(found.after), self._statement(found.before), found.releases, found.acquires), n
                    ),
                    n,
                )

    def _of_raced_addresses(self, places: Sequence[Sequence[Op]]) -> Iterator[tuple[int, int]]:
        """Pairs of a load that races, or a shuffle of lanes that are not there, and an access at an address that comes from what it has
        read: to global memory, or of several lanes to one place."""
        globals = [n for n, finding in enumerate(self.findings) if finding.name in ("race-global", "race-warp")]
        if not globals:
            return
        for one, ops in enumerate(places):
            if self.findings[one].name not in (*RACES, *WAITS, "member-mask"):
                continue
            after = _addressed_by(self.program, [op for op in ops if op.completes_by is None])
            yield from ((one, n) for n in globals if n != one and all(op.site in after for op in places[n]))

    def _of_early_reads(self, places: Sequence[Sequence[Op]]) -> Iterator[tuple[int, int]]:
        """Pairs of a race with a read, and what that reads where nothing has been written yet."""
        races = [n for n, finding in enumerate(self.findings) if finding.name in RACES]
        for one, finding in enumerate(self.findings):
            if finding.name == "uninitialized-read":
                lines = {self._line(op) for op in places[one]}
                yield from [(n, one) for n in races if lines & {self._line(op) for op in places[n]}][:1]

    def _of_wrong_counts(self, places: Sequence[Sequence[Op]]) -> Iterator[tuple[int, int]]:
        """Pairs of the race that says most, and arrivals that are left over at an mbarrier: it is initialised with too few."""
        races = [n for n, finding in enumerate(self.findings) if finding.name in RACES]
        if races and self._waits_at_mbarriers:
            first = min(races, key=lambda n: self._rank(n, places[n]))
            yield from ((first, n) for n, each in enumerate(self.findings) if _is_left_over(each))


def _is_left_over(finding: Finding) -> bool:
    return finding.name == "mbarrier-phase" and finding.case == LEFT_OVER


def _hands_on(program: Program, flag: Op, look: Op, one: Op, two: Op) -> bool:
    """Whether ways lead from one of two accesses to where a flag is written, and from where it is looked at to the other."""
    both = ((one, two), (two, one))
    return any(_leads_to(program, before, flag) and _leads_to(program, look, after) for before, after in both)


def _leads_to(program: Program, start: Op, goal: Op) -> bool:
    block, successors = block_of(program), control_flow(program).successors
    if block[start.site] == block[goal.site] and start.site < goal.site:
        return True
    return block[goal.site] in closure(successors[block[start.site]], successors.__getitem__)


def _addressed_by(program: Program, loads: Iterable[Op]) -> set[int]:
    """The sites of operations whose addresses come from what some loads have read."""
    flow, found = def_use(program), set[int]()
    for slot in flow.made_of([slot for op in loads for slot in flow.writes.get(op.site, ())], lambda op: True):
        for site in flow.readers[slot]:
            op = program.ops[site]
            names = slots_of([each for each in op.sources if isinstance(each, Address)])
            if names and slot in flow.reads[site][: len(slots_of(op.sources))]:
                found.add(site)
    return found


def _ops(program: Program, finding: Finding) -> list[Op]:
    """The operations that a finding is about; its own comes first."""
    at = _by_place(program)
    places = ((finding.line, finding.column), *((label.line, label.column) for label in finding.labels))
    return [at[place] for place in places if place in at]


@fact
def _by_place(program: Program) -> dict[tuple[int, int], Op]:
    """Operations by line and column; where only the line is known, one of it that completes asynchronously, if there is one."""
    by_line = {(op.line, 1): op for op in sorted(program.ops, key=lambda op: op.completes_by is not None)}
    return by_line | {(op.line, op.column): op for op in program.ops}


def _with_notes(finding: Finding, others: Sequence[Finding], source: Source) -> Finding:
    """A finding that tells of others that have its cause: of those in other copies of its lines, where they are."""

    def written(each: Finding) -> tuple[object, ...]:
        if each.name in _OF_STEPS:  # those of the other operand are told
            return each.name, each is finding or each.line != finding.line
        return each.name, source.origin(each.line) or each.line, written_lines(each, source)

    alike = [each for each in others if written(each) == written(finding)]
    notes = list(finding.notes)
    if alike:
        lines = sorted({each.line for each in alike} - {finding.line})
        notes += [f"the same at {lines_of(lines)}"] if lines else []
    rest = [each for each in others if each not in alike]
    for name, these in groupby(sorted(rest, key=lambda each: each.name), key=lambda each: each.name):
        told = list(these)
        is_long = name in _OF_ORDER and len(told) > MOST_TOLD
        for each in told[: 1 if is_long else None]:
            notes += _told(each, notes)
        if is_long:
            notes.append(f"{name} at {lines_of(sorted({each.line for each in told[1:]}))} of the same cause")
    return replace(finding, notes=tuple(notes), count=finding.count + sum(each.count for each in alike))


def _told(each: Finding, known: Sequence[str]) -> Iterator[str]:
    """What a finding that has another one's cause is told as there."""
    beside = ", ".join(f"line {label.line}: {label.text}" for label in each.labels)
    yield f"{each.name} at line {each.line} comes of it, too: {each.message}" + (f" ({beside})" if beside else "")
    if _is_left_over(each) and each.help:
        yield each.help
    if each.name in _OUTCOMES:
        yield from (note for note in each.notes if note not in known)

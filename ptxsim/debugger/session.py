"""What a person does in a debugger, whatever it looks like: breakpoints, steps, ways back, findings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import PurePath

from ptxsim.debugger.execution import Execution, Stop, number_of
from ptxsim.debugger.expression import Expression, ExpressionError
from ptxsim.debugger.state import holds
from ptxsim.diagnostic import Finding
from ptxsim.machine.cta import Warp
from ptxsim.session.ptxfile.file import Options, launches, run_file
from ptxsim.source import Source


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A line of PTX with an instruction, and when it counts. `place` is what it is called: the author's line, where that was meant."""

    line: int
    condition: Expression | None = None
    place: str = ""


@dataclass
class Session:
    """A file being debugged. `focus` is the warp that steps are about, `lane` the lane that is looked at; `why` says why it stopped."""

    source: Source
    entry: str | None = None
    options: Options = field(default_factory=Options)
    breakpoints: dict[int, Breakpoint] = field(default_factory=dict)
    lane: int = 0
    why: str = ""

    def __post_init__(self) -> None:
        self.execution = Execution(launches(self.source, self.entry, self.options))
        program = self.execution.program
        self.lines = sorted({op.line for op in program.ops})
        self._block = {op.site: number for number, block in enumerate(program.blocks) for op in block}
        self._focus: int | None = None  # the number of a warp
        self._findings: list[Finding] | None = None
        self.execution.advance(at=1)
        self._arrive("entry")

    # ---- where it stands ----

    @property
    def here(self) -> Stop | None:
        return self.execution.here

    @property
    def focus(self) -> Warp | None:
        """The warp that is looked at: the chosen one, or the one that executes next."""
        for cluster in self.execution.clusters:
            for cta in cluster.ctas:
                for warp in cta.warps:
                    if number_of(warp) == self._focus:
                        return warp
        return self.here.warp if self.here is not None else None

    def choose(self, cta: int, warp: int) -> bool:
        """Look at another warp; whether there is one that has begun."""
        wanted = cta << 6 | warp
        for cluster in self.execution.clusters:
            if any(number_of(one) == wanted for each in cluster.ctas for one in each.warps):
                self._focus = wanted
                return True
        return False

    def _arrive(self, why: str) -> None:
        here = self.here
        self.why = why
        if here is None:
            self.why = "end"
        else:
            self._focus = number_of(here.warp)
            if not here.mask[self.lane]:
                self.lane = int(here.mask.argmax())

    # ---- forwards ----

    def step(self) -> None:
        """To the next instruction of the warp."""
        self._forward(lambda stop: number_of(stop.warp) == self._focus, "step")

    def block(self) -> None:
        """To the next block of the warp: past a branch, a label or a barrier."""
        here = self.here
        start = None if here is None else self._block[here.op.site]
        first = {block[0].site for block in self.execution.program.blocks if block}

        def is_other(stop: Stop) -> bool:
            site = stop.op.site
            return number_of(stop.warp) == self._focus and (self._block[site] != start or site in first)

        self._forward(is_other, "step")

    def written_line(self) -> None:
        """To the next line of CUDA or Python of the warp; where nothing is known of these, to the next instruction."""
        origin = self.source.origin(self.here.op.line) if self.here is not None else None

        def is_other(stop: Stop) -> bool:
            there = self.source.origin(stop.op.line)
            return number_of(stop.warp) == self._focus and (origin is None or (there is not None and there != origin))

        self._forward(is_other, "step")

    def advance(self, place: str) -> None:
        """To a place as `lines_of` takes it, whatever warp comes there first. Raises ExpressionError."""
        lines = self.lines_of(place)[0]
        self._forward(lambda stop: stop.op.line in lines, "line")

    def go(self) -> None:
        """To a breakpoint, a new finding, or the end."""
        self._forward(self._is_wanted, "breakpoint")

    def _is_wanted(self, stop: Stop) -> bool:
        found = self.breakpoints.get(stop.op.line)
        if found is None:
            return False
        try:
            lane = holds(self.execution, stop, found.condition)
        except ExpressionError:  # it has no value here
            return False
        if lane is not None and found.condition is not None:
            self.lane = lane
        return lane is not None

    def _forward(self, wanted: object, why: str) -> None:
        """Run until `wanted`; stop before the instruction that causes a finding."""
        execution = self.execution
        assert callable(wanted)
        known, start = len(execution.findings), execution.position

        def until(stop: Stop) -> bool:
            machine = execution.machine
            return bool(wanted(stop)) or (machine is not None and len(machine.findings) > known)

        execution.advance(until)
        if len(execution.findings) > known:
            # What comes next has not begun: the one before it did it. At the end that is the last that began.
            culprit = execution.position - (0 if execution.here is None else 1)
            if culprit > start:
                self.finding = execution.findings[-1]
                execution.go_to(culprit)
                return self._arrive("finding")
        self._arrive("pause" if execution.interrupted else why)

    finding: Finding | None = None

    # ---- backwards ----

    def go_to(self, position: int) -> None:
        self.execution.go_to(position)
        self._arrive("step")

    def step_back(self) -> None:
        """To the instruction before, of the same warp."""
        position = self.execution.back(lambda warp, site: warp == self._focus)
        self.go_to(position or 1)

    def go_back(self) -> None:
        """To the latest earlier place where a breakpoint holds, or the beginning."""
        execution = self.execution
        sites = {op.site for op in execution.program.ops if op.line in self.breakpoints}
        if any(found.condition is not None for found in self.breakpoints.values()):
            end, latest = execution.position if self.here is not None else execution.position + 1, 0

            def note(stop: Stop) -> bool:
                nonlocal latest
                if stop.op.site in sites and self._is_wanted(stop):
                    latest = stop.position
                return stop.position >= end - 1

            execution.go_to(1)
            if self.here is not None and not note(self.here):
                execution.advance(note)
        else:
            latest = execution.back(lambda warp, site: site in sites)
        execution.go_to(latest or 1)
        self._arrive("breakpoint" if latest else "entry")

    # ---- findings ----

    @property
    def findings(self) -> list[Finding]:
        """What a whole run with all checks finds, races and asynchronous work included; it runs when this is first asked."""
        if self._findings is None:
            result = run_file(self.source, self.entry, self.options)
            self._findings = [*result.findings, *result.expected]
        return self._findings

    def go_to_finding(self, finding: Finding) -> bool:
        """Run to where its thread first comes to its line; whether it does."""
        self.execution.go_to(1)
        x, y, _ = self.execution.launch.grid

        def is_there(stop: Stop) -> bool:
            cta = finding.cta
            linear = None if cta is None else cta[0] + x * (cta[1] + y * cta[2])
            return (
                stop.op.line == finding.line
                and (linear is None or stop.warp.cta.linear == linear)
                and (finding.warp is None or stop.warp.index == finding.warp)
                and (finding.lane is None or bool(stop.mask[finding.lane]))
            )

        if self.here is None or not is_there(self.here):
            self.execution.advance(is_there)
        self.finding = finding
        self._arrive("finding")
        if finding.lane is not None and self.here is not None:
            self.lane = finding.lane
        return self.here is not None

    # ---- breakpoints ----

    def lines_of(self, place: str) -> tuple[list[int], str]:
        """Lines of PTX that begin what a place means, and its name. Raises ExpressionError.

        `LINE` is one of the file as its author wrote it, `FILE:LINE` one of CUDA or Python, `ptx:LINE` one of the PTX. A line without
        an instruction means the next one that has one; where none follows it is refused.
        """
        file, _, number = place.strip().rpartition(":")
        if not number.isdigit():
            raise ExpressionError(f"{place.strip()!r} is no line: LINE, FILE:LINE or ptx:LINE")
        line = int(number)
        if file == "ptx" or (not file and self.source.made_from is None):
            found = _next_of(self.lines, line, "the kernel")
            return [found], f"ptx:{found}" if file else str(found)
        name = PurePath(file or self.source.written.name).name
        begun: dict[
            int, list[int]
        ] = {}  # by lines of the file: lines of PTX that the line before does not share them with
        last = None
        for own in self.lines:
            origin = self.source.origin(own)
            here = origin.line if origin is not None and PurePath(origin.file).name == name else None
            if here is not None and here != last:
                begun.setdefault(here, []).append(own)
            last = here
        if not begun:
            raise ExpressionError(f"no instruction is known to come from {name}")
        line = _next_of(begun, line, name)
        return begun[line], f"{name}:{line}" if file else str(line)

    def set_breakpoint(self, place: str, condition: str = "") -> str:
        """Stop at a place as `lines_of` takes it; what it is called. Raises ExpressionError."""
        read = Expression(condition) if condition else None
        if read is not None and self.here is not None:
            holds(self.execution, self.here, read)  # an unknown name is said now
        lines, name = self.lines_of(place)
        self.breakpoints |= {line: Breakpoint(line, read, name) for line in lines}
        return name

    def delete_breakpoint(self, place: str) -> None:
        """Do not stop at a place any more. Raises ExpressionError."""
        for line in self.lines_of(place)[0]:
            self.breakpoints.pop(line, None)

    def close(self) -> None:
        self.execution.close()


def _next_of(lines: Collection[int], line: int, where: str) -> int:
    """The first of the lines that does not stand before one. Raises ExpressionError."""
    found = min((known for known in lines if known >= line), default=None)
    if found is None:
        raise ExpressionError(f"line {line} stands after the last instruction of {where}, at line {max(lines)}")
    return found

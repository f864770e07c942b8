"""`ptxsim debug`: the debugger in a terminal, one command a line."""

from __future__ import annotations

import cmd
import functools
import math
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ptxsim.debugger import state
from ptxsim.debugger.execution import number_of
from ptxsim.debugger.expression import Expression, ExpressionError
from ptxsim.debugger.session import Session
from ptxsim.diagnostic import one_line
from ptxsim.lanes import LANES
from ptxsim.report.operands import lanes_text
from ptxsim.report.origins import told, written_at
from ptxsim.report.progress import Progress
from ptxsim.report.style import Paint, plain, printable

AROUND = 4  # lines shown before and after


def said(command: Callable[[Terminal, str], None]) -> Callable[[Terminal, str], None]:
    """What is wrong with a command is a sentence."""

    @functools.wraps(command)
    def run(self: Terminal, argument: str) -> None:
        try:
            command(self, argument.strip())
        except ExpressionError as problem:
            self.say(str(problem))

    return run


class Terminal(cmd.Cmd):
    """Commands of the debugger. An empty line repeats the last one."""

    prompt = "(ptxsim) "
    doc_header = "Commands (help NAME says more; the first letters of a name do):"

    def __init__(
        self, session: Session, paint: Paint = plain, stdin: IO[str] | None = None, stdout: IO[str] | None = None
    ):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.session, self.paint = session, paint
        self.watches: list[Expression] = []

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")

    def preloop(self) -> None:
        self.say(f"{self.session.execution.program.name}: stopped before its first instruction; `help` lists commands")
        self.where()

    def onecmd(self, line: str) -> bool:
        """Take the first letters of a command for it."""
        word, _, rest = line.strip().partition(" ")
        names = [name[3:] for name in self.get_names() if name.startswith("do_")]
        if word and word not in names and word != "EOF":
            aliases = {
                "s": "step",
                "n": "step",
                "c": "continue",
                "b": "break",
                "p": "print",
                "q": "quit",
                "l": "list",
                "r": "registers",
            }
            fitting = [name for name in names if name.startswith(word)]
            full = aliases.get(word) or (fitting[0] if len(fitting) == 1 else None)
            if full:
                line = f"{full} {rest}"
        return bool(super().onecmd(line))

    def default(self, line: str) -> None:
        word = line.split()[0]
        fitting = [name[3:] for name in self.get_names() if name.startswith(f"do_{word}")]
        self.say(f"{word}: {', '.join(fitting)}?" if fitting else f"no command {word}; `help` lists them")

    # ---- where it stands ----

    def where(self) -> None:
        """The line it stands at, and watches."""
        session = self.session
        here = session.here
        if here is None:
            self.say("the launch has ended; `back` and `goto` go to earlier instructions")
            for finding in session.execution.findings:
                self.say(one_line(told(finding)))
            return
        if session.why == "finding" and session.finding is not None:
            self.say(self.paint("error", "stopped before what causes: ") + one_line(told(session.finding)))
        facts = state.summary(here, session.lane)
        where = f"CTA {','.join(map(str, facts['cta']))} warp {facts['warp']} lane {facts['lane']}"
        self.say(f"{where}, {facts['lanes']} lanes, instruction {facts['position']}")
        if (written := written_at(session.source, here.op.line)) is not None:
            self.say(f"   {written}")
        self._lines(here.op.line, here.op.line)
        for watch in self.watches:
            self._show(watch)

    def _lines(self, first: int, last: int) -> None:
        session = self.session
        here = session.here.op.line if session.here is not None else 0
        for number in range(max(1, first), min(last, len(session.source.lines)) + 1):
            mark = "->" if number == here else " *" if number in session.breakpoints else "  "
            text = f"{mark} {number:>4} | {printable(session.source.line(number))}"
            self.say(self.paint("strong", text) if number == here else text)

    def _times(self, argument: str) -> int:
        if argument and not argument.isdigit():
            raise ExpressionError(f"{argument!r} is no count")
        return int(argument or 1)

    def _moved(self, move: Callable[[], object], times: int = 1) -> None:
        with self._progress(lambda: f"instruction {self.session.execution.position}"):
            for _ in range(times):
                move()
                if self.session.why in ("end", "finding", "pause"):
                    break
        self.where()

    def _progress(self, doing: str | Callable[[], str]) -> Progress:
        return Progress(sys.stderr if self.stdout is sys.stdout else self.stdout, doing=doing)

    # ---- commands ----

    @said
    def do_step(self, argument: str) -> None:
        """step [N]: to the next instruction of this warp."""
        self._moved(self.session.step, self._times(argument))

    @said
    def do_block(self, argument: str) -> None:
        """block [N]: to the next block of this warp, past a branch or a barrier."""
        self._moved(self.session.block, self._times(argument))

    @said
    def do_back(self, argument: str) -> None:
        """back [N]: to the instruction before, of this warp."""
        session, times = self.session, self._times(argument)
        focus = session.focus
        if times == 1 or focus is None:
            return self._moved(session.step_back)
        wanted, position = number_of(focus), session.execution.position
        found = [p for p in range(1, position) if session.execution.trace[p - 1] >> 32 == wanted]
        self._moved(lambda: session.go_to(found[-times] if times <= len(found) else 1))

    @said
    def do_continue(self, argument: str) -> None:
        """continue: to a breakpoint, a finding, or the end."""
        self._moved(self.session.go)

    @said
    def do_reverse(self, argument: str) -> None:
        """reverse: back to the latest place where a breakpoint holds."""
        self._moved(self.session.go_back)

    @said
    def do_goto(self, argument: str) -> None:
        """goto N: to the instruction of that number, earlier or later."""
        self._moved(lambda: self.session.go_to(self._times(argument)))

    @said
    def do_line(self, argument: str) -> None:
        """line [N]: to the next line of CUDA or Python of this warp."""
        self._moved(self.session.written_line, self._times(argument))

    @said
    def do_until(self, argument: str) -> None:
        """until PLACE: to a line (of the .cu file, or PTX; FILE:LINE, ptx:LINE), whatever warp comes there first."""
        self.session.lines_of(argument)
        self._moved(lambda: self.session.advance(argument))

    @said
    def do_break(self, argument: str) -> None:
        """break PLACE [if CONDITION]: stop at a line, as for until; break 57 if lane == 3 && %r5 > 10."""
        place, _, condition = argument.partition(" if ")
        if not place.strip():
            known = {
                b.place: f" if {b.condition.text}" if b.condition else "" for b in self.session.breakpoints.values()
            }
            listed = ", ".join(map("".join, known.items()))
            return self.say(f"break PLACE [if CONDITION]; there are: {listed or 'none'}")
        found = self.session.set_breakpoint(place, condition.strip())
        self.say(f"stops at line {found}{f' if {condition.strip()}' if condition else ''}")

    @said
    def do_delete(self, argument: str) -> None:
        """delete [PLACE]: take a breakpoint away, or all."""
        if argument:
            self.session.delete_breakpoint(argument)
        else:
            self.session.breakpoints.clear()

    @said
    def do_findings(self, argument: str) -> None:
        """findings [N]: what a run with all checks finds; with a number go to where its thread comes to its line."""
        with self._progress("running with all checks"):
            found = self.session.findings
        if not argument:
            lines = [f"{number} {one_line(told(finding))}" for number, finding in enumerate(found, 1)]
            return self.say("\n".join(lines) or "no findings")
        number = self._times(argument)
        if not 1 <= number <= len(found):
            return self.say(f"there are {len(found)} findings")
        self._moved(lambda: self.session.go_to_finding(found[number - 1]))
        if self.session.here is None:
            self.say("no thread comes to its line")

    @said
    def do_list(self, argument: str) -> None:
        """list [LINE]: the text around a line."""
        here = self.session.here
        line = self._times(argument) if argument else here.op.line if here else 1
        self._lines(line - AROUND, line + AROUND)

    @said
    def do_warps(self, argument: str) -> None:
        """warps: where every warp is, and what it waits for."""
        self.say(state.warps_text(self.session.execution, self.session.here))

    @said
    def do_warp(self, argument: str) -> None:
        """warp [CTA] WARP: look at another warp, step it."""
        words = argument.split()
        if not words or not all(word.isdigit() for word in words) or len(words) > 2:
            return self.say("warp [CTA] WARP; `warps` lists them")
        focus = self.session.focus
        cta = int(words[0]) if len(words) == 2 else focus.cta.linear if focus else 0
        launch = self.session.execution.launch
        ctas, warps = math.prod(launch.grid), -(-math.prod(launch.block) // LANES)
        if cta >= ctas or int(words[-1]) >= warps:
            return self.say(f"there is no CTA {cta} warp {words[-1]}: CTAs are 0 to {ctas - 1}, warps 0 to {warps - 1}")
        if not self.session.choose(cta, int(words[-1])):
            return self.say(f"CTA {cta} warp {words[-1]} has not begun; `warps` lists those that have")
        self.say(f"CTA {cta} warp {words[-1]}")

    @said
    def do_lane(self, argument: str) -> None:
        """lane N: look at another lane."""
        lane = self._times(argument)
        if lane >= LANES:
            return self.say(f"lanes are 0 to {LANES - 1}")
        self.session.lane = lane

    @said
    def do_registers(self, argument: str) -> None:
        """registers [PART]: registers of the lane that is looked at, those whose names have PART."""
        warp = self.session.focus
        if warp is None:
            return self.say("nothing has begun")
        lines = []
        for name in state.slots(self.session.execution):
            if argument in name:
                value = state.register(self.session.execution, warp, name)[self.session.lane]
                lines.append(f"{name} = {_text(value)}")
        self.say(f"lane {self.session.lane}: " + "  ".join(lines))

    @said
    def do_print(self, argument: str) -> None:
        """print EXPRESSION: by lane; print %r5, print %r5:f16, print %r5 + 4 * lane."""
        self._show(Expression(argument))

    def _show(self, expression: Expression) -> None:
        session = self.session
        if session.here is None:
            return self.say("the launch has ended")
        values = state.evaluate(session.execution, session.here, expression, session.focus)
        self.say(lanes_text(expression.text, np.asarray(values), np.ones(LANES, bool)))

    @said
    def do_watch(self, argument: str) -> None:
        """watch EXPRESSION: print it at every stop; without one, forget them all."""
        if not argument:
            self.watches.clear()
            return
        self.watches.append(Expression(argument))
        self._show(self.watches[-1])

    @said
    def do_operands(self, argument: str) -> None:
        """operands [NAME]: operands of the next instruction; fragments and tiles as the matrices they are."""
        here = self.session.here
        if here is None:
            return self.say("the launch has ended")
        found = [(n, t) for n, t in state.operands(self.session.execution, here.op, here.warp) if argument in ("", n)]
        names = ", ".join(here.op.bound.operands)
        self.say("\n".join(f"{n}: {t}" for n, t in found) or f"{here.op.opcode} has the operands {names or 'none'}")

    @said
    def do_shared(self, argument: str) -> None:
        """shared [PLACE] [TYPE] [ROWSxCOLUMNS] [pitch=BYTES] [swizzle=128B]: shared memory as a matrix.

        shared tile f16 8x16 pitch=128 swizzle=128B
        """
        session = self.session
        warp = session.focus
        words = argument.split()
        options: dict[str, Any] = {}
        if not words:
            variables = session.execution.launch.shared_variables.items()
            listed = [f"{name} at {address:#x}, {size} bytes" for name, (address, size) in variables]
            return self.say("\n".join(listed) or "no variable is in shared memory")
        for word in words[1:]:
            key, _, value = word.partition("=")
            rows, cross, columns = word.partition("x")
            if key == "swizzle" and value:
                options["mode"] = value
            elif key == "pitch" and value.isdigit():
                options["pitch"] = int(value)
            elif cross and rows.isdigit() and columns.isdigit():
                options["rows"], options["columns"] = int(rows), int(columns)
            else:
                options["type"] = word
        if warp is None:
            return self.say("nothing has begun")
        self.say(state.shared_text(session.execution, warp.cta, words[0], **options))

    @said
    def do_mbarriers(self, argument: str) -> None:
        """mbarriers: phases, arrivals and bytes of mbarriers; barriers to which some have come."""
        self.say(state.barriers_text(self.session.execution))

    @said
    def do_flight(self, argument: str) -> None:
        """flight: asynchronous copies and products that no wait has covered."""
        self.say(state.flight_text(self.session.execution))

    def do_quit(self, argument: str) -> bool:
        """quit: leave."""
        return True

    def get_names(self) -> list[str]:
        """What `help` lists: not the end of the input."""
        return [name for name in super().get_names() if name != "do_EOF"]

    def do_EOF(self, argument: str) -> bool:
        self.say("")
        return True


def _text(value: Any) -> str:
    if np.ndim(value):
        return ":".join(_text(part) for part in value)
    return str(int(value)) if np.asarray(value).dtype.kind in "bui" else f"{float(value):.6g}"

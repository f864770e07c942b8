"""`ptxsim debug --screen`: the debugger as a screen, by Textual: the source, what the machine holds, commands below."""

from __future__ import annotations

import io
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, ScrollableContainer
from textual.widgets import Footer, Input, RichLog, Static

from ptxsim.debugger import state
from ptxsim.debugger.session import Session
from ptxsim.debugger.terminal import Terminal
from ptxsim.report.style import printable

MOST = 400  # lines of a panel


class Screen(App[None]):
    """What the commands of `Terminal` do, with the state in view. While the kernel runs, Escape stops it."""

    TITLE = "ptxsim debug"
    CSS = """
    #source, #state { width: 1fr; border: round $primary; }
    #top { height: 2fr; }
    #text, #panels { width: auto; text-wrap: nowrap; }
    #said { height: 1fr; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f10", "do('step')", "Step", priority=True),
        Binding("f8", "do('back')", "Back", priority=True),
        Binding("f11", "do('block')", "Block", priority=True),
        Binding("f5", "do('continue')", "Continue", priority=True),
        Binding("f6", "do('reverse')", "Reverse", priority=True),
        Binding("f9", "breakpoint", "Breakpoint", priority=True),
        Binding("escape", "pause", "Pause", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(self, session: Session):
        super().__init__()
        self.session, self.written = session, io.StringIO()
        self.terminal = Terminal(session, stdin=io.StringIO(), stdout=self.written)
        self.is_moving = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            with ScrollableContainer(id="source"):
                yield Static(id="text")
            with ScrollableContainer(id="state"):
                yield Static(id="panels")
        yield RichLog(id="said", wrap=True, max_lines=MOST)
        yield Input(
            placeholder="a command of the debugger: help, break 57 if lane == 3, watch %r5, operands, shared tile f16 8x8"
        )
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#source").border_title = printable(self.session.source.name)
        self.query_one(Input).focus()
        self.action_do("list")

    # ---- commands ----

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.input.clear()
        self.action_do(event.value)

    def action_do(self, command: str) -> None:
        """One command, away from the screen, so that it can be paused."""
        if self.is_moving:
            return
        self.is_moving = True
        self.execute(command)

    @work(thread=True)
    def execute(self, command: str) -> None:
        try:
            is_over = self.terminal.onecmd(command)
        finally:
            self.is_moving = False
        self.call_from_thread(self.exit if is_over else self.show)

    def action_pause(self) -> None:
        self.session.execution.interrupted = True

    def action_breakpoint(self) -> None:
        """Set or take away a breakpoint at the line where it stands."""
        here = self.session.here
        if here is not None:
            line = here.op.line
            self.action_do(f"{'delete' if line in self.session.breakpoints else 'break'} ptx:{line}")

    # ---- what is seen ----

    def show(self) -> None:
        """Everything as it is now."""
        said = self.written.getvalue()
        self.written.seek(0)
        self.written.truncate()
        if said:
            self.query_one(RichLog).write(Text(said.rstrip("\n")))
        session = self.session
        here = session.here.op.line if session.here is not None else 0
        listing = Text()
        for number, line in enumerate(session.source.lines, 1):
            mark = "●" if number in session.breakpoints else " "
            listing.append(
                f"{mark}{'→' if number == here else ' '}{number:>5}  {printable(line)}\n",
                "reverse" if number == here else "",
            )
        self.query_one("#text", Static).update(listing)
        if here:
            pane = self.query_one("#source", ScrollableContainer)
            pane.scroll_to(y=max(0, here - pane.size.height // 2), animate=False)
        self.query_one("#panels", Static).update(Text(self.state_text()))

    def state_text(self) -> str:
        """Warps, operands of the next instruction, barriers and work in flight, each with a title."""
        session = self.session
        here, execution = session.here, session.execution
        if here is None:
            return "the launch has ended"
        # What it reads stands first: its result is yet to come.
        shown = sorted(state.operands(execution, here.op, here.warp), key=lambda one: one[0] == "d")
        operands = "\n".join(f"{name}: {text}" for name, text in shown)
        parts = {
            "warps": state.warps_text(execution, here), f"operands of {here.op.opcode}": operands or "none",
            "barriers": state.barriers_text(execution), "in flight": state.flight_text(execution),
        }  # fmt: skip
        return "\n\n".join(f"── {title} ──\n" + "\n".join(text.split("\n")[:MOST]) for title, text in parts.items())

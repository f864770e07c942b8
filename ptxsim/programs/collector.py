"""Where the launches of a program in this process go: each is run as asked for, told of, and recorded."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ptxsim.demangle import demangle, short_name
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.programs.answers import Answers, Hosts
from ptxsim.programs.records import RUNNING, SAME_AS
from ptxsim.programs.wanted import Wanted
from ptxsim.report.progress import Progress
from ptxsim.session.module import Kernel
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run
from ptxsim.types import Target, parse_target

Again = Callable[[LaunchOptions, Callable[[], Run]], Run]
FIRST_PARTS, MOST_PARTS = 3, 24  # launches of a kernel, and of a process, that the page shows in full


class Collector:
    """Runs launches one after the other. `runs` has those that were looked at, if `keep` says so.

    What a kernel does wrong at one place is told once; later launches count it.
    """

    def __init__(self, wanted: Wanted | None = None, keep: bool = False):
        self.wanted = wanted or Wanted()
        self.target: Target | None = parse_target(self.wanted.target) if self.wanted.target else None
        self.runs: list[Run] = []
        self.keep = keep
        self.launches = 0
        self.fitting = 0  # launches of kernels whose names are wanted
        self._parts: dict[
            str, tuple[int, float]
        ] = {}  # kernels in the page: how many launches, and the most cycles of one
        # Findings, by kernel and line; of no line, by what they say.
        self._told = set[tuple[str, str, int | str]]()
        self._running: int | None = None  # a file that says which launch runs
        self.answers = Answers(self.wanted, self.say)

    @classmethod
    def from_environment(cls) -> Collector:
        """As `ptxsim exec` has asked."""
        return cls(Wanted.from_environment())

    def launch(
        self, kernel: Kernel, args: Sequence[bytes], options: LaunchOptions, hosts: Hosts | None = None,
        again: Again | None = None,
    ) -> Run:  # fmt: skip
        """Run a kernel; `options` say its shape, and what else its program needs. hosts: what of the host's memory is a copy of the
        device's. again: who may know what a launch with such options gives. Raises PtxError where it cannot start."""
        if self.launches == self.wanted.launches:
            self._end()
        number, is_wanted = self.launches, self._next_is_wanted(kernel.name)
        self.launches += 1
        answers = (
            self.answers.before(kernel, args, options.or_else(self.wanted.options), number, hosts)
            if is_wanted
            else None
        )
        doing = f"{short_name(kernel.name)}, launch {number}"
        with Progress(doing=doing) as progress, self._noted(doing):
            options = options.or_else(self.wanted.options if is_wanted else self.wanted.unwatched)
            execute = partial(kernel.run, args, replace(options, progress=progress))
            run = execute() if again is None else again(options, execute)
        if is_wanted:
            run.launch = number
            self._tell(kernel.name, run.findings)
            answered = [] if answers is None else answers()
            record = {
                "launch": number,
                "grid": run.grid,
                "block": run.block,
                "sample": run.is_sample,
                "answered": answered,
                **run.to_dict(),
            }
            self._record(record | self._part(kernel, run), run.findings)
            if self.keep:
                self.runs.append(run)
        return run

    def repeat(self, kernel: Kernel, run: Run, moved: Callable[[Hosts], Hosts]) -> None:
        """A launch gives what one has given that came here before. moved: where its storages are, of where that one's were."""
        if self.launches == self.wanted.launches:
            self._end()
        number, is_wanted = self.launches, self._next_is_wanted(kernel.name)
        self.launches += 1
        if is_wanted:
            self.answers.again(run.launch, moved)
            self._record({"launch": number, SAME_AS: run.launch}, ())
            if self.keep:
                self.runs.append(run)

    @contextmanager
    def _noted(self, doing: str) -> Iterator[None]:
        """Within it `ptxsim exec` knows what is done, in case that the program is ended."""
        if self.wanted.results is None:
            yield
            return
        if self._running is None:
            self._running = os.open(
                Path(self.wanted.results) / f"{os.getpid()}{RUNNING}", os.O_CREAT | os.O_WRONLY, 0o600
            )
        os.ftruncate(self._running, 0)
        os.pwrite(self._running, doing.encode(), 0)
        try:
            yield
        except KeyboardInterrupt:  # it has not been done
            raise
        except BaseException:
            os.ftruncate(self._running, 0)
            raise
        os.ftruncate(self._running, 0)

    def copied(self, host: int, device: int, size: int) -> None:
        """Bytes of device memory have been copied to the host's."""
        self.answers.copied(host, device, size)

    def _end(self) -> None:
        """The program has had the launches that it was to have: end this process, with all that it has printed."""
        self.say(f"the program is ended after {self.launches} launches (--launches)")
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)  # of programs in C
        os._exit(0)

    def _part(self, kernel: Kernel, run: Run) -> dict[str, Any]:
        """The launch's part of the page, if that is wanted: of a kernel, the first launches, each that takes longer than those, and each
        with findings; up to MOST_PARTS in all."""
        if not self.wanted.page:
            return {}
        count, longest = self._parts.get(kernel.name, (0, -1.0))
        cycles = float(run.cycles or 0)
        total = sum(count for count, _ in self._parts.values())
        if total >= MOST_PARTS or (not run.findings and count >= FIRST_PARTS and cycles <= longest):
            return {}
        from ptxsim.report.page.document import run_part
        from ptxsim.session.ptxfile.file import FileRun

        self._parts[kernel.name] = (count + 1, max(longest, cycles))
        prefix = f"p{os.getpid()}-{self.launches}-"
        return {"part": run_part(FileRun(kernel.module.source, run, run.findings), prefix)}

    def _next_is_wanted(self, name: str) -> bool:
        wanted = self.wanted
        if not wanted.names(demangle(name)):
            return False
        self.fitting += 1
        place = self.fitting - 1 - wanted.skip
        return place >= 0 and (wanted.count is None or place < wanted.count)

    def refuse(self, error: PtxError) -> None:
        """A module or a launch is wrong: nothing ran."""
        self._tell("", error.findings)
        self._record({"launch": self.launches, "findings": [f.to_dict() for f in error.findings]}, error.findings)

    def finish(self, remarks: Sequence[str] = ()) -> None:
        """The program exits. remarks: what may have kept launches away, which is not why something was found."""
        for remark in () if self._told else remarks:
            self.say(remark)

    def say(self, text: str) -> None:
        """A remark of ptxsim's for the program's user."""
        if self.wanted.told != "nothing":
            sys.stdout.flush()
            sys.stderr.write(f"ptxsim: {text}\n")

    def _tell(self, kernel: str, findings: Sequence[Finding]) -> None:
        """Write what has not been told before. Notes are advice about instructions, which are not what was written."""
        places = {f: (kernel, f.name, f.line or f.message) for f in findings if f.level != "note"}
        new = [f for f, place in places.items() if place not in self._told]
        self._told |= set(places.values())
        if not new or self.wanted.told == "nothing":
            return
        from ptxsim.report.style import paint_for
        from ptxsim.report.text import render_all, render_concise

        sys.stdout.flush()
        write = render_all if self.wanted.told == "full" else render_concise
        if kernel:
            sys.stderr.write(f"ptxsim: {short_name(kernel)}, launch {self.launches - 1}\n")
        sys.stderr.write(f"{write(new, paint_for(sys.stderr))}\n")
        sys.stderr.flush()

    def _record(self, record: dict[str, Any], findings: Sequence[Finding]) -> None:
        """Leave a record for `ptxsim exec`: one line of JSON, in a file of this process. `text` is its findings in full."""
        if self.wanted.results is None:
            return
        from ptxsim.report.records import to_json
        from ptxsim.report.text import render_all

        text = {} if SAME_AS in record else {"text": render_all(f for f in findings if f.level != "note")}
        line = to_json(record | text, indent=None)
        with (Path(self.wanted.results) / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(line + "\n")

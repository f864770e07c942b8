"""Time for programs that measure: predicted by the cycle model, and said to be."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from triton import testing

from ptxsim.cuda.runtime.properties import values
from ptxsim.programs.collector import Collector
from ptxsim.session.run import Run
from ptxsim.triton.sampling import Samples
from ptxsim.triton.storages import Storages

MODES = ("min", "max", "mean", "median", "all")
EVERY = 13  # a benchmark is predicted from each 13th SM, an odd number as tiles lie in powers of two
EVERY_OF_TRIAL = 33  # of which the autotuner makes many, to put them in order


class Tuning:
    """Which configurations an autotuner has come to since it began; one that it comes to again is of a new beginning."""

    def __init__(self) -> None:
        self.has_run = False  # a trial, to its end
        self._tuner: Any = None
        self._seen: set[int] = set()

    def is_over(self, call: Callable[[], Any]) -> bool:
        """Whether a trial is of a configuration after one that has run. call: the function within triton.runtime.autotuner.Autotuner._bench."""
        known = inspect.getclosurevars(call).nonlocals if inspect.isfunction(call) else {}
        if "self" not in known or "config" not in known:
            return False
        tuner, config = known["self"], id(known["config"])
        if tuner is not self._tuner or config in self._seen:
            self._tuner, self._seen, self.has_run = tuner, set(), False
        self._seen.add(config)
        return self.has_run


class Clock:
    """Predicted milliseconds of the launches since the beginning. Launches are predicted only while the program measures."""

    def __init__(self, collector: Collector, storages: Storages):
        self.collector, self.storages = collector, storages
        self.now = 0.0
        self.launches = 0  # whose time is in it
        self.measuring = 0
        self.repeating = 0  # within a benchmark, which runs what has run before: a sample of the CTAs is enough
        self.trying = 0  # within a trial of the autotuner, whose results are not read
        self._tuning = Tuning()
        self._has_said: set[str] = set()

    @property
    def every(self) -> int:
        """Each so-manieth SM is enough for a sample."""
        return EVERY_OF_TRIAL if self.trying else EVERY

    @property
    def is_forgetful(self) -> bool:
        """Whether results of samples are never made."""
        return bool(self.trying or (self.measuring and self.collector.wanted.quick))

    @property
    def profile(self) -> int | None:
        """What a launch is to be asked for (LaunchOptions.profile)."""
        return 1 if self.measuring else None

    def trial(self, call: Callable[[], Any], *given: Any, **more: Any) -> Any:
        """A benchmark of the autotuner's: of kernels whose CTAs do not notice, only a sample of the CTAs is run. It takes no time of what is
        measured around it: programs measure what has been tuned."""
        if self.collector.wanted.untuned and self._tuning.is_over(call):
            quantiles = more.get("quantiles")
            return math.inf if quantiles is None else [math.inf] * len(quantiles)
        before, self.storages.are_staying = self.now, True
        self.trying += 1
        try:
            found = self.benchmark(call, *given, **more)
            self._tuning.has_run = True
            return found
        finally:
            self.trying -= 1
            self.now, self.storages.are_staying = before, False

    def add(self, run: Run) -> None:
        """A launch is over."""
        if run.cycles is not None:
            self.now += run.cycles.time_us / 1000
            self.launches += 1

    def benchmark(
        self, call: Callable[[], Any], warmup: Any = None, rep: Any = None, grad_to_none: Sequence[Any] | None = None,
        quantiles: Sequence[float] | None = None, return_mode: str = "mean", **more: Any,
    ) -> Any:  # fmt: skip
        """As triton.testing.do_bench, by one call: the predicted milliseconds of its launches. Every run takes as long.

        A sample of each launch's CTAs runs, and all where the results are used (ptxsim.triton.sampling). The time of a call without
        a launch is the processor's, which runs it here.
        """
        if return_mode not in MODES:
            raise ValueError(f"return_mode {return_mode!r} is none of {', '.join(MODES)}")
        for tensor in grad_to_none or ():
            tensor.grad = None
        before, launches, began = self.now, self.launches, time.perf_counter()
        self.measuring += 1
        try:
            with self._by_samples():
                call()
        finally:
            self.measuring -= 1
        found = self.now - before
        if self.launches == launches:
            self._say("a time is taken of code without a Triton kernel: it is the processor's, not a GPU's")
            found = (time.perf_counter() - began) * 1000
        else:
            if self.collector.wanted.quick:
                self._say("what benchmarks compute is not made, their times are of samples (--quick)")
            self.say_predicted("do_bench, autotuning")
        if quantiles is not None:
            return [found] * len(quantiles)
        return [found] if return_mode == "all" else found

    @contextmanager
    def _by_samples(self) -> Iterator[None]:
        """Within it samples of their CTAs stand for launches, and all CTAs run where the results are used."""
        self.repeating += 1
        storages = self.storages
        try:
            if self.is_forgetful or storages.samples is not None:  # those of a benchmark around this one
                yield
                return
            storages.samples = samples = Samples()
            try:
                with samples.watching():
                    yield
            finally:
                try:
                    samples.finish()
                finally:
                    storages.samples = None
        finally:
            self.repeating -= 1

    def _run_marked(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Mark.run, of functions under triton.testing.perf_report: all that such a function does is a benchmark, what it prepares too."""

        @wraps(run)
        def run_by_samples(mark: Any, *given: Any, **more: Any) -> Any:
            function = mark.fn

            @wraps(function)
            def by_samples(*inputs: Any, **named: Any) -> Any:
                with self._by_samples():
                    return function(*inputs, **named)

            mark.fn = by_samples
            try:
                return run(mark, *given, **more)
            finally:
                mark.fn = function

        return run_by_samples

    def say_predicted(self, what: str) -> None:
        """Say, once, what the program's times are."""
        target = self.collector.target or "sm_90"
        self._say(f"times are predicted by the cycle model, not measured ({what}; {target})")

    def _say(self, text: str) -> None:
        if text not in self._has_said:
            self._has_said.add(text)
            self.collector.say(text)

    def install(self) -> Callable[[], None]:
        """Let Triton's benchmarks be ours; what is returned takes it back."""
        changes = [
            (testing, name, self.benchmark) for name in ("do_bench", "do_bench_cudagraph") if hasattr(testing, name)
        ]
        changes.append((testing.Mark, "run", self._run_marked(testing.Mark.run)))
        changes.append((testing, "nvsmi", partial(self._asked, testing.nvsmi)))
        before = [(holder, name, getattr(holder, name)) for holder, name, _ in changes]
        for holder, name, function in changes:
            setattr(holder, name, function)

        def undo() -> None:
            for holder, name, function in before:
                setattr(holder, name, function)

        return undo

    def _asked(self, ask: Callable[[Sequence[str]], list[int]], attributes: Sequence[str]) -> list[int]:
        """What nvidia-smi would say, as models of performance ask it: clocks in MHz, which are what they can be at most. ask: of the machine."""
        found = values(self.storages.device.target)
        rates = {"sm": found["clockRate"], "graphics": found["clockRate"], "memory": found["memoryClockRate"]}
        known = {
            f"clocks.{when}.{what}": int(rate) // 1000 for what, rate in rates.items() for when in ("max", "current")
        }
        return [known[name] for name in attributes] if known.keys() >= {*attributes} else ask(attributes)


class Event:
    """An event of a stream, as torch.cuda.Event."""

    def __init__(self, clock: Clock, enable_timing: bool = False):
        self.clock, self.at = clock, 0.0
        # From now on the program measures.
        clock.measuring += enable_timing

    def record(self, stream: Any = None) -> None:
        self.at = self.clock.now

    def elapsed_time(self, end: Event) -> float:
        """Predicted milliseconds from this one to another."""
        return end.at - self.at

    def synchronize(self) -> None:
        """Launches have ended when they return."""

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None:
        """Launches run one after the other."""


class Interface:
    """What Triton uses of torch.cuda."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def Event(self, enable_timing: bool = False) -> Event:
        return Event(self.clock, enable_timing)

    def synchronize(self, device: Any = None) -> None:
        """Launches have ended when they return."""

    def current_device(self) -> int:
        return 0

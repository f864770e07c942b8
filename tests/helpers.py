"""What tests of many folders share: launches of texts, both engines side by side, and findings as plain values."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxsim.diagnostic import Finding
from ptxsim.session.launch import Launch
from ptxsim.session.module import Module
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.file import FileRun, Options, run_file
from ptxsim.session.run import Run
from ptxsim.source import Source

ENGINES = ("interpreter", "compiled")
ROOT = Path(__file__).parents[1]
SAMPLES, CASES, DATA = ROOT / "samples", ROOT / "tests" / "cases", ROOT / "tests" / "data"


def text_of(name: str) -> str:
    """The text of a file below tests/."""
    return (ROOT / "tests" / name).read_text()


# Files that are whole tests: cases, samples, and of the kernels beside tests those that say what to expect;
# what takes the interpreter long lies in a folder `long`, and is none of them.
FILES = sorted(
    [*SAMPLES.rglob("*.ptx"), *CASES.rglob("*.ptx")]
    + [path for path in (ROOT / "tests").glob("*/*.ptx") if "// ptxsim: expect" in path.read_text()]
)


def launch(text: str, args: Sequence[Any] = (), grid: Any = 1, block: Any = 32, **options: Any) -> Run:
    """Launch the only kernel of a text; what is wrong is in the findings. `options` are those of `Kernel.launch`."""
    return Module.from_text(text).kernel().launch(grid, block, args, **{"on_error": "report", **options})


def prepare(text: str, args: Sequence[Any], grid: int = 1, block: int = 32, **options: Any) -> Launch:
    """A launch of the only kernel of a text that has not begun, for tests that look at warps or events while it runs."""
    said = LaunchOptions(grid=grid, block=block, **{"jobs": 1, "banks": False, **options})
    return Module.from_text(text).kernel().prepare(list(args), said)


def run_text(text: str, entry: str | None = None, **options: Any) -> FileRun:
    """Run a text with directives as the file `k.ptx`. `options` are the fields of `Options`."""
    return run_file(Source(text, "k.ptx"), entry, Options(**options))


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Ctrl-C after some seconds, which must come through."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def names(findings: Iterable[Finding], *levels: str) -> list[str]:
    """The names of findings, of all or of those at some levels."""
    return [f.name for f in findings if not levels or f.level in levels]


def facts(run: Run) -> tuple[Any, ...]:
    """Everything a run says but its time: warp instructions, findings, wavefronts where they were counted."""
    findings = [
        (f.name, f.level, f.line, f.column, f.message, f.cta, f.warp, f.lane, f.count, f.notes) for f in run.findings
    ]
    rows = run.banks.rows if run.banks_counted else []
    return run.warp_instructions, findings, [(row.line, row.runs, row.wavefronts, row.worst) for row in rows]


def same_on_both(outcome: Callable[[str], Any]) -> Any:
    """What `outcome(engine)` is, after asserting that it is the same on both engines, bit for bit."""
    expected, found = (outcome(engine) for engine in ENGINES)
    assert plain(found) == plain(expected)
    return found


def plain(value: Any) -> Any:
    """Arrays within tuples, lists and dictionaries as bits, to be compared with ==."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, tuple | list) else value

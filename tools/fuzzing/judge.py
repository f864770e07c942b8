"""One input made from its kind and seed, and whether ptxsim deals with it as it should."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fuzzing import api, directives, modules, texts
from ptxsim.cli import main
from ptxsim.cli.exits import INTERNAL, INTERRUPTED
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.report.style import paint_for
from ptxsim.report.text import render_all
from ptxsim.session.module import check
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.session.run import KernelError
from ptxsim.source import Source

TEXTS: dict[str, Callable[[random.Random], str]] = {
    "bytes": texts.of_bytes, "tokens": texts.of_tokens, "lines": texts.of_lines, "meaning": texts.of_meaning,
    "structure": texts.of_structure, "grammar": modules.of_grammar, "directives": directives.of_directives,
}  # fmt: skip
KINDS = (*TEXTS, "commands", "api")
STEPS = 3000  # warp instructions of a run
COMPILED = 0.03  # share of the runs in native code, which takes longest to be made


@dataclass(frozen=True)
class Problem:
    """What must not be: the exception or exit code, where it came from, and the input."""

    what: str
    place: str
    shown: str

    @property
    def cause(self) -> str:
        """The same for inputs that fail alike."""
        return f"{self.what.partition(':')[0]} {self.place}"


def generator(kind: str, seed: int) -> random.Random:
    """Whatever is random in an input."""
    return random.Random(f"{kind}:{seed}")


def judge(kind: str, seed: int) -> Problem | None:
    """Give an input to ptxsim. None if it is taken or refused as it should be."""
    rng = generator(kind, seed)
    if kind == "api":
        return _guarded(lambda: _call(rng), "")
    if kind == "commands":
        words = directives.of_commands(rng)
        return _guarded(lambda: _command(words), " ".join(map(repr, words)))
    text = TEXTS[kind](rng)
    return judge_text(text, rng)


def judge_text(text: str, rng: random.Random) -> Problem | None:
    """Check a text, and run it if it says how or is short."""
    return _guarded(lambda: _text(text, rng), text)


def _text(text: str, rng: random.Random) -> None:
    source = Source(text.removeprefix("\ufeff").rstrip("\0"), "fuzz.ptx")
    found = check(source)
    _show(found)
    wrong = {finding.line for finding in found if finding.level == "error"}
    if wrong and "ints(256)" in text:  # of a grammar: what binds is run
        lines = source.text.split("\n")
        source = Source("\n".join("" if n in wrong and n > 25 else line for n, line in enumerate(lines, 1)), "fuzz.ptx")
    elif wrong and "expect" not in text:
        return
    if "// ptxsim: launch" not in text:
        return
    engine = "compiled" if rng.random() < COMPILED else "interpreter"
    checks = rng.choice(("all", "all", "memory", "none"))
    options = Options(max_steps=STEPS, engine=engine, checks=checks, jobs=1, seed=rng.choice((None, 1)), profile=0)
    try:
        result = run_file(source, options=options)
    except PtxError as error:
        _show(error.findings)
        return
    _show(result.findings)
    if result.run is not None:
        repr(result.run)


def _show(findings: Iterable[Finding]) -> None:
    """What a person would see. Every finding has a line, and says something."""
    found = list(findings)
    assert all(finding.message and finding.line >= 0 and finding.column >= 0 for finding in found), found
    rendered = render_all(found, paint_for(io.StringIO()))
    assert not found or rendered


def _command(words: list[str]) -> None:
    out, errors = io.StringIO(), io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        code = main(words)
    if code in (INTERNAL, INTERRUPTED) or "Traceback" in errors.getvalue():
        raise AssertionError(f"exit {code}: {errors.getvalue().strip()[:300]}")


_MISTAKEN = re.compile(
    r"argument|positional|keyword|missing|takes|expected|must be|not supported|cannot|not iterable|indices|has no len|unhashable"
)


def _call(rng: random.Random) -> None:
    try:
        api.call(rng)[1]()
    except (PtxError, KernelError, OSError, ValueError):
        pass
    except MemoryError as error:
        if "of device memory" not in str(error):
            raise
    except TypeError as error:
        if not _MISTAKEN.search(str(error)):
            raise


def _guarded(action: Callable[[], None], shown: str) -> Problem | None:
    os.environ["PTXSIM_DEBUG"] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
    except PtxError as error:
        return None if error.findings else Problem("PtxError: without findings", "", shown)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [
            frame for frame in frames if f"{os.sep}ptxsim{os.sep}" in frame.filename and "fuzzing" not in frame.filename
        ]
        text = str(error)
        if not own and (inside := re.findall(r'File "[^"]*/(ptxsim/[^"]+)", line (\d+)', text)):
            place = ":".join(inside[-1])
        else:
            last = own[-1] if own else frames[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
        return Problem(f"{type(error).__name__}: {text[:300]}", place, shown)
    return None

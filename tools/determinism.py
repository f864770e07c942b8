#!/usr/bin/env python3
"""The same file, arguments and seed: the same bits, findings and counts, however it is run?

    tools/determinism.py [FILE|DIR...] [--thin N] [--cpus x86-64,haswell] [--jobs 1]

Every file with directives (samples and tests/cases) is run once on the compiled engine, with all checks and bank counts. Then it is
run again, and again in other ways: by the interpreter, on two threads, without checks, without counts, with the cycle model
listening, with other seeds where the order of threads cannot show (no findings, no atomics, no clocks), and in processes that
make code for other CPUs. What a way does not leave out has to be equal: outputs bit for bit; findings with their places, threads,
counts and words; warp instructions; wavefronts. --thin N takes every Nth file. Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from ptxsim import PtxError  # noqa: E402
from ptxsim.engine.analysis.clocks import reads_clock  # noqa: E402
from ptxsim.isa.facts import AccessKind  # noqa: E402
from ptxsim.session.module import Module  # noqa: E402
from ptxsim.session.ptxfile.file import FileRun, Options, launches, run_file  # noqa: E402
from ptxsim.session.workers import spread  # noqa: E402
from ptxsim.source import Source  # noqa: E402

FOLDERS = ("samples", "tests/cases")
EVERYTHING = ("bits", "findings", "steps", "banks")
SCHEDULES = 3


@dataclass(frozen=True)
class Way:
    """How a file is run, and which of its results have to be as they were."""

    name: str
    options: tuple[tuple[str, Any], ...]
    same: tuple[str, ...] = EVERYTHING


def _way(name: str, same: tuple[str, ...] = EVERYTHING, **options: Any) -> Way:
    usual = {"engine": "compiled", "checks": "all", "banks": True, "jobs": 1}
    return Way(name, tuple((usual | options).items()), same)


FIRST = _way("compiled")
ORDER = _way("other seeds", ("bits", "findings"), schedules=SCHEDULES)
# Checks of order stop nothing; those of addresses are always there.
WAYS = (
    _way("again"),
    _way("interpreter", engine="interpreter"),
    _way("interpreter, no checks", ("bits", "steps"), engine="interpreter", checks="none", banks=False),
    _way("two threads", ("bits", "steps"), checks="none", banks=False, jobs=2),
    _way("two threads, checks", ("bits", "steps", "findings"), banks=None, jobs=2),
    _way("no checks", ("bits", "steps"), checks="none", banks=False),
    _way("no counts", ("bits", "steps", "findings"), banks=None),
    _way("cycles", profile=1),
    ORDER,
)


@dataclass(frozen=True)
class Task:
    """A file and the ways to run it; `is_alone`: only the first, whose results another process compares."""

    file: str
    is_alone: bool


Results = dict[str, str]  # a digest of each of EVERYTHING, and the findings in words


def results_of(found: FileRun) -> Results:
    """What came of a run."""
    findings = [
        (f.name, f.level, f.line, f.column, f.message, f.cta, f.warp, f.lane, f.count, f.notes, f.help)
        for f in [*found.findings, *found.expected]
    ]
    run = found.run
    parts: dict[str, Any] = {"findings": findings, "bits": [], "steps": None, "banks": None}
    if run is not None:
        parts["bits"] = [(name, a.dtype.str, a.shape, a.tobytes()) for name, a in sorted(run.outputs.items())]
        parts["steps"] = run.warp_instructions, run.stopped_at
        if run.banks_counted:
            parts["banks"] = run.banks.to_dict()
    digests = {name: hashlib.blake2b(repr(part).encode(), digest_size=8).hexdigest() for name, part in parts.items()}
    return digests | {"shown": repr((findings, parts["steps"]))[:400]}


def results(file: str, way: Way) -> Results:
    """Run a file in a way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return results_of(run_file(file, options=Options(**dict(way.options))))
        except PtxError as error:
            return results_of(FileRun(Source.from_file(file), None, error.findings))


def order_can_show(file: str) -> bool:
    """Whether the results of a kernel may depend on which thread comes first."""
    program = launches(Source.from_file(file))().program
    for op in program.ops:
        if any(access.kind is AccessKind.ATOMIC or access.order != "weak" for access in op.accesses):
            return True
        if reads_clock(op):
            return True
    return False


def judge(task: Task) -> tuple[Results, list[tuple[str, str]]]:
    """What a file gives, and for each way what differs (nothing: "")."""
    first = results(task.file, FIRST)
    if task.is_alone:
        return first, []
    found = []
    is_clean = first["findings"] == results_of(FileRun(Source(""), None, []))["findings"]
    for way in WAYS:
        if way is ORDER and (not is_clean or order_can_show(task.file)):
            continue
        found.append((way.name, differences(first, results(task.file, way), way.same)))
    return first, found


def differences(first: Results, other: Results, same: Iterable[str] = EVERYTHING) -> str:
    """Which results are not equal, in words."""
    names = [name for name in same if first[name] != other[name]]
    return f"{', '.join(names)}: {first['shown']} / {other['shown']}" if names else ""


def files(names: Iterable[str | Path]) -> Iterator[str]:
    """The files with directives that say how to launch them."""
    for path in map(Path, names):
        inside = sorted(path.rglob("*.ptx")) if path.is_dir() else [path]
        for file in inside:
            if "// ptxsim: launch" in file.read_text(errors="replace") and Module.from_file(file).entries:
                yield str(file)


def _make_code_for(cpu: str) -> None:
    os.environ["PTXSIM_CPU"] = cpu


def main() -> int:
    """0 if nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[ROOT / folder for folder in FOLDERS], metavar="FILE|DIR")
    parser.add_argument("--thin", type=int, default=1, help="take every Nth file")
    parser.add_argument(
        "--cpus", default="x86-64,haswell", help="CPUs to make code for besides this one, as LLVM names them"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    given = list(files(options.names))[:: options.thin]
    counts, wrong = Counter[str](), 0

    def note(file: str, way: str, differs: str) -> None:
        nonlocal wrong
        counts[way] += 1
        if differs:
            wrong += 1
            print(f"{file}, {way}: {differs}", flush=True)

    firsts = {}
    for file, (first, found) in zip(given, spread(judge, [Task(file, False) for file in given], options.jobs, batch=4)):
        firsts[file] = first
        counts["compiled"] += 1
        for way, differs in found:
            note(file, way, differs)
    spawn = multiprocessing.get_context("spawn")
    for cpu in filter(None, options.cpus.split(",")):
        with ProcessPoolExecutor(options.jobs, spawn, _make_code_for, (cpu,)) as pool:
            for file, (other, _) in zip(given, spread(judge, [Task(file, True) for file in given], pool, batch=4)):
                note(file, cpu, differences(firsts[file], other))
    print(f"{len(given)} files; runs: {', '.join(f'{count} {way}' for way, count in counts.items())}")
    print(f"determinism: {counts.total() - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

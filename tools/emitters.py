#!/usr/bin/env python3
"""Do the tests notice a defect in the code generator? Defects of each lowering, emitter and body, one at a time, against the tests
that execute the statement that has it, the quickest first.

    python tools/emitters.py [FILE...] [--only PATTERN] [--thin N] [--tests PATH...] [--most SECONDS] [--keep FOLDER] [--jobs N] [--list]

FILE is a name in ptxsim/engine/compiled (`codegen/port`, `ir/emitter`; all of codegen, ir, tensor and runtime without any). Printed is
a line for each defect that no test of results notices, and a table by file: defects that tests of results notice (a wrong value, a
finding, an exception, a crash), those that make a test endless (it takes 20 times its processor time and 5 s, or sleeps for minutes),
those that only the kept text of tests/data/ir and native_forms.tsv notices, those that stand in tools/data/defects.tsv as
equivalent, each with its reason, and those that are missed. Exit status 1 if any is missed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import pickle
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

FOLDER = ROOT / "ptxsim" / "engine" / "compiled"
KNOWN = ROOT / "tools" / "data" / "defects.tsv"
FOLDERS = ("codegen", "ir", "tensor", "runtime")
OUTCOMES = ("results", "endless", "text", "equivalent", "missed")
FEW = 20  # defects up to which it takes longer to prepare what every fork does first than to let each do it
# What may notice a defect: these know of no defects, and run in one process.
ENGINE = (
    "assembled_accesses", "barrier_events", "bulk_copies", "bulk_groups", "cluster_barrier", "compiled", "compiled_code",
    "compiled_matrix", "detour_events", "fragments_alike", "half_conversion", "lane_copies", "mbarriers", "native_code", "product",
    "registers_alike", "slow_path", "splits", "tensor_products", "warpgroup", "wmma_events",
)  # fmt: skip
TESTS = (
    "tests/cases", *(f"tests/engine/test_{name}.py" for name in ENGINE), "tests/instructions/test_reference.py",
    "tests/instructions/test_matrix_runs.py", "tests/instructions/tcgen05",
)  # fmt: skip
TEXT = "tests/engine/test_native_code.py"
# What of the store a file's defects concern: bodies are exported, or called from Python; what every program needs is the run time.
BODIES = ("export", "body", "runtime")


def every() -> list[Path]:
    """The files that may have defects."""
    return sorted(path for name in FOLDERS for path in FOLDER.glob(f"{name}/*.py"))


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def parts(module: str) -> tuple[str, ...]:
    """Kinds of keys of the store whose code a module writes."""
    return ("kernel", "helper", *BODIES * (".runtime." in module and not module.endswith(".access")))


def equivalent() -> dict[str, str]:
    """Names of defects that change nothing, with the reasons."""
    with KNOWN.open(newline="") as lines:
        return {row["defect"]: row["reason"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


def warm() -> None:
    """What every fork would do first: imports, tables, the grammar. No native code, which would be known without a defect."""
    from ptxsim.session.ptxfile.file import Options, run_file

    os.environ["PTXSIM_BODIES"] = "python"
    for path in sorted((ROOT / "tests" / "cases").rglob("*.ptx"))[::20]:
        run_file(path, options=Options(checks="all", engine="interpreter", banks=True))
    del os.environ["PTXSIM_BODIES"]


class Trial:
    """The plugin of pytest that tries defects in place of running the tests that were collected."""

    def __init__(self, given: argparse.Namespace, folder: Path, paths: list[Path]):
        self.given, self.folder, self.table = given, folder, defaultdict[str, Counter[str]](Counter)
        self.paths = {module(path): path for path in paths}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of pytest's."""
        from mutants.defects import defects
        from mutants.forks import Listener, Test, judge, keep_text

        given, known, listener = self.given, equivalent(), Listener()
        session.config.pluginmanager.register(listener)
        keep_text(self.folder)
        found = [
            defect
            for module, path in self.paths.items()
            for defect in defects(module, path.read_text())
            if re.search(given.only, str(defect))
        ][:: given.thin]
        tests = [Test(item) for item in session.items]
        if len(found) > FEW:
            warm()
        self._measure(tests, listener)
        for test in tests:
            if test.failed:
                print(f"fails without a defect: {test.item.nodeid}", flush=True)
        tests = [test for test in tests if not test.failed]
        for verdict in judge(
            found, tests, lambda defect: parts(defect.module), lambda name: name.startswith(TEXT), given.jobs, given.most, listener
        ):  # fmt: skip
            defect, outcome = verdict.defect, verdict.outcome
            outcome = "equivalent" if outcome == "missed" and defect.name in known else outcome
            self.table[defect.module.removeprefix("ptxsim.engine.compiled.")][outcome] += 1
            if outcome not in ("results", "equivalent"):
                print(f"{outcome}: {defect}{verdict.test and f' by {verdict.test}'}", flush=True)
            if given.verbose:
                print(f"   {outcome}: {defect} by {verdict.test}", flush=True)
        return True

    def _measure(self, tests: list[Any], listener: Any) -> None:
        """What the tests execute without a defect; kept for as long as no file is another."""
        from mutants.forks import measure

        digest = hashlib.blake2b(repr([test.item.nodeid for test in tests]).encode(), digest_size=16)
        for path in sorted([*(ROOT / "ptxsim").rglob("*.py"), *(ROOT / "tests").rglob("*.p*")]):
            if path.is_file() and path.suffix in (".py", ".ptx"):
                digest.update(path.read_bytes())
        files = {module(path): path for path in every()}
        concerned = {part for name in self.paths for part in parts(name)}
        kept = self.folder / f"reached.{digest.hexdigest()}.{'.'.join(sorted(concerned))}"
        if kept.exists():
            for test, known in zip(tests, pickle.loads(kept.read_bytes()), strict=True):
                test.seconds, test.reached, test.failed = known
            return
        measure(tests, concerned, files, self.given.jobs, listener)
        kept.write_bytes(pickle.dumps([(test.seconds, test.reached, test.failed) for test in tests]))

    def print(self) -> int:
        """The table; 1 if a defect is missed."""
        table = self.table
        print(f"{'':32}" + "".join(f"{name:>12}" for name in ("defects", *OUTCOMES)))
        table["all"] = sum(table.values(), Counter())
        for name, counts in table.items():
            print(f"{name:32}" + "".join(f"{n:12}" for n in (counts.total(), *(counts[each] for each in OUTCOMES))))
        return 1 if table["all"]["missed"] else 0


def main() -> int:
    """0 if every defect is noticed or known to be equivalent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--thin", type=int, default=1, metavar="N", help="every Nth defect")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="defects whose line this regular expression finds"
    )
    parser.add_argument(
        "--most", type=float, default=60, metavar="SECONDS", help="of tests that are tried on one defect (60)"
    )
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH", help="in place of those that it knows of")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="for code and for what tests execute, until next time"
    )
    parser.add_argument("--verbose", action="store_true", help="also what notices the others")
    parser.add_argument("--list", action="store_true", help="only print the defects")
    given = parser.parse_args()
    paths = [FOLDER / f"{name}.py" for name in given.files] or every()
    os.chdir(ROOT)
    if given.list:
        from mutants.defects import defects

        for path in paths:
            print(*defects(module(path), path.read_text()), sep="\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="ptxsim-emitters-") as folder:
        keep = (given.keep or Path(folder)).resolve()
        keep.mkdir(parents=True, exist_ok=True)
        os.environ["PTXSIM_CACHE_DIR"] = str(keep)
        import pytest

        trial = Trial(given, keep, paths)
        # Without a cache and a terminal of pytest's own.
        code = pytest.main(
            [
                "-o",
                "addopts=",
                "-s",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:terminal",
                "-p",
                "no:faulthandler",
                *given.tests,
            ],
            [trial],
        )
        if code not in (0, 5):
            sys.exit(f"pytest ended with {code}")
        return trial.print()


if __name__ == "__main__":
    sys.exit(main())

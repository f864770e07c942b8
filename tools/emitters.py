#!/usr/bin/env python3
"""Do the tests notice a defect in the code generator? Defects of each lowering and emitter, one at a time, against the tests that concern it.

    python tools/emitters.py [FILE...] [--thin N] [--jobs N] [--only PATTERN] [--quick] [--list]

FILE is a name in ptxsim/engine/compiled (`codegen/port`, `ir/emitter`; all of codegen and ir without any). Printed is a line for each defect
that is not noticed by results, and a table by file: defects that tests of results notice (a wrong value, a finding, an exception, a
crash, an endless loop), those that only the kept text of tests/data/ir and native_forms.tsv notices, those that stand in
tools/data/defects.tsv as equivalent, each with its reason, and those that are missed. Exit status 1 if any is missed.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import csv
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from mutants.defects import Defect, defects  # noqa: E402

FOLDER = ROOT / "ptxsim" / "engine" / "compiled"
KNOWN = ROOT / "tools" / "data" / "defects.tsv"
SECONDS = 300  # after which a defect has made something endless
OUTCOMES = ("results", "text", "equivalent", "missed")
# Folders of cases and files of tests/engine that concern a file; "": every other.
CONCERNED = {
    "barrier": ("barriers", "barrier_events"),
    "bulk": ("bulk tensor_copy", "bulk_copies bulk_groups"),
    "cluster_barrier": ("clusters", "cluster_barrier"),
    "cp_async": ("cp_async", "lane_copies"),
    "mbarrier": ("mbarrier", "mbarriers"),
    "pieces": ("wgmma tcgen05 memory", "product tensor_products warpgroup"),
    "warp_matrix": ("ldmatrix mma wmma", "compiled_matrix wmma_events fragments_alike"),
    "warpgroup": ("wgmma", "warpgroup product"),
    "": ("scalar memory atomics warp control barriers", "compiled compiled_code registers_alike splits slow_path detour_events half_conversion alike"),
}  # fmt: skip


def tests(file: str) -> tuple[list[list[str]], list[str]]:
    """Tests of results that concern a file, those that tell most first, and tests of kept text."""
    folders, names = CONCERNED.get(file, CONCERNED[""])
    cases = [path for folder in folders.split() for path in sorted((ROOT / "tests" / "cases" / folder).glob("*.ptx"))]

    def nodes(test: str) -> list[str]:
        return [f"{test}[{path.relative_to(ROOT)}]" for path in cases]

    text = "tests/engine/test_native_code.py::test_"
    own = [f"tests/engine/test_{name}.py" for name in names.split() if name != "alike"]
    forms = ["tests/instructions/test_reference.py"] if names.endswith("alike") else []
    return [
        nodes("tests/cases/test_cases.py::test_file_does_what_it_says"),
        [*own, *forms, "-m", "not slow or thin"],
        nodes("tests/engine/test_alike.py::test_all_ways_to_run_a_file"),
    ], [text + name for name in ("ir_of_kernels", "long_effects_are_shared", "which_forms_are_native[0]")]  # fmt: skip


def quietly(stages: list[list[str]]) -> bool:
    """Whether all tests pass."""
    import pytest

    return all(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *stage]) == 0 for stage in stages)


def judge(defect: Defect, known: dict[str, str], quick: bool) -> str:
    """What notices a defect; called in a process of its own."""
    from ptxsim.engine.compiled.library import library

    # What the store knows was made without the defect. Helpers are made by ir alone.
    key, concerned = library().jit.key, ("kernel",) if ".codegen." in defect.module else ("kernel", "helper")
    library().jit.key = lambda *parts: key(*parts, *[str(defect)] * (parts[0] in concerned))  # type: ignore[method-assign]
    try:
        defect.install()
    except ValueError:
        return "results"  # no function any more
    results, text = tests(defect.module.rpartition(".")[2])
    if quick:
        results, text = results[:1], text[:-1]
    if not quietly(results):
        return "results"
    if not quietly([text]):
        return "text"
    return "equivalent" if defect.name in known else "missed"


def forked(defect: Defect, known: dict[str, str], quick: bool) -> tuple[int, int]:
    """The process that judges, which ends with the number of an outcome, and where it may be late."""
    process = os.fork()
    if process:
        return process, int(time.monotonic()) + SECONDS
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    code = OUTCOMES.index("results")
    with contextlib.suppress(BaseException):
        code = OUTCOMES.index(judge(defect, known, quick))
    os._exit(code)


def stop(processes: Iterable[int]) -> None:
    for process in processes:
        os.kill(process, signal.SIGKILL)


def outcomes(found: list[Defect], known: dict[str, str], jobs: int, quick: bool) -> Iterator[tuple[Defect, str]]:
    """What notices each of the defects, as it becomes known."""
    waiting, running = found[::-1], dict[int, tuple[Defect, int]]()
    atexit.register(stop, running)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    while waiting or running:
        while waiting and len(running) < jobs:
            process, end = forked(waiting[-1], known, quick)
            running[process] = waiting.pop(), end
        time.sleep(0.05)
        for process, (defect, end) in list(running.items()):
            done, status = os.waitpid(process, os.WNOHANG)
            if not done and time.monotonic() > end:
                os.kill(process, signal.SIGKILL)
            elif done:
                del running[process]
                ended = os.WIFEXITED(status)  # by a signal: a crash, or endless
                yield defect, OUTCOMES[os.WEXITSTATUS(status)] if ended else "results"


def equivalent() -> dict[str, str]:
    """Names of defects that change nothing, with the reasons."""
    with KNOWN.open(newline="") as lines:
        return {row["defect"]: row["reason"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


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
        "--quick", action="store_true", help="cases and kept IR alone: the first thing that a person runs"
    )
    parser.add_argument("--list", action="store_true", help="only print the defects")
    given = parser.parse_args()
    os.chdir(ROOT)
    paths = [FOLDER / f"{name}.py" for name in given.files] or sorted(
        [*FOLDER.glob("codegen/*.py"), *FOLDER.glob("ir/*.py")]
    )
    found = [
        defect
        for path in paths
        for defect in defects(".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text())
        if re.search(given.only, str(defect))
    ][:: given.thin]
    if given.list:
        print(*found, sep="\n")
        return 0
    warm(paths)
    known = equivalent()
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for defect, outcome in outcomes(found, known, given.jobs, given.quick):
        table[defect.module.removeprefix("ptxsim.engine.compiled.")][outcome] += 1
        if outcome in ("text", "missed"):
            print(f"{outcome}: {defect}", flush=True)
    print(f"{'':24}" + "".join(f"{name:>12}" for name in ("defects", *OUTCOMES)))
    table["all"] = sum(table.values(), Counter())
    for name, counts in table.items():
        print(f"{name:24}" + "".join(f"{n:12}" for n in (counts.total(), *(counts[each] for each in OUTCOMES))))
    return 1 if table["all"]["missed"] else 0


def warm(paths: list[Path]) -> None:
    """Import what tests import and compile helpers, once for all processes. Exits where the tests fail without a defect."""
    needed = {" ".join(tests(path.stem)[0][0]) for path in paths}
    if not all(quietly([nodes.split()]) for nodes in needed):
        sys.exit("the tests fail without a defect")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ptxsim-emitters-") as folder:
        os.environ["PTXSIM_CACHE_DIR"] = folder
        sys.exit(main())

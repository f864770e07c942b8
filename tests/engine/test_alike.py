"""Every sample and case: the same memory, counts, findings and conflicts on both engines, on one thread and on two, with and
without observers."""

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from native_code import LEFT, left

from ptxsim.session.ptxfile.file import FileRun, Options, run_file
from tests.helpers import ENGINES, FILES, ROOT, facts

MOST = 20_000  # warp instructions under a seed: the interpreter takes as long for what spins as for all others
# What each file leaves to the interpreter, as tools/native_code.py keeps it: code that is right and slow is a defect, too.
LEFT_OF = {file: [*rows] for file, rows in groupby(LEFT.read_text().splitlines(), lambda row: row.partition("\t")[0])}


def result(path: Path, engine: str, **options) -> FileRun:
    return run_file(path, options=Options(engine=engine, **options))


def memory(file: FileRun) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in file.values.items()}


def said(file: FileRun) -> list[tuple]:
    """All findings, expected or not."""
    return [
        (f.name, f.level, f.line, f.column, f.message, f.cta, f.warp, f.lane, f.count, f.notes)
        for f in (*file.findings, *file.expected)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_ways_to_run_a_file(path):
    one, other = (result(path, engine, banks=True) for engine in ENGINES)
    assert one.passed and one.checked > 0, [(f.line, f.name, f.message) for f in one.findings]
    assert said(one) == said(other)
    assert memory(one) == memory(other)
    assert facts(one.run) == facts(other.run)
    plain = [result(path, "compiled", checks="none", jobs=jobs) for jobs in (1, 2)]
    races = any(finding.name == "race-global" for finding in one.expected)  # which threads may show, if nobody looks
    for found in plain[:1] if races else plain:
        assert memory(found) == memory(other)
        assert found.run.warp_instructions == other.run.warp_instructions
    assert said(plain[0]) == said(plain[1])
    rows = left(path, plain[0].run)
    assert rows == LEFT_OF.get(str(path.relative_to(ROOT)), rows), "where this is meant, run tools/native_code.py"
    seeded = [result(path, engine, seed=7, checks="memory", max_steps=MOST) for engine in ENGINES]
    assert said(seeded[0]) == said(seeded[1])
    assert memory(seeded[0]) == memory(seeded[1])
    assert facts(seeded[0].run) == facts(seeded[1].run)

"""Litmus tests of the memory model: what races is reported whatever the schedule, what is in order on none."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import ROOT

FILES = sorted((ROOT / "tests/cases/order").glob("*.ptx"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_verdict_is_of_all_schedules(path, engine):
    for seed in range(1, 4) if engine == "compiled" else range(1):
        result = run_file(path, options=Options(engine=engine, checks="all", seed=seed))
        assert result.passed, [f"{f.line}: {f.name}: {f.message}" for f in result.findings]

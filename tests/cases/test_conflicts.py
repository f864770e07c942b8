"""Ten classic bank conflicts: the fix that `banks` proposes, applied in the twin file, gives the promised count."""

import re
from pathlib import Path

import pytest

from ptxsim.session.files import Options, run_file

CONFLICTS = Path(__file__).parents[2] / "samples" / "conflicts"
FILES = sorted(path for path in CONFLICTS.glob("*.ptx") if not path.stem.endswith("_fixed"))


def conflicting(path: Path):
    """The one row of the file whose instruction is the subject: the last shared access."""
    return run_file(path, options=Options(banks=True)).run.banks.rows[-1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_proposed_fix_gives_the_promised_count(path):
    before, after = conflicting(path), conflicting(path.with_stem(path.stem + "_fixed"))
    promised = {int(count) for fix in before.fixes for count in re.findall(r"-> (\d+) wavefront", fix)}
    assert before.worst > 1 and before.why
    assert after.worst == 1
    assert after.wavefronts // after.runs in promised


def test_there_are_ten():
    assert len(FILES) == 10

"""A product without a fence names who has written its registers."""

from pathlib import Path

import pytest

from tests.helpers import run_text

CASES = Path(__file__).parents[1] / "cases" / "wgmma"


@pytest.mark.parametrize(("name", "line"), [("fence_too_early", 46), ("no_fence", 40)])
def test_the_last_write_before_the_product_is_named(name, line):
    run = run_text((CASES / f"{name}.ptx").read_text()).run
    (finding,) = [finding for finding in run.findings if finding.name == "missing-wgmma-fence"]
    assert [label.line for label in finding.labels] == [line]

"""Wrong results that another swizzle in a descriptor would mend."""

from pathlib import Path

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source

SAMPLE = (Path(__file__).parents[2] / "samples" / "wgmma_m64n64k16.ptx").read_text()
FIELDS = "0xC000001000010000"  # of both descriptors: swizzle 32B is 3 in the highest bits


def hints(text, **options):
    (finding,) = run_file(Source(text, "product.ptx"), options=Options(**options)).findings
    assert finding.name == "expectation-failed"
    return [note for note in finding.notes if note.startswith("tried")]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ((FIELDS, "0x0000001000010000"), "swizzle 32B in the descriptors of A and B"),
        (
            ("add.u64         %desc_b, %desc_a, 128;", "add.u64 %desc_b, %desc_a, 0x4000000000000080;"),
            "32B in the descriptor of B",
        ),
    ],
)
def test_a_swizzle_that_gives_what_is_expected_is_named(changed, words):
    assert changed[0] in SAMPLE
    (hint,) = hints(SAMPLE.replace(*changed))
    assert words in hint


def test_where_no_swizzle_mends_it_nothing_is_said():
    assert hints(SAMPLE.replace("A @ Bt.T", "A @ Bt.T + 1")) == []
    assert run_file(Source(SAMPLE, "product.ptx")).findings == []

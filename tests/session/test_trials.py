"""Wrong results that another swizzle in a descriptor would put right."""

import pytest

from tests.helpers import SAMPLES, run_text

SAMPLE = (SAMPLES / "wgmma_m64n64k16.ptx").read_text()
FIELDS = "0xC000001000010000"  # of both descriptors: swizzle 32B is 3 in the highest bits


def hints(text, **options):
    (finding,) = (found for found in run_text(text, **options).findings if found.name == "expectation-failed")
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


@pytest.mark.slow
def test_where_no_swizzle_mends_it_nothing_is_said():
    assert hints(SAMPLE.replace("A @ Bt.T", "A @ Bt.T + 1")) == []
    assert run_text(SAMPLE).findings == []

"""Bank maps show every wavefront that is counted, and who is in it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.layout.banks import shared_wavefronts
from ptxsim.report.heat import bank_map, bank_maps
from ptxsim.session.run import BankRow

LANE = np.arange(32)


def rows(drawing):
    return [[cell.text for cell in line] for line in drawing.panels[0].cells]


def test_a_column_takes_a_wavefront_for_each_lane():
    drawn = rows(bank_map(LANE * 128, 4, "ld"))
    assert len(drawn) == 32 and [line[0] for line in drawn] == [str(lane) for lane in range(32)]
    assert all(text == "" for line in drawn for text in line[1:])


def test_lanes_of_one_word_share_a_cell():
    (line,) = rows(bank_map(LANE // 4 * 4, 4, "ld"))
    assert line[:2] == ["0-3", "4-7"]
    assert rows(bank_map(np.zeros(32, int), 4, "ld", 0b10101))[0][0] == "0+2"


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.integers(0, 100), min_size=32, max_size=32),
    form=st.sampled_from([("ld", 4), ("ld", 1), ("st", 8), ("st", 16), ("ldmatrix", 16), ("atom", 4)]),
    mask=st.integers(1, 2**32 - 1),
)
def test_as_many_as_are_counted(words, form, mask):
    kind, width = form
    addresses = np.array(words) * width
    drawing = bank_map(addresses, width, kind, mask)
    count = shared_wavefronts(addresses, width, kind, mask)
    assert len(drawing.panels[0].rows) == min(count, 32)
    assert drawing.notes[0].startswith(f"{count} wavefront")


def test_the_best_fix_is_drawn_beside_it():
    row = BankRow(
        7, "ld.shared.b32", 1, 32, 1, 32, kind="ld", width=4, addresses=(LANE * 128).tolist(), mask=2**32 - 1,
        fixed=("row pitch 132 B", (LANE * 132).tolist()),
    )  # fmt: skip
    before, after = bank_maps(row)
    assert before.title == "line 7, ld.shared.b32: worst execution" and after.title.startswith("with row pitch 132")
    assert len(before.panels[0].rows) == 32 and len(after.panels[0].rows) == 1
    assert all(len(line) <= 100 for line in after.text().split("\n"))


@pytest.mark.parametrize("kind", ["ld", "st"])
def test_no_conflict_needs_no_fix(kind):
    row = BankRow(7, "x", 1, 1, 1, 1, kind=kind, width=4, addresses=(LANE * 4).tolist(), mask=2**32 - 1)
    assert len(bank_maps(row)) == 1

"""Fixes are tried, on all accesses to an array, and not guessed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.layout.banks import shared_wavefronts
from ptxsim.layout.remedies import Access, Array

LANE = np.arange(32)


def access(offsets, width=4, kind="ld", pitch=None, masks=0xFFFFFFFF, counts=1):
    offsets = np.atleast_2d(np.asarray(offsets, np.int64))
    masks, counts = (np.broadcast_to(np.asarray(value), len(offsets)) for value in (masks, counts))
    return Access(offsets, width, kind, masks, counts, pitch)


def fixes(*accesses, index=0):
    return {fix.text: int(fix.costs[index].max()) for fix in Array(accesses).fixes(index)}


@pytest.mark.parametrize(
    "given, found",
    [
        (access(LANE * 128, pitch=128), {"row pitch 132 B": 1, "swizzle offset ^ (offset >> 5 & 0x7c)": 1}),
        (access(LANE % 16 * 128 + LANE // 16 * 16, 16, "ldmatrix", 128), {"row pitch 144 B": 4, "swizzle 128B": 4}),
        (access(LANE * 256, 16, "st", 256), {"row pitch 272 B": 4, "swizzle offset ^ (offset >> 4 & 0x70)": 4}),
        (access(LANE * 128, 8), {"row pitch 136 B": 2, "swizzle offset ^ (offset >> 4 & 0x78)": 2}),
        (
            access(LANE // 16 * 72 + LANE % 16 * 4, pitch=72),
            {"row pitch 192 B": 1, "swizzle offset ^ (offset >> 1 & 0x40)": 1},
        ),
        (access(LANE % 8 * 144 + (LANE // 8 ^ LANE % 8) * 16, 16, "ldmatrix", 144), {"no swizzle": 4}),
        (access(LANE * 0, kind="atom"), {"one word a lane, summed later": 1}),
        (access(LANE % 8 * 4, kind="cas"), {"4 copies, one for each 8 neighbours, summed later": 2}),
        (access(LANE // 4 * 4, kind="red"), {"4 copies, number lane % 4, summed later": 1}),
        (access(LANE // 2 * 4 % 16, kind="atom"), {"32 copies, one a lane, summed later": 1}),
        (  # too large for copies
            access(LANE // 2 * 2048, kind="atom"),
            {"4 B more after every 128 B": 16, "swizzle offset ^ (offset >> 7 & 0x7c)": 4},
        ),
        # A fragment's quads in rows of 256 bytes: pieces of 16 bytes have to move, by rows that the hardware's swizzles do not see.
        (
            access(LANE // 4 * 256 + LANE % 4 * 4, pitch=256),
            {"row pitch 272 B": 1, "swizzle offset ^ (offset >> 4 & 0x78)": 1},
        ),
        (access(LANE * 4), {}),
    ],
)
def test_what_is_proposed(given, found):
    assert fixes(given) == found


def test_a_pitch_that_helps_one_access_and_costs_another_more_is_not_proposed():
    """Rows of 64 bytes read in columns now and then, and written line by line all the time."""
    column = access(LANE * 64, pitch=64)
    assert "row pitch 68 B" in fixes(column)
    found = fixes(column, access(LANE * 4, kind="st", counts=1000))
    assert found and "row pitch 68 B" not in found


def test_rows_of_wide_accesses_stay_aligned():
    found = fixes(access(LANE * 128, pitch=128), access(LANE * 16, 16, "st"))
    assert found == {"row pitch 144 B": 4, "swizzle 128B": 4}


def test_what_copies_bring_keeps_to_what_they_can_do():
    column = access(LANE * 128, pitch=128)
    tried = {copied: {fix.text for fix in Array([column], copied).fixes(0)} for copied in ("tensor", "bulk")}
    assert tried == {"tensor": {"swizzle 128B"}, "bulk": {"row pitch 144 B"}}


def test_a_change_that_helps_one_execution_of_many_is_not_worth_it():
    assert fixes(access([LANE * 128, LANE * 4], counts=[1, 1])) != {}
    scattered = np.stack([LANE * 64, *(np.random.default_rng(i).integers(0, 1024, 32) * 4 for i in range(30))])
    for fix in Array([access(scattered)]).fixes(0):
        saved = int((shared_wavefronts(scattered, 4) - fix.costs[0]).sum())
        assert 2 * saved >= int((shared_wavefronts(scattered, 4) - 1).sum())


@settings(max_examples=30, deadline=None)
@given(
    first=st.lists(st.integers(0, 200), min_size=32, max_size=32),
    step=st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64]),
    form=st.sampled_from([("ld", 4), ("ld", 1), ("st", 8), ("st", 16), ("ldmatrix", 16), ("atom", 4)]),
    mask=st.integers(1, 2**32 - 1),
)
def test_fixes_keep_what_they_promise(first, step, form, mask):
    kind, width = form
    accesses = [
        access(np.array(first) * width, width, kind, masks=mask), access(LANE * step * width, width, "st", step * width),
    ]  # fmt: skip
    array = Array(accesses)
    for index, one in enumerate(accesses):
        for fix in array.fixes(index):
            moved = fix.move(one.offsets)
            assert shared_wavefronts(moved, width, one.kind, one.masks).tolist() == fix.costs[index].tolist()
            assert fix.costs[index].max() < array.before.costs[index].max()
            assert (moved % width == 0).all()
            if fix.family != "alone":  # different bytes stay different
                words = np.unique(np.concatenate([a.offsets.ravel() for a in accesses]))
                assert len(np.unique(fix.move(words))) == len(words)

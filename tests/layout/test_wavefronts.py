"""Wavefronts and bank conflicts of single instructions as an H200's profiler counted them (tests/data/wavefronts.json.gz).

A thinned pass over what `tools/conformance wavefronts tests/data` runs whole.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suites import wavefronts

from ptxsim.jit.body import body
from ptxsim.layout import banks, l1_tag_banks
from ptxsim.layout.atomic_loops import tries
from ptxsim.layout.cp_async_wavefronts import copy_wavefronts
from ptxsim.layout.wavefronts import costs
from tests.helpers import DATA
from tests.jit.alike import alike

RECORDED = wavefronts.operations(DATA / "wavefronts.json.gz")
JUDGED = [name for name, operation in RECORDED.items() if not operation.get("unchanging")]
ADDRESSES = st.lists(st.integers(0, 2000), min_size=32, max_size=32)
COPIES = body(copy_wavefronts)
MASKS = st.integers(1, 2**32 - 1)


@pytest.mark.thin(24)
@pytest.mark.parametrize("name", JUDGED)
def test_as_recorded(name):
    operation = RECORDED[name]
    few = {**operation, "launches": operation["launches"][len(name) % 3 :: 4]}
    for engine in ("interpreter",) if operation.get("scattered") else wavefronts.ENGINES:
        assert wavefronts.one((name, few, engine)) == []


@pytest.mark.slow
def test_many_are_counted_by_compiled_code(monkeypatch):
    monkeypatch.setenv("PTXSIM_BODIES", "native")
    for name in ("atom_add_f32", "atom_cas_b16", "cp_ca_8", "cp_cg_16_zero", "ld_v4_b32", "dsm_st", "wg_f16_n64"):
        assert wavefronts.one((name, RECORDED[name], "compiled")) == []


def test_what_changes_nothing_is_still_not_modeled():
    """If this fails, `unchanging` operations can be judged."""
    assert any(wavefronts.one((name, RECORDED[name], "interpreter")) for name in RECORDED.keys() - set(JUDGED))


@pytest.mark.slow
@settings(deadline=None)
@given(ADDRESSES, ADDRESSES, MASKS, MASKS, st.sampled_from([4, 8, 16]))
def test_compiled_copies_agree(to, source, writing, reading, width):
    to, source = (width * np.array(places) for places in (to, source))
    (wavefronts, ideal), _ = alike(COPIES, to, source, writing, writing & reading, width)
    assert ideal <= wavefronts <= writing.bit_count()


@settings(deadline=None, max_examples=30)
@given(ADDRESSES, MASKS, st.sampled_from([("spin", 4), ("spin", 8), ("half", 2), ("swap", 2)]))
def test_compiled_loops_agree(places, mask, form):
    kind, width = form
    address = np.array([places]) * width
    alike(costs, banks.KINDS.index(kind), address, np.array([mask], np.uint32), width, np.zeros((1, 4), np.int64))


@given(ADDRESSES, MASKS, st.booleans())
def test_every_lane_of_a_loop_gets_its_turn(places, mask, spins):
    masks = [0] * 32
    count, _ = tries([4 * place for place in places], mask, 1, spins, masks)
    assert masks[0] == mask
    assert all(later & ~earlier == 0 and later != earlier for earlier, later in pairwise(masks[:count]))
    assert 1 <= count <= mask.bit_count()


def test_the_tag_banks_share_lines_out_evenly():
    lines = [l1_tag_banks.tag_bank(line) for line in range(256)]
    assert all(lines.count(bank) == 64 for bank in range(l1_tag_banks.TAG_BANKS))

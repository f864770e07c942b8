import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.layout import banks
from ptxsim.layout.banks import analyze, global_access, shared_wavefronts
from ptxsim.layout.conflicts import explain
from ptxsim.layout.wavefronts import costs, global_costs
from tests.helpers import DATA
from tests.jit.alike import alike

# Counters of an H200, every pattern that has them (tests/data/banks.npz).
RECORDED = np.load(DATA / "banks.npz")
FORMS = {
    **{f"{op}_{name}": (width, op, None) for op in ("ld", "st")
       for name, width in [("u8", 1), ("u16", 2), ("b32", 4), ("v2b32", 8), ("v4b32", 16)]},
    **{f"{op}_x{n}": (16, op, n) for op in ("ldmatrix", "stmatrix") for n in (1, 2, 4)},
    "ldmatrix_x4_trans": (16, "ldmatrix", 4),
    "atom_add_u32": (4, "atom", None), "atom_exch_b32": (4, "atom", None),
    "red_add_u32": (4, "red", None), "atom_cas_b32": (4, "cas", None),
}  # fmt: skip
LANE = np.arange(32)


def test_all_recorded_forms_are_judged():
    assert {name.split(".")[0] for name in RECORDED.files} == set(FORMS)


@pytest.mark.parametrize("form", ["python", "native"])
@pytest.mark.parametrize("name", FORMS)
def test_counters(name, form, monkeypatch):
    monkeypatch.setenv("PTXSIM_BODIES", form)
    width, kind, matrices = FORMS[name]
    found = analyze(RECORDED[f"{name}.offsets"], width, kind, RECORDED[f"{name}.mask"], matrices)
    assert np.array_equal(found.wavefronts, RECORDED[f"{name}.wavefronts"])
    assert np.array_equal(found.conflicts, RECORDED[f"{name}.conflicts"])


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.integers(0, 300), min_size=32, max_size=32),
    mask=st.integers(0, 2**32 - 1),
    form=st.sampled_from(sorted(FORMS)),
)
def test_both_paths_agree(words, mask, form):
    width, kind, matrices = FORMS[form]
    access = banks.prepare(np.array([words]) * width, width, kind, mask, matrices)
    room = np.zeros((1, 4), np.int64)
    alike(costs, int(access.kind), access.address, access.masks(), width, room)
    alike(global_costs, access.address, access.masks(), width, kind in banks.ATOMIC_KINDS, room)


def test_shapes_and_defaults():
    assert shared_wavefronts(LANE * 4, 4) == 1 and isinstance(shared_wavefronts(LANE * 4, 4), int)
    assert shared_wavefronts(np.stack([LANE * 4, LANE * 128]), 4).tolist() == [1, 32]
    assert shared_wavefronts(LANE * 16, kind="ldmatrix", mask=0xFF) == 1
    assert shared_wavefronts(LANE[:8] * 128, kind="ldmatrix", matrices=1) == 8
    assert shared_wavefronts(LANE * 128, 4, mask=0) == 1
    assert shared_wavefronts(LANE * 128, 4, mask=LANE < 5) == 5
    assert shared_wavefronts([LANE * 128] * 2, 4, mask=[3, 7]).tolist() == [2, 3]
    assert shared_wavefronts(LANE * 0, 4, "atom") == 32 and shared_wavefronts(LANE * 0, 4, "cas") == 64


def test_register_return_limits_wide_loads():
    assert analyze(LANE * 16, 16, "ld").cycles == 4
    assert analyze(LANE * 16, 16, "ld", mask=0xFF).cycles == 4
    assert analyze(LANE // 2 * 16, 16, "ld") == (2, 0, 2, 2)
    assert analyze(LANE // 2 * 16, 16, "st").wavefronts == 4


@pytest.mark.parametrize("wrong", [{"width": 3}, {"kind": "wgmma"}, {"kind": "ldmatrix", "matrices": 3}])
def test_refusals(wrong):
    with pytest.raises(PtxError):
        shared_wavefronts(LANE * 4, **wrong)
    with pytest.raises(PtxError):
        shared_wavefronts(np.arange(16))


def test_global_sectors_and_lines():
    assert global_access(LANE * 4, 4) == (4, 1, 1, 1)
    assert global_access(LANE * 128, 4) == (32, 32, 8, 32)
    assert global_access(LANE * 16, 16) == (16, 4, 1, 4)
    assert global_access(LANE * 0, 4, atomic=True).sectors == 32
    assert global_access(LANE * 4, 4, mask=1) == (1, 1, 1, 1)


ROWS = 0x400 + LANE % 16 * 128 + LANE // 16 * 16


def test_wide_accesses_far_from_each_other():
    """128 different words, all in four banks: as many as there can be."""
    assert global_access(LANE * 65536, 16).cycles == 32


def test_why_sentences():
    assert explain(ROWS, kind="ldmatrix") == "8 rows, 128 B apart: all on the same 4 banks"
    assert explain(LANE * 8, 4) == "lanes 0-15 and 16-31, 8 B apart share 16 banks"
    assert explain(LANE * 128, 4, "st") == "32 lanes, 128 B apart: all on the same bank"
    assert "one by one" in explain(LANE * 0, 4, "atom") and "one word" in explain(LANE * 0, 4, "atom")
    assert explain(LANE * 4, 4) == "no conflicts"
    assert explain(np.stack([LANE * 4, LANE * 128]), 4) == "32 lanes, 128 B apart: all on the same bank"
    assert "4 different words in each of 8 banks" in explain(LANE * 64, 16, "st")

"""Every bit of the matrix instructions against what an H200 recorded: one trial of each form."""

from __future__ import annotations

import pytest

from tests.instructions.tensor_form import recorded, run, run_wgmma

FORMS, ARRAYS = recorded()


@pytest.mark.parametrize("family", ["mma", "mma_sp", "ldst", "wmma"])
def test_every_form_gives_the_recorded_bits(family):
    forms = [form for form in FORMS if form["family"] == family]
    assert len(forms) > 20
    wrong = []
    for form in forms:
        result, wanted = run(form, ARRAYS)
        if result.shape != wanted.shape or (result != wanted).any():
            wrong.append(form["id"])
    assert not wrong


def test_products_of_a_warpgroup_give_the_recorded_bits():
    forms = [form for form in FORMS if form["family"] == "wgmma"]
    assert len(forms) > 20
    wrong = []
    for form in forms:
        result, wanted, found = run_wgmma(form, ARRAYS)
        if (result != wanted).any() or "missing-wgmma-fence" in found:
            wrong.append(form["id"])
    assert not wrong

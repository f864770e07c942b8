"""What the code generator makes of kernels and forms, against the text that tools/native_code.py keeps.

Where a difference is meant, run tools/native_code.py and look at what it changes.
"""

from pathlib import Path

import pytest
from native_code import KERNELS, TABLE, ir, modeled, rows

from ptxsim.engine.compiled.codegen.registry import LOWERINGS
from tests.engine.programs import body, run
from tests.helpers import CASES

PARTS = 4  # of the table, for several processes


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.ptx")), ids=lambda path: path.stem)
def test_ir_of_kernels(path: Path):
    kept = {file.name: file.read_text() for file in KERNELS.glob("*.ll") if file.name.startswith(f"{path.stem}.")}
    assert ir(path) == kept


def test_long_effects_are_shared():
    """By uses with the same constants; registers are arguments."""
    (text,) = ir(CASES / "scalar" / "nth_set_bits.ptx").values()
    assert (text.count("define internal <32 x i32> @effect"), text.count("call <32 x i32> @effect")) == (5, 6)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_which_forms_are_native(part):
    kept = TABLE.read_text().splitlines()[1:]
    forms = modeled()
    assert len(kept) == len(forms)
    assert list(rows(forms[part::PARTS])) == kept[part::PARTS]


def test_families_that_end_no_block_are_native():
    straight = {form.definition.facts.family for form in modeled() if form.definition.facts.straight}
    assert straight and LOWERINGS.keys() >= straight
    kept = [row.split("\t") for row in TABLE.read_text().splitlines()[1:]]
    why = {row[-1] for form, row in zip(modeled(), kept, strict=True) if form.definition.facts.straight}
    assert why == {""}


def test_a_defect_in_a_lowering_is_no_slow_path(native, monkeypatch):
    def defective(w, op):
        raise TypeError("a defect")

    monkeypatch.setitem(LOWERINGS, "shuffle", defective)
    with pytest.raises(TypeError, match="a defect"):
        run(body("shfl.sync.idx.b32 %r4, %r5, 0, 31, 0xffffffff;"), "compiled")

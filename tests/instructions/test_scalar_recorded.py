"""2,704 forms of scalar instructions as an H200 computed them, 48 operands each (ptxas 13.0, sm_90a).

tests/data/scalar_h200.npz: `forms` texts; `inputs[set, operand, column]` 64-bit words, of which a register takes its low
bits; `sets` which set a form was given; `results` the destination's bits, a second predicate at bit 32.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from ptxsim.types import TYPES
from tests.helpers import DATA
from tests.instructions.scalar_form import DECLARED, run

RECORDED = np.load(DATA / "scalar_h200.npz")
FORMS, SETS, INPUTS, RESULTS = (RECORDED[k] for k in ("forms", "sets", "inputs", "results"))
FAMILIES = sorted({str(text).split(".")[0] for text in FORMS})


def registers(words: np.ndarray) -> dict[str, np.ndarray]:
    """Registers 2, 3, 4, ... of every type hold operands 0, 1, 2, ..."""
    found = {}
    for prefix, name in DECLARED.items():
        for number in range(1, 6):
            word = words[(number - 2) % 4]
            size = TYPES[name].bits
            found[f"{prefix}{number}"] = (word & np.uint64(1)) != 0 if size == 1 else word.astype(f"u{size // 8}")
    return found


@pytest.mark.thin(5)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_bit_is_the_recorded_one(family):
    wrong = []
    for text, which, expected in zip(FORMS, SETS, RESULTS):
        text = str(text)
        if text.split(".")[0] != family:
            continue
        found = run(text, **registers(INPUTS[which]))
        got = np.zeros(len(expected), np.uint64)
        for name, value in found.items():
            second = re.search(rf"\|{name}\b", text) is not None
            got |= value.astype(np.uint64) << np.uint64(32 if second else 0)
        if not np.array_equal(got, expected):
            column = int(np.flatnonzero(got != expected)[0])
            operands = " ".join(f"{int(w[column]):x}" for w in INPUTS[which])
            wrong.append(f"{text} of {operands}: {int(got[column]):x}, the GPU {int(expected[column]):x}")
    assert not wrong, "\n".join(wrong)

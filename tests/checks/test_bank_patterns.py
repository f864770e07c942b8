"""Recorded address patterns as instructions: both engines count what the profiler counted."""

import numpy as np
import pytest

import ptxsim
from tests.helpers import DATA

RECORDED = np.load(DATA / "banks.npz")
TEXTS = {
    "ld_u8": "ld.shared.u8 r0, [a];",
    "ld_b32": "ld.shared.b32 r0, [a];",
    "ld_v2b32": "ld.shared.v2.b32 {r0, r1}, [a];",
    "ld_v4b32": "ld.shared.v4.b32 {r0, r1, r2, r3}, [a];",
    "st_u16": "st.shared.u16 [a], r0;",
    "st_v4b32": "st.shared.v4.b32 [a], {r0, r1, r2, r3};",
    "ldmatrix_x4": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [a];",
    "stmatrix_x2": "stmatrix.sync.aligned.m8n8.x2.shared.b16 [a], {r0, r1};",
    "atom_add_u32": "atom.shared.add.u32 r0, [a], r1;",
    "red_add_u32": "red.shared.add.u32 [a], r1;",
    "atom_cas_b32": "atom.shared.cas.b32 r0, [a], r1, r2;",
}
COUNT = 12
LANES = np.arange(32, dtype=np.uint32)


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", TEXTS)
def test_wavefronts_of_an_instruction(name, engine):
    every = len(RECORDED[f"{name}.offsets"]) // COUNT
    offsets, masks = RECORDED[f"{name}.offsets"][::every], RECORDED[f"{name}.mask"][::every]
    lines = [
        ("" if mask == 0xFFFFFFFF else f"@p{i} ") + TEXTS[name].replace("[a]", f"[a{i}]")
        for i, mask in enumerate(masks.tolist())
    ]
    registers = {f"a{i}": 0x400 + row.astype(np.uint64) for i, row in enumerate(offsets)}
    registers |= {f"p{i}": (mask >> LANES & 1).astype(bool) for i, mask in enumerate(masks)}
    result = ptxsim.snippet(
        ".reg .b32 r0, r1, r2, r3; " + "\n".join(lines), registers=registers, target="sm_90a", engine=engine,
        shared=np.zeros(int(offsets.max()) + 16, np.uint8),
    )  # fmt: skip
    assert [row.wavefronts for row in result.banks.rows] == RECORDED[f"{name}.wavefronts"][::every].tolist()
    assert [row.conflicts for row in result.banks.rows] == RECORDED[f"{name}.conflicts"][::every].tolist()

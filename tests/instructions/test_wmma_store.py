"""The manual's examples of wmma.store, run: each accumulator element lands where the fragment says, with the default stride.

PTX ISA, "Warp-level Matrix Store Instruction: wmma.store", Examples.
"""

import numpy as np
import pytest

import ptxsim
from tests.helpers import launch

KERNEL = """
.version {version}
.target {target}
.address_size 64
.visible .entry store(.param .u64 out)
{{
.reg .{register} d<8>; .reg .b32 lane, n; .reg .b64 ptr;
ld.param.u64 ptr, [out];
mov.u32 lane, %laneid;
shl.b32 lane, lane, 3;
{fill}
{statement}
ret;
}}
"""

EXAMPLES = [  # version, target, shape, type, statement as the manual writes it
    (
        "6.0",
        "sm_70",
        "m16n16k16",
        "f32",
        "wmma.store.d.sync.row.m16n16k16.f32 [ptr], {d0, d1, d2, d3, d4, d5, d6, d7};",
    ),
    (
        "6.3",
        "sm_72",
        "m16n16k16",
        "s32",
        "wmma.store.d.sync.aligned.row.m16n16k16.s32 [ptr], {d0, d1, d2, d3, d4, d5, d6, d7};",
    ),
    ("7.0", "sm_75", "m8n8k128", "s32", "wmma.store.d.sync.aligned.row.m8n8k128.s32 [ptr], {d0, d1};"),
    ("7.0", "sm_80", "m8n8k4", "f64", "wmma.store.d.sync.aligned.row.m8n8k4.f64 [ptr], {d0, d1};"),
]


@pytest.mark.parametrize(("version", "target", "shape", "kind", "statement"), EXAMPLES)
def test_manual_example_stores_the_fragment(version, target, shape, kind, statement, engine):
    count = statement.count("d", statement.index("{"))
    convert = {"f32": "cvt.rn.f32.u32", "f64": "cvt.rn.f64.u32", "s32": "mov.b32"}[kind]
    fill = "\n".join(f"add.u32 n, lane, {i}; {convert} d{i}, n;" for i in range(count))
    register = "b32" if kind == "s32" else kind
    text = KERNEL.format(version=version, target=target, register=register, fill=fill, statement=statement)
    fragment = ptxsim.fragment(f"wmma.store.d.sync.aligned.row.{shape}.{kind}", "D")
    rows, columns = fragment.shape
    out = np.zeros((rows, columns), {"f32": np.float32, "f64": np.float64, "s32": np.int32}[kind])
    run = launch(text, [out], checks="all", engine=engine)
    expected = np.zeros_like(out)
    expected[fragment.rows, fragment.columns] = 8 * np.arange(32)[:, None] + np.arange(count)
    assert np.array_equal(out, expected)
    assert run.findings == []


def test_aligned_may_be_left_out_before_6_3_only():
    version, target, _, _, statement = EXAMPLES[0]
    text = KERNEL.format(version="6.3", target=target, register="f32", fill="", statement=statement)
    with pytest.raises(ptxsim.PtxError, match="aligned"):
        launch(text, [np.zeros(256, np.float32)])
    assert version == "6.0"

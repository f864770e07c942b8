"""In which order the lanes of a warp store to one place, and take their turns at an atomic: tests/data/lane_order.npz.

Source: an H200 (driver 580.159.04; tools/data/lanes, the same three times). Each file of the archive is an instruction: of a store the
lane whose bytes each lane found at its own place afterwards, of an atomic what each lane got. PTX leaves both open.
"""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.lanes import LANES
from tests.helpers import DATA, launch

RECORDED = np.load(DATA / "lane_order.npz")
REGION = 4096  # bytes that the lanes of a pattern may name
NAMES = [name for name in RECORDED.files if "." in name]
OPERANDS = {
    "u8": "%v", "u16": "%h", "u32": "%v", "u64": "%d", "v2": "{%v, %v}", "v4": "{%v, %v, %v, %v}",
}  # fmt: skip


def text_of(name: str) -> str:
    """A template: each CTA executes the instruction once, at its pattern of offsets, in memory of its own that is zero."""
    operation, space, *words = name.split(".")
    place = "[%s]" if space == "shared" else "[%g]"
    if operation == "st":
        body = f"@%p {name} {place}, {OPERANDS[words[0]]};"
        result = f"ld.{space}.u8 %r, {place};"
    else:
        is_long, is_float = words[-1] == "u64", words[-1] == "f32"
        old, value = ("%d", "%one") if is_long else ("%f", "%x") if is_float else ("%r", "%bit")
        compare = "0, " if words[0] == "cas" else ""
        body = f"@%p {name} {old}, {place}, {compare}{value};"
        result = "cvt.u32.u64 %r, %d;" if is_long else "mov.b32 %r, %f;" if is_float else ""
    return f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 offsets, .param .u64 masks, .param .u64 memory, .param .u64 results)
{{
    .shared .align 128 .b8 tile[{REGION}];
    .reg .pred %p, %q;
    .reg .b16 %h;
    .reg .b32 %t, %c, %i, %m, %o, %s, %v, %r, %bit, %zero;
    .reg .b64 %a, %g, %n, %d, %one;
    .reg .f32 %f, %x;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, {LANES}, %t;
    ld.param.u64 %a, [offsets];
    mad.wide.u32 %a, %i, 4, %a;
    ld.global.u32 %o, [%a];
    ld.param.u64 %a, [masks];
    mad.wide.u32 %a, %c, 4, %a;
    ld.global.u32 %m, [%a];
    shr.u32 %m, %m, %t;
    and.b32 %m, %m, 1;
    setp.ne.u32 %p, %m, 0;
    mov.u32 %s, tile;
    mul.lo.u32 %r, %t, 4;
    add.u32 %v, %s, %r;
    mov.u32 %zero, 0;
ZERO:
    st.shared.u32 [%v], %zero;
    add.u32 %v, %v, {4 * LANES};
    add.u32 %r, %r, {4 * LANES};
    setp.lt.u32 %q, %r, {REGION};
    @%q bra ZERO;
    bar.warp.sync -1;
    add.u32 %s, %s, %o;
    ld.param.u64 %g, [memory];
    cvt.u64.u32 %n, %o;
    add.u64 %g, %g, %n;
    mad.wide.u32 %g, %c, {REGION}, %g;
    mul.lo.u32 %v, %t, 0x01010101;
    cvt.u16.u32 %h, %v;
    mov.b64 %d, {{%v, %v}};
    mov.u32 %r, 1;
    shl.b32 %bit, %r, %t;
    cvt.u64.u32 %one, %bit;
    and.b32 %r, %t, 7;
    add.u32 %r, %r, 127;
    shl.b32 %r, %r, 23;
    mov.b32 %x, %r;
    {body}
    bar.warp.sync -1;
    {result}
    ld.param.u64 %a, [results];
    mad.wide.u32 %a, %i, 4, %a;
    st.global.u32 [%a], %r;
    ret;
}}
"""


@pytest.mark.parametrize("name", NAMES)
def test_lanes_at_one_place(name, engine):
    offsets, masks = RECORDED["offsets"].astype(np.uint32), RECORDED["masks"]
    results = np.zeros(offsets.shape, np.uint32)
    memory = np.zeros((len(offsets), REGION), np.uint8)
    launch(text_of(name), [offsets, masks, memory, results], grid=len(offsets), checks="none", engine=engine)
    takes_part = masks[:, None] >> np.arange(LANES, dtype=np.uint32) & 1 != 0
    np.testing.assert_array_equal(results[takes_part], RECORDED[name][takes_part])

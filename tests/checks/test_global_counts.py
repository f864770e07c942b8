"""Requests, sectors and lines of global memory against patterns counted by hand, through .ptx on both engines."""

import pytest

from tests.helpers import run_text

ALL = 0xFFFFFFFF
KERNEL = """// ptxsim: launch block=32
// ptxsim: arg data = zeros(4096):u32
.version 8.0
.target sm_90a
.address_size 64
.visible .entry access(.param .u64 data)
{{
    .reg .pred %p;
    .reg .b32 %lane, %bit, %r<4>;
    .reg .b64 %base, %off, %at;
    ld.param.u64 %base, [data];
    mov.u32 %lane, %laneid;
    mov.b32 %r0, 0;
    mov.b32 %r1, 0;
    mov.b32 %r2, 0;
    mov.b32 %r3, 0;
    shr.u32 %bit, {mask:#x}, %lane;
    and.b32 %bit, %bit, 1;
    setp.ne.u32 %p, %bit, 0;
    mul.wide.u32 %off, %lane, {step};
    add.u64 %at, %base, %off;
    @%p {access}
    ret;
}}
"""
# bytes from lane to lane, bytes from the start, active lanes, sectors and lines of accesses of a width
WORDS = {
    "coalesced": (4, 0, ALL, 4, 1),
    "stride 2": (8, 0, ALL, 8, 2),
    "stride 32": (128, 0, ALL, 32, 32),
    "misaligned by 4": (4, 4, ALL, 5, 2),
    "misaligned by a sector": (4, 32, ALL, 4, 2),
    "broadcast": (0, 0, ALL, 1, 1),
    "even lanes": (4, 0, 0x55555555, 4, 1),
    "eight lanes": (4, 0, 0xFF, 1, 1),
    "first and last": (4, 0, 0x80000001, 2, 1),
    "one lane": (128, 0, 1 << 9, 1, 1),
}
VECTORS = {
    "coalesced": (16, 0, ALL, 16, 4),
    "two a line": (64, 0, ALL, 32, 16),
    "misaligned by 16": (16, 16, ALL, 17, 5),
    "broadcast": (0, 0, ALL, 1, 1),
    "a quarter of the lanes": (16, 0, 0xFF, 4, 1),
    "every fourth lane": (16, 0, 0x11111111, 8, 4),
}
CASES = [
    *(("ld.global.b32 %r0, [%at+{0}];", *case) for case in WORDS.values()),
    *(("st.global.b32 [%at+{0}], %r0;", *case) for case in WORDS.values()),
    *(("ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%at+{0}];", *case) for case in VECTORS.values()),
    *(("st.global.v4.b32 [%at+{0}], {{%r0, %r1, %r2, %r3}};", *case) for case in VECTORS.values()),
    ("ld.global.v2.b32 {{%r0, %r1}}, [%at+{0}];", 8, 0, ALL, 8, 2),
    ("ld.global.u8 %r0, [%at+{0}];", 1, 0, ALL, 1, 1),
    ("ld.global.u8 %r0, [%at+{0}];", 1, 31, ALL, 2, 1),
    ("ld.global.nc.b32 %r0, [%at+{0}];", 12, 0, ALL, 12, 3),
]


@pytest.mark.thin(5)
@pytest.mark.parametrize("access, step, start, mask, sectors, lines", CASES)
def test_sectors_are_those_counted_by_hand(access, step, start, mask, sectors, lines, engine):
    text = KERNEL.format(mask=mask, step=step, access=access.format(start))
    result = run_text(text, engine=engine, banks=True)
    assert result.findings == [] and result.run.engine == engine
    (row,) = result.run.banks.global_rows
    assert (row.requests, row.sectors, row.lines) == (1, sectors, lines)
    assert (result.run.banks.requests, result.run.banks.sectors) == (1, sectors)


def test_no_lane_is_no_request(engine):
    text = KERNEL.format(mask=0, step=4, access="ld.global.b32 %r0, [%at];")
    assert run_text(text, engine=engine, banks=True).run.banks.global_rows == []

"""Groups of bulk copies on both engines: lanes commit and wait on their own; warps without copies wait natively."""

import pytest

from tests.engine.programs import compare, run, same_events

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n)
{{
    .shared .align 128 .b8 tile[2048];
    .reg .b32 %r<8>, %tid, %s; .reg .b64 %p, %g; .reg .pred %q, %odd, %first, %two;
    mov.u32 %tid, %tid.x; ld.param.u64 %g, [data];
    mov.u32 %r0, %ctaid.x; mad.lo.u32 %r0, %r0, 64, %tid; mul.wide.u32 %p, %r0, 16; add.u64 %p, %g, %p;
    mov.u32 %s, tile; shl.b32 %r1, %tid, 4; add.u32 %s, %s, %r1;
    and.b32 %r2, %tid, 1; setp.eq.u32 %odd, %r2, 1; setp.eq.u32 %first, %tid, 0; setp.lt.u32 %two, %tid, 2;
    st.shared.v4.u32 [%s], {{%tid, %r0, %r1, %tid}}; fence.proxy.async.shared::cta; bar.sync 0;
    {body}
    bar.sync 0;
    st.shared.v4.u32 [%s], {{%r1, %r1, %r1, %r1}};
    ret;
}}
"""
COPY, HALF = (f"cp.async.bulk.global.shared::cta.bulk_group [{to}], [%s], 16;" for to in ("%p", "%g"))
COMMIT, ALL, READ = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;"
KERNELS = {
    "one lane copies, all wait": f"@%first {COPY} {COMMIT} {ALL}",
    "all copy": f"{COPY} {COMMIT} {READ}",
    "one group stays in flight": f"@%two {COPY} {COMMIT} @%first {HALF} {COMMIT} cp.async.bulk.wait_group.read 1; {ALL}",
    "lanes commit on their own": f"@%two {COPY} @%first {COMMIT} @%odd {COMMIT} {COMMIT} cp.async.bulk.wait_group 1; {ALL}",
    "one half copies": f"@%odd bra OVER; @%two {COPY} {COMMIT} {READ} OVER: {ALL}",
    "nothing is committed": f"@%first {COPY} {READ}",
    "one lane does not commit": f"@%two {COPY} @%first {COMMIT} {ALL}",
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", KERNELS)
def test_bulk_groups_do_and_tell_the_same(name):
    text = KERNEL.format(body=KERNELS[name])
    for options in ({"checks": "none"}, {"checks": "all"}, {"checks": "memory", "seed": 3}):
        compare(text, **options)
    assert same_events(text)


def test_findings():
    for name, body in KERNELS.items():
        found = [finding.name for finding in run(KERNEL.format(body=body), "compiled")[1].findings]
        assert ("missing-commit" in found) == ("commit" in name and "on their own" not in name), name


def test_copies_and_waits_are_native():
    for name, body in KERNELS.items():
        left = run(KERNEL.format(body=body), "compiled", checks="none")[1].slow_path
        assert ("commit" in name and "on their own" not in name) == any(
            "wait_group" in one.instruction for one in left
        ), name
        assert not any("bulk_group" in one.instruction for one in left), name

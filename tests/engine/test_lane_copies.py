"""Native cp.async against the interpreter: sizes, zero fill, guards, groups, and copies under way when Python takes over."""

import pytest

from tests.engine.programs import compare, run, same_events

pytestmark = pytest.mark.usefixtures("slow_isspacep")

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n)
{{
    .shared .align 16 .b8 tile[8192];
    .reg .b32 %r<16>, %tid, %s; .reg .b64 %p, %g, %o; .reg .pred %q, %odd, %low;
    mov.u32 %tid, %tid.x; ld.param.u64 %g, [data];
    mov.u32 %r0, %ctaid.x; mad.lo.u32 %r0, %r0, 64, %tid; mul.wide.u32 %p, %r0, 16; add.u64 %p, %g, %p;
    mov.u32 %s, tile; shl.b32 %r1, %tid, 4; add.u32 %s, %s, %r1;
    and.b32 %r2, %tid, 1; setp.eq.u32 %odd, %r2, 1; setp.lt.u32 %low, %tid, 40; selp.u32 %r3, 16, 0, %odd;
    mov.u32 %r4, 7; st.shared.v4.u32 [%s], {{%r4, %r4, %r4, %r4}}; st.shared.v4.u32 [%s+2048], {{%r4, %r4, %r4, %r4}};
    {body}
    bar.sync 0;
    xor.b32 %r1, %r1, 16; mov.u32 %r5, tile; add.u32 %r5, %r5, %r1;
    ld.shared.v4.u32 {{%r6, %r7, %r8, %r9}}, [%r5]; ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r5+2048];
    add.u32 %r6, %r6, %r10; add.u32 %r7, %r7, %r11; add.u32 %r8, %r8, %r12; add.u32 %r9, %r9, %r13;
    bar.sync 0;
    st.global.v4.u32 [%p], {{%r6, %r7, %r8, %r9}};
    ret;
}}
"""
COPY = "cp.async.cg.shared.global [%s], [%p], 16"
OTHER = "cp.async.ca.shared.global [%s+2048], [%p], {size};"
COMMIT, ALL = "cp.async.commit_group;", "cp.async.wait_all;"


def wait(newest: int) -> str:
    return f"cp.async.wait_group {newest};"


NATIVE = {
    "a group": f"{COPY}; {COMMIT} {wait(0)}",
    "4 bytes": f"{OTHER.format(size=4)} {COMMIT} {wait(0)}",
    "8 bytes": f"{OTHER.format(size=8)} {ALL}",
    "zero fill by a register": f"{COPY}, %r3; {COMMIT} {wait(0)}",
    "zero fill by a number": f"{COPY}, 0; {ALL}",
    "ignored": f"{COPY}, %odd; {ALL}",
    "guarded": f"@%low {COPY}; {COMMIT} {wait(0)}",
    "guarded and ignored": f"@!%low {COPY}, !%odd; {COMMIT} {wait(0)}",
    "the newer group is not waited for": f"{COPY}; {COMMIT} {OTHER.format(size=4)} {COMMIT} {wait(1)}",
    "neither is": f"{COPY}; {COMMIT} {OTHER.format(size=4)} {COMMIT} {wait(2)}",
    "read when it lands": f"{COPY}; {COMMIT} mov.u32 %r14, 99; st.global.u32 [%p], %r14; {wait(0)}",
    "over an older one": f"{COPY}; {COMMIT} cp.async.ca.shared.global [%s], [%p+4], 4; {COMMIT} {wait(0)}",
    "an empty group": f"{COMMIT} {COPY}; {COMMIT} {COMMIT} {wait(1)}",
    "many": f"mov.u32 %r15, 0; AGAIN: {COPY}; {COMMIT} {wait(3)} add.u32 %r15, %r15, 1; setp.lt.u32 %q, %r15, 300; @%q bra AGAIN; {ALL}",
    "an mbarrier is informed": f"{COPY}; mbarrier.init.shared.b64 [%s+4096], 1; cp.async.mbarrier.arrive.noinc.shared.b64 [%s+4096]; "
    f"{OTHER.format(size=4)} AGAIN: mbarrier.try_wait.parity.shared.b64 %q, [%s+4096], 0; @!%q bra AGAIN; {COMMIT} {wait(0)}",
}  # fmt: skip
LEFT = {
    "part of an element": f"{COPY}, 7; {ALL}",
    "python takes over": f"{COPY}; {COMMIT} {OTHER.format(size=4)} isspacep.shared %q, %p; {COMMIT} {wait(1)}",
    "more than fit": " ".join([COPY + ";"] * 200) + f" {COMMIT} {wait(0)}",
    "nothing committed": f"{COPY}; {wait(0)}",
    "misaligned": f"add.u32 %s, %s, 4; {COPY}; {ALL}",
    "outside": f"add.u64 %p, %p, 1000000; {COPY}; {ALL}",
    "outside of shared memory": f"add.u32 %s, %s, 1000000; {COPY}; {ALL}",
}
DIVERGED = {
    "some lanes copy": f"@!%low bra OVER; {COPY}; {COMMIT} {wait(0)} OVER:",
    "lanes wait on their own": f"@%odd bra ODD; {COPY}; {COMMIT} {OTHER.format(size=4)} {COMMIT} {wait(1)} bra OVER; "
    f"ODD: {OTHER.format(size=8)} {COMMIT} {wait(0)} OVER: {ALL}",
    "lanes of one copy wait on their own": f"{COPY}; {COMMIT} {OTHER.format(size=4)} {COMMIT} @%odd {wait(0)} @!%odd {wait(1)} {ALL}",
    "lanes commit on their own": f"{COPY}; @%odd {COMMIT} {OTHER.format(size=4)} {COMMIT} {COMMIT} @%low {wait(1)} @%odd {wait(2)} {ALL}",
    "some lanes leave": f"{COPY}; {COMMIT} {OTHER.format(size=4)} {COMMIT} @!%low ret; {wait(1)} {ALL}",
    "some wait for nothing, often": f"@%odd {OTHER.format(size=4)} @%odd bra OVER; mov.u32 %r15, 0; AGAIN: {COPY}; {COMMIT} {wait(3)} "
    f"add.u32 %r15, %r15, 1; setp.lt.u32 %q, %r15, 40; @%q bra AGAIN; OVER: {ALL}",
}  # fmt: skip


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("many", "more than fit")))
        for name in [*NATIVE, *LEFT, *DIVERGED]
    ],
)
def test_copies_do_and_tell_the_same(name):
    text = KERNEL.format(body=(NATIVE | LEFT | DIVERGED)[name])
    compare(text, checks="all")
    compare(text, checks="memory", seed=3)
    assert same_events(text)


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", NATIVE)
def test_what_is_native(name, slow_path):
    compare(KERNEL.format(body=NATIVE[name]), checks="none")
    assert slow_path == {}


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name, slow_path):
    compare(KERNEL.format(body=LEFT[name]), checks="none")
    assert bool(slow_path) == (name in ("part of an element", "python takes over"))


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", DIVERGED)
def test_parts_of_warps_are_native(name):
    for grid, block in (2, 64), (1, 56):
        text = KERNEL.format(body=DIVERGED[name])
        compare(text, checks="none", grid=grid, block=block)
        assert run(text, "compiled", checks="none", grid=grid, block=block)[1].slow_path == []


def test_copies_go_on_natively_after_python_had_its_say():
    """What has begun in native code lands there, although an instruction in between has none."""
    left = run(KERNEL.format(body=LEFT["python takes over"]), "compiled", checks="none")[1].slow_path
    assert [(one.instruction, one.count) for one in left] == [("isspacep.shared", 4)]


def test_room_grows_with_the_first_cta_that_needs_it():
    text = KERNEL.format(body=LEFT["more than fit"])
    left = run(text, "compiled", grid=4, checks="none")[1].slow_path
    assert [(one.instruction, one.count) for one in left] == [("cp.async.cg.shared.global", 2)]

"""Litmus tests of the memory model with every scope and fence: race-free ones are silent, racy ones reported, whatever the schedule.

A writer stores data and sets a flag; whoever sees the flag reads the data (message passing), or sets another flag for a third
thread that does (write-to-read causality). PTX ISA, "Memory Consistency Model"; the shapes that are no such pattern (store
buffering, coherence) are files in tests/cases/order.
"""

from itertools import product

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source

# Where the threads are that take the roles 0 to 2: the narrowest scope that has all of them, or the writer apart from the others.
PLACES = ("cta", "cluster", "gpu")
LAUNCH = {
    "cta": "grid=1 block=96", "cluster": "grid=4 block=32 cluster=4", "gpu": "grid=3 block=32", "apart": "grid=2 block=96",
}  # fmt: skip
CTAS = "mov.u32 %role, %ctaid.x;"
WARPS = "shr.u32 %role, %t, 5;"
APART = """shr.u32 %role, %t, 5;
    mov.u32 %v, %ctaid.x;
    setp.eq.u32 %p, %role, 0;
    setp.eq.xor.u32 %p, %v, 0, %p;
    @%p bra done;"""  # warp 0 of CTA 0, warps 1 and 2 of CTA 1
ROLE = {"cta": WARPS, "cluster": CTAS, "gpu": CTAS, "apart": APART}
SCOPES = ("cta", "cluster", "gpu", "sys")
MEMBAR = {"cta": "cta", "gpu": "gl", "sys": "sys"}

TEXT = """// ptxsim: launch {launch}
// ptxsim: arg data = zeros(1):u32
// ptxsim: arg flags = zeros(2):u32
// ptxsim: arg out = zeros(1):u32
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flags, .param .u64 out)
{{
    .reg .b64 %data, %flags, %out;
    .reg .b32 %t, %role, %lane, %v, %old;
    .reg .pred %p, %q;
    ld.param.u64 %data, [data];
    ld.param.u64 %flags, [flags];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    and.b32 %lane, %t, 31;
    setp.ne.u32 %q, %lane, 0;
    @%q bra done;
    {role}
    setp.eq.u32 %p, %role, 1;
    @%p bra second;
    setp.eq.u32 %p, %role, 2;
    @%p bra third;
    setp.ne.u32 %p, %role, 0;
    @%p bra done;
    st.global.u32 [%data], 42;
    {set_first}
    bra done;
second:
    {see_first}
    setp.eq.u32 %p, %v, 0;
    @%p bra second;
    {after_first}
    {act}
    bra done;
third:
    {third}
done:
    ret;
}}
"""
READ = "ld.global.u32 %v, [%data];\n    st.global.u32 [%out], %v;"


def flag(how, scope, at):
    """Instructions that set a flag, that see it, and that stand after the loop which waits for it."""
    if how == "release":
        return f"st.release.{scope}.u32 [%flags+{at}], 1;", f"ld.acquire.{scope}.u32 %v, [%flags+{at}];", ""
    if how == "atomics":
        see = f"atom.acquire.{scope}.global.add.u32 %v, [%flags+{at}], 0;"
        return f"red.release.{scope}.global.add.u32 [%flags+{at}], 1;", see, ""
    if how == "relaxed":
        return f"st.relaxed.{scope}.u32 [%flags+{at}], 1;", f"ld.relaxed.{scope}.u32 %v, [%flags+{at}];", ""
    if how == "membar":
        fence = f"membar.{MEMBAR[scope]};"
        return f"{fence} st.volatile.global.u32 [%flags+{at}], 1;", f"ld.volatile.global.u32 %v, [%flags+{at}];", fence
    fence = f"fence.{how}.{scope};"
    return f"{fence} st.relaxed.{scope}.u32 [%flags+{at}], 1;", f"ld.relaxed.{scope}.u32 %v, [%flags+{at}];", fence


def races(place, first, second=None):
    """Whether races are found; both engines must agree, on every schedule."""
    set_first, see_first, after_first = flag(*first, 0)
    act, third = READ, "bra done;"
    if second is not None:
        act, see, after = flag(*second, 4)
        third = f"{see}\n    setp.eq.u32 %p, %v, 0;\n    @%p bra third;\n    {after}\n    {READ}"
    text = TEXT.format(
        launch=LAUNCH[place], role=ROLE[place], set_first=set_first, see_first=see_first, after_first=after_first, act=act, third=third
    )  # fmt: skip
    found = set()
    for engine, schedules in (("compiled", 1), ("compiled", 4), ("interpreter", 1)):
        result = run_file(Source(text, "litmus.ptx"), options=Options(engine=engine, checks="all", schedules=schedules))
        names = {finding.name for finding in result.findings}
        assert names <= {"race-global", "schedule-dependent"}, names
        found.add("race-global" in names)
    (answer,) = found
    return answer


WAYS = [
    (how, scope)
    for how, scope in product(("release", "atomics", "acq_rel", "sc", "membar"), SCOPES)
    if how != "membar" or scope in MEMBAR
]


def reaches(scope, place):
    return SCOPES.index(scope) >= SCOPES.index(place)


@pytest.mark.thin(9)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("how", "scope"), WAYS)
def test_message_passing(place, how, scope):
    assert races(place, (how, scope)) is not reaches(scope, place)


@pytest.mark.thin(9)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("how", "scope"), [way for way in WAYS if way[1] != "sys"])  # as far as gpu, in a launch
def test_causality(place, how, scope):
    assert races(place, (how, scope), (how, scope)) is not reaches(scope, place)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("first", "second", "free"), [("gpu", "cta", True), ("cta", "gpu", False), ("cta", "cta", False)]
)
@pytest.mark.parametrize("how", ["release", "acq_rel", "sc"])
def test_causality_goes_on_in_narrower_scopes(how, first, second, free):
    """The writer is in one CTA, the others are in another one."""
    assert races("apart", (how, first), (how, second)) is not free


@pytest.mark.parametrize("place", PLACES)
def test_relaxed_flags_order_nothing(place):
    assert races(place, ("relaxed", "sys"))

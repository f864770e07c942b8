"""Which parameters a kernel may write through, and whether what it loads says where it goes."""

import pytest

from ptxsim.engine.analysis.written_parameters import maps_are_parameters, memory_steers, written_parameters
from ptxsim.session.module import Module

HEADER = """
.version 8.6
.target sm_90a
.address_size 64
.global .u64 place;
.func (.reg .u64 %r) next(.reg .u64 %a) { add.u64 %r, %a, 8; ret; }
.visible .entry k(.param .u64 x, .param .u64 out, .param .u64 table, .param .u32 n, .param .align 64 .b8 map[128])
{
  .reg .u64 %rd<9>; .reg .u32 %r<4>; .reg .pred %p;
  .shared .align 128 .b8 tile[1024];
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [table];
  ld.param.u32 %r0, [n];
  ld.global.u32 %r1, [%rd0];
"""
X, OUT, TABLE, N, MAP = 0, 8, 16, 24, 64
CASES = {
    "what is loaded is an index": ("mad.wide.u32 %rd3, %r1, 4, %rd1; st.global.u32 [%rd3+8], 1;", {OUT}),
    "integers are told, too": ("mad.wide.u32 %rd3, %r0, 4, %rd1; red.global.add.u32 [%rd3], 1;", {OUT, N}),
    "either, as an integer says": ("setp.eq.u32 %p, %r0, 0; selp.b64 %rd3, %rd1, %rd2, %p; st.global.u32 [%rd3], 1;", {OUT, TABLE, N}),
    "around a loop": ("mov.u64 %rd3, %rd1; L: st.u32 [%rd3], 1; mov.u64 %rd3, %rd2; bra L;", {OUT, TABLE}),
    "an address in memory": ("ld.global.u64 %rd3, [%rd2]; st.global.u32 [%rd3], 1;", set()),
    "that the kernel has put there": (
        "st.shared.u64 [tile], %rd1; ld.shared.u64 %rd3, [tile]; st.global.u32 [%rd3], 1;", {OUT}),
    "parameters by their address": (
        "mov.u64 %rd3, out; cvta.param.u64 %rd3, %rd3; ld.u64 %rd4, [%rd3]; st.u32 [%rd4], 1;", {OUT}),
    "a bulk copy": ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 1024;", {OUT}),
    "an asynchronous copy to shared memory": ("cp.async.cg.shared.global [tile], [%rd2], 16;", set()),
    "a tensor map": (
        "mov.u64 %rd3, map; cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd3, {%r0, %r1}], [tile];", {N, MAP}),
    "a tensor map in memory": (
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd1;"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {0, 0}], [tile];", {OUT, TABLE}),
    "shared memory": ("st.shared.u64 [tile], %rd1; st.shared.u32 [tile+8], %r1;", set()),
    "a variable's": ("st.global.u64 [place], %rd1;", set()),
    "a function": ("call (%rd3), next, (%rd1);", None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_parameters_that_may_be_written_through(case):
    body, expected = CASES[case]
    found = written_parameters(Module.from_text(f"{HEADER}{body} ret; }}", "k.ptx").kernel("k").program())
    assert found == (expected if expected is None else frozenset(expected))


STRAIGHT = {
    "what is loaded is stored": "add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;",
    "a parameter says which lanes": "setp.eq.u32 %p, %r0, 0; @%p st.global.u32 [%rd1], %r1; @%p bra L; L:",
    "a parameter by its address": "mov.u64 %rd3, out; cvta.param.u64 %rd3, %rd3; ld.param.u64 %rd4, [%rd3]; st.u32 [%rd4], %r1;",
    "a wait for a copy": (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd0], 16, [tile+512];"
        "L: mbarrier.try_wait.parity.shared.b64 %p, [tile+512], 0; @!%p bra L; ld.shared.u32 %r2, [tile]; st.u32 [%rd1], %r2;"),
    "a map that is a parameter": (
        "mov.u64 %rd3, map; cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd3, {%r0, %r0}], [tile];"),
}  # fmt: skip
STEERED = {
    "an index": "mad.wide.u32 %rd3, %r1, 4, %rd1; st.global.u32 [%rd3+8], 1;",
    "a branch": "setp.eq.u32 %p, %r1, 0; @%p bra L; st.global.u32 [%rd1], 1; L:",
    "a guard": "setp.eq.u32 %p, %r1, 0; @%p st.global.u32 [%rd1], 1;",
    "through shared memory": "st.shared.u32 [tile], %r1; ld.shared.u32 %r2, [tile]; setp.eq.u32 %p, %r2, 0; @%p bra L; L:",
    "by way of another lane": "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; cvt.u64.u32 %rd3, %r2; st.global.u32 [%rd3], 1;",
    "an address in memory": "ld.global.u64 %rd3, [%rd2]; st.global.u32 [%rd3], 1;",
    "a map in memory": "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r0, %r0}], [tile];",
    "coordinates": "mov.u64 %rd3, map; cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd3, {%r1, %r1}], [tile];",
    "an atomic's result": "atom.global.add.u32 %r2, [%rd2], 1; setp.eq.u32 %p, %r2, 0; @%p bra L; L:",
    "a strong load": "ld.acquire.gpu.global.u32 %r2, [%rd2]; setp.eq.u32 %p, %r2, 0; @%p bra L; L:",
    "a vote": "setp.eq.u32 %p, %r1, 0; vote.sync.any.pred %p, %p, -1; @%p bra L; L:",
    "a function": "call (%rd3), next, (%rd1);",
}


@pytest.mark.parametrize("case", [*STRAIGHT, *STEERED])
def test_what_is_loaded_may_say_where_a_kernel_goes(case):
    body = (STRAIGHT | STEERED)[case]
    program = Module.from_text(f"{HEADER}{body} ret; }}", "k.ptx").kernel("k").program()
    assert memory_steers(program) == (case in STEERED)


COPY = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [{}, {{0, 0}}], [tile];"
PARAMETERS = {
    "itself": "mov.u64 %rd3, map; " + COPY.format("%rd3"),
    "as a generic address": "mov.u64 %rd3, map; cvta.param.u64 %rd4, %rd3; " + COPY.format("%rd4"),
    "no map at all": "st.global.u32 [%rd1], %r1;",
}
OTHERS = {
    "in memory": COPY.format("%rd2"),
    "a variable's address": "mov.u64 %rd3, place; " + COPY.format("%rd3"),
    "a variable's, or a parameter": (
        "setp.eq.u32 %p, %r0, 0; mov.u64 %rd3, map; mov.u64 %rd4, place; selp.b64 %rd5, %rd3, %rd4, %p; "
        + COPY.format("%rd5")
    ),
    "one or the other way": "mov.u64 %rd3, map; L: " + COPY.format("%rd3") + " mov.u64 %rd3, %rd2; bra L;",
    "a parameter that comes back from memory": "mov.u64 %rd3, map; st.global.u64 [place], %rd3; ld.global.u64 %rd4, [place]; "
    + COPY.format("%rd4"),
    "a function": "call (%rd3), next, (%rd1);",
}


@pytest.mark.parametrize("case", [*PARAMETERS, *OTHERS])
def test_maps_that_are_parameters_are_told_from_those_that_may_change(case):
    body = (PARAMETERS | OTHERS)[case]
    program = Module.from_text(f"{HEADER}{body} ret; }}", "k.ptx").kernel("k").program()
    assert maps_are_parameters(program) == (case in PARAMETERS)

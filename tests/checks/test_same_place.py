"""Addresses of shared variables that the text names: one variable is one place wherever it is mentioned, two are two."""

import pytest

from ptxsim.checks.order.dataflow.tickets import decided
from ptxsim.checks.order.dataflow.unused import is_update
from ptxsim.isa.facts import AccessKind
from ptxsim.session.module import Module

HEAD = (
    ".version 8.0 .target sm_90 .address_size 64 .visible .entry k(.param .u64 data) { .shared .align 4 .b32 one; .shared .align 4 .b32 two; "
    ".reg .b32 %r<6>; .reg .b64 %d; .reg .pred %p, %q; ld.param.u64 %d, [data]; "
)


def operations(body: str):
    program = Module.from_text(f"{HEAD}{body} ret; }}").kernel().program()
    return program, {op.opcode: op for op in program.ops}


@pytest.mark.parametrize("place, expected", [("one", True), ("two", False)])
def test_what_is_stored_back_was_loaded_there(place, expected):
    program, ops = operations(f"ld.shared.u32 %r0, [one]; add.u32 %r0, %r0, 1; st.shared.u32 [{place}], %r0;")
    assert is_update(program, ops["ld.shared.u32"], ops["st.shared.u32"]) is expected


@pytest.mark.parametrize("place, expected", [("one", True), ("two", False)])
def test_a_ticket_decides_what_is_done_after_its_result_has_been_handed_on(place, expected):
    program, ops = operations(
        "atom.global.add.u32 %r0, [%d], 1; setp.eq.u32 %p, %r0, 3; selp.u32 %r1, 1, 0, %p; st.shared.u32 [one], %r1; bar.sync 0; "
        f"ld.shared.u32 %r2, [{place}]; setp.ne.u32 %q, %r2, 0; @%q st.global.u32 [%d+8], %r2;"
    )
    assert (ops["st.global.u32"].site in decided(program, AccessKind.WRITE)) is expected

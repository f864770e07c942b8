"""How accesses to shared memory are lowered: which words of it they are, whatever names them."""

from __future__ import annotations

import pytest

from ptxsim.profile.lowering.schedule import dependences
from ptxsim.profile.machine_code import Kind, MachineOp
from tests.profile.kernels import lowered, units


def shared(offset: int, reads: tuple[int, ...] = (9,), writes: tuple[int, ...] = ()) -> MachineOp:
    """A load of a word from there, or a store to it."""
    stores = not writes
    return MachineOp("shared", writes, reads, kind=Kind.ACCESS, space="shared", place=(offset, 4), stores=stores)


def test_accesses_to_other_words_of_a_base_may_pass_each_other():
    load, store, other = shared(0, writes=(1,)), shared(0, (9, 1)), shared(4, writes=(2,))
    after, _ = dependences([load, store, other, shared(0, writes=(3,)), shared(0, (8,), (4,))])
    assert set(after[1]) == {3, 4}  # the same word, and what another register names
    moved = MachineOp("iadd", (9,), (9,))
    after, _ = dependences([store, moved, other])
    assert 2 in after[0]


@pytest.mark.parametrize(("place", "accesses"), [("row", 2), ("row+4", 4)])
def test_words_of_a_variable_by_its_name_are_read_at_once(place, accesses):
    """Eight of them: two of 16 bytes; from the second word on, one, two, four and one."""
    loads = "".join(f"ld.shared.f32 %f{k}, [{place}+{4 * k}];" for k in range(8))
    stores = "".join(f"st.global.f32 [%d0+{128 * k}], %f{k};" for k in range(8))
    machine = lowered(f"ld.param.u64 %d0, [place]; {loads} {stores}", before=".shared .align 16 .b8 row[64];")
    assert units(machine).count("shared") == accesses


def test_a_variable_at_address_zero_has_a_name_too():
    """Before sm_80 nothing of shared memory is the system's: the first variable lies at 0."""
    loads = "".join(f"ld.shared.f32 %f{k}, [row+{4 * k}];" for k in range(4))
    stores = "".join(f"st.global.f32 [%d0+{128 * k}], %f{k};" for k in range(4))
    machine = lowered(
        f"ld.param.u64 %d0, [place]; {loads} {stores}", before=".shared .align 16 .b8 row[16];", target="sm_75"
    )
    assert units(machine).count("shared") == 1

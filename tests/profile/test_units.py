"""What the model makes of machine instructions, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.profile.figures import H100, H200
from ptxsim.profile.machine_code import Kind
from ptxsim.profile.model.encode import OP, parameters
from ptxsim.profile.replay.state import SUB_CORE, WARP
from ptxsim.profile.replay.units import read_registers, stores_on
from ptxsim.profile.sass.listing import Instruction
from ptxsim.profile.sass.translate import bank_reads, translated
from tests.profile.kernels import kernel


def instruction(name: str, operands: str, stall: int = 1, guard: str = "") -> Instruction:
    return Instruction(0, guard, name, operands, 0, stall)


def model_of(i: Instruction):
    return translated(i, 0, 0, {0}, {}, {}, False, False)[0]


def test_registers_are_read_by_bank_and_kept_for_reuse():
    first = instruction("FFMA", "R9, R2.reuse, R7, R3.reuse")
    second = instruction("FFMA", "R11, R2, R12, R3")
    assert bank_reads(first, None) == (1, 2)
    assert bank_reads(second, first) == (1, 0)
    assert bank_reads(second, None) == (2, 1)
    assert bank_reads(instruction("LDG.E", "R2, desc[UR4][R2.64]"), None) == (0, 0)


class Replay:
    """As much of an SM as reading registers takes."""

    def __init__(self, even: int, odd: int, all_even: int, all_odd: int):
        self.ops, self.subs = np.zeros(1, OP).view(np.recarray), np.zeros(1, SUB_CORE).view(np.recarray)
        self.ops["even"], self.ops["odd"], self.ops["all_even"], self.ops["all_odd"] = even, odd, all_even, all_odd


@pytest.mark.parametrize("other, per_instruction", [(False, 1.0), (True, 2.0)])
def test_what_is_kept_for_reuse_is_gone_after_another_warp(other, per_instruction):
    m, p, now = Replay(1, 0, 2, 1), parameters(H200, 132, 132, 1 << 16, 0.0, 34.0).view(np.recarray)[0], 0.0
    for turn in range(64):
        m.subs[0].last = 0 if not other else turn % 2
        now = read_registers(m, p, 0, 0 if not other else 1 - turn % 2, 0, now)
    assert now / 64 == pytest.approx(per_instruction, abs=0.1)


@pytest.mark.parametrize(
    "name, operands, stall, cost",
    [
        ("IMAD.HI.U32", "R0, R5, R0, RZ", 4, None),
        ("IMAD.HI.U32", "R0, R0, -0x61c88647, RZ", 6, 5.5),
        ("IMAD.WIDE.U32", "R2, R5, 0x4, R2", 4, None),
        ("IMAD", "R0, R0, 0x3, RZ", 2, None),
    ],
)
def test_multiplications_of_double_width_hold_their_warp(name, operands, stall, cost):
    made = model_of(instruction(name, operands, stall=2))
    assert (made.stall, made.cost) == (stall, cost)


def test_constants_are_told_apart_by_bank_and_index():
    near, first, table = (
        model_of(instruction("FADD", f"R0, R0, c[{where}]")) for where in ("0x0][0x210", "0x3][0x0", "0x3][0x40")
    )
    assert len({near.constant, first.constant, table.constant}) == 3
    assert model_of(instruction("ULDC", "UR6, c[0x3][UR5+0x8]")).kind == Kind.ACCESS
    assert model_of(instruction("ULDC.64", "UR4, c[0x0][0x208]")).kind == Kind.PLAIN


@pytest.mark.parametrize(
    "access", ["ld.relaxed.gpu.global.u32 %r1, [%d0];", "atom.relaxed.gpu.global.add.u32 %r1, [%d0], 1;"]
)
def test_a_fence_takes_longer_after_an_access_whose_result_is_there(access):
    """By 150 cycles near memory (264 cycles after nothing), tools/data/fences/after.tsv."""

    def cycles(fence: str) -> int:
        turn = f"{access} shr.u32 %r2, %r1, 31; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1; {fence}"
        made = kernel("ld.param.u64 %d0, [place];" + turn * 9 + "st.global.u32 [%d0], %r1;")
        return made.launch(1, 32, [np.zeros(64, np.uint32), 0], profile=True, gpu="H200").cycles.cycles

    alone, fenced = cycles(""), cycles("fence.acq_rel.gpu;")
    assert 400 < (fenced - alone) / 9 < 440


def test_fences_of_the_gpu_take_longer_on_an_h100():
    """684 cycles a fence of one warp (264 on an H200), tools/data/loops_h100, `fence_alone`."""
    from tests.profile.kernels import kernel

    def cycles(gpu: str, turns: int) -> float:
        body = "fence.acq_rel.gpu;" * turns
        return float(kernel(body).launch(1, 32, [np.zeros(16, np.uint32), 0], profile=True, gpu=gpu).cycles)

    found = [(cycles(gpu, 12) - cycles(gpu, 4)) / 8 for gpu in (H200.name, H100.name)]
    assert found[0] == pytest.approx(264, rel=0.15) and found[1] == pytest.approx(684, rel=0.15)


def test_a_multiplication_of_double_width_keeps_others_out_of_the_alu(monkeypatch):
    """2.5 cycles, as loops of products and shifts show that the ALU alone would do in less."""
    monkeypatch.setenv("PTXSIM_PTXAS", "off")

    def cycles(product: str) -> int:
        turn = f"{product} xor.b32 %r1, %r1, %r0; shr.u32 %r2, %r1, 3; xor.b32 %r1, %r1, %r2; shl.b32 %r2, %r1, 5; xor.b32 %r1, %r1, %r2; shr.u32 %r2, %r1, 7; or.b32 %r1, %r1, %r2;"
        body = (
            f"ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r1, %r0; {turn * 64} st.global.u32 [%d0], %r1;"
        )
        return kernel(body).launch(1, 1024, [np.zeros(4, np.uint32), 0], profile=True, checks="none").cycles.cycles

    wide = "mul.wide.u32 %d1, %r1, %r0; cvt.u32.u64 %r1, %d1;"
    assert cycles(wide) - cycles("mul.lo.u32 %r1, %r1, %r0;") > 0.6 * 8 * 64 * 2.5


def test_an_instruction_of_the_xu_takes_half_of_the_fma_pipe():
    """After 16 products of f32 an ex2 takes 3.5 cycles, not 1 (tools/data/bursts/special.tsv)."""

    def cycles(special: str) -> int:
        sums = "".join(f"fma.rn.f32 %f{k % 8}, %f{k % 8}, 0f3F000000, 0f3F000000;" for k in range(16))
        body = "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f9, %r0;" + f"{special} {sums}" * 32
        text = body + "".join(f"add.f32 %f9, %f9, %f{k};" for k in range(8)) + "st.global.f32 [%d0], %f9;"
        return kernel(text).launch(1, 1024, [np.zeros(64, np.float32), 0], profile=True, checks="none").cycles.cycles

    assert (cycles("ex2.approx.ftz.f32 %f9, %f9;") - cycles("")) / (8 * 32) == pytest.approx(3.5, abs=0.5)


@pytest.mark.parametrize(
    "stores, since, stored, stall, goes_on",
    [(9, 4, 1, 1, True), (9, 0, 1, 1, False), (9, 4, 0, 1, False), (9, 4, 1, 0, False), (8, 0, 1, 0, True), (8, 0, 0, 0, False)],
)  # fmt: skip
def test_a_warp_that_stored_last_stores_on_if_it_has_issued_anything_since(stores, since, stored, stall, goes_on):
    """Which the lowering, whose instructions have no stall count, cannot tell (tools/data/accesses.tsv); in its first few it does in any case."""
    p, m = parameters(H200, 132, 132, 1 << 16, 0.0, 34.0).view(np.recarray)[0], Replay(0, 0, 0, 0)
    m.warps = np.zeros(2, WARP).view(np.recarray)
    m.ops["stores"], m.ops["stall"], m.subs[0].stored = True, stall, stored
    m.warps[1].access, m.warps[1].issued, m.warps[1].stores = p.global_warp, since, stores
    assert stores_on(m, p, 0, 1) == goes_on

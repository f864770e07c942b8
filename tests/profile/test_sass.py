"""Machine code as the assembler made it once (tests/data/sass): read, tied to its PTX, replayed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.profile.lowering.lower import lower
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.sass import machine
from ptxsim.profile.sass.listing import read_listing
from ptxsim.profile.sass.machine import listing_of, machine_code
from ptxsim.profile.sass.marks import marked

DATA = Path(__file__).parents[1] / "data" / "sass"
SAID, LISTING = ((DATA / f"sum_loop.{name}").read_text() for name in ("said", "listing"))


@pytest.fixture
def recorded(monkeypatch):
    """What the assembler and the disassembler said in place of them."""
    monkeypatch.setattr(machine, "assembled", lambda text, target: (SAID, LISTING))
    return Module.from_file(DATA / "sum_loop.ptx").kernel()


def test_control_bits():
    first, tid, *_ = read_listing(LISTING, "sum_loop").instructions
    assert (first.name, first.operands, first.stall, first.write, first.waits) == ("LDC", "R1, c[0x0][0x28]", 1, -1, 0)
    assert (tid.name, tid.stall, tid.write, tid.read) == ("S2R", 7, 0, -1)
    loads = [i for i in read_listing(LISTING, "sum_loop").instructions if i.base == "LDG"]
    assert [i.write for i in loads] == [2, 2, 3, 4, 5, 2, 3, 2]


def test_marks_stand_before_guards_and_leave_the_rest():
    kernel = Module.from_file(DATA / "sum_loop.ptx").kernel()
    program = kernel.code().decoded.program
    text, sites = marked(kernel.module.source.text, program.ops)
    assert len(sites) == len(program.ops)
    assert "\n.loc 1 11 0\n@%none bra done;" in text
    assert text.count(".loc") == len(sites)


def test_blocks_are_tied_with_how_often_they_were_unrolled(recorded):
    program = merged(recorded.code().decoded.program)
    listing, marks = listing_of(program, recorded.module.source.text, "sum_loop", "sm_90a")
    made = machine_code(program, listing, marks, lower(program))
    assert [[number for number, _ in segment.pattern] for segment in made.segments] == [
        [0], [1], [1, 1, 1, 1], [1, 1], [1], [2],
    ]  # fmt: skip
    assert made.registers == listing.registers == 17
    assert made.segments[0].followers == {1, 5}


@pytest.mark.parametrize(
    "turns, pieces",
    [(0, (9, 5)), (1, (9, 28, 5)), (9, (9, 28, 15, 15, 5)), (18, (9, 28, 15, 15, 15, 15, 2, 5))],
)  # fmt: skip
def test_a_warp_issues_the_instructions_of_the_path_it_took(recorded, turns, pieces):
    """The peeled iteration, four at a time, what is left, and what comes after the loop."""
    values, results = np.ones(32 * 32, np.float32), np.zeros(64, np.float32)
    cycles = recorded.launch(1, 32, [values, results, turns], profile=True, checks="none").cycles
    assert cycles.issued == sum(pieces)
    assert cycles.assembled == 1
    assert cycles.occupancy.registers == 17
    assert results[1] == turns


@pytest.mark.parametrize("turns", [1, 4])
def test_what_a_loop_begins_with_runs_in_every_turn(monkeypatch, turns):
    """The root's slow path parts the loop's begin, which has no access that must stay there, from the rest."""
    said, listing = ((DATA / f"root_loop.{name}").read_text() for name in ("said", "listing"))
    monkeypatch.setattr(machine, "assembled", lambda text, target: (said, listing))
    kernel = Module.from_file(DATA / "root_loop.ptx").kernel()
    arrays = [np.ones(32 * 4, np.float32) for _ in range(3)]
    cycles = kernel.launch(1, 32, [*arrays, 32 * turns], profile=True, checks="none").cycles
    assert cycles.issued == 11 + 21 * turns + 1


def test_without_the_tools_the_lowering_says_why():
    kernel = Module.from_file(DATA / "sum_loop.ptx").kernel()
    arrays = np.ones(32 * 32, np.float32), np.zeros(64, np.float32)
    cycles = kernel.launch(1, 32, [*arrays, 4], profile=True, checks="none").cycles
    assert cycles.assembled == 0
    assert cycles.no_assembly == "ptxas and nvdisasm not found"

"""Machine code as the assembler made it once (tests/data/sass): read, tied to its PTX, replayed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.profile.lowering.emulated import DETOURS
from ptxsim.profile.lowering.lower import lower
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.machine_code import Kind
from ptxsim.profile.sass import machine, tools
from ptxsim.profile.sass.listing import Listing, read_listing, read_resources
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


def test_constants_of_the_module_come_from_farther_than_parameters(monkeypatch):
    """The first of 256 bytes of them, which no launch brings with it (tools/data/short, e_const)."""

    def cycles(place: str) -> int:
        listing = LISTING.replace("UR7, c[0x0][0x220]", f"UR7, {place}")
        monkeypatch.setattr(machine, "assembled", lambda text, target: (SAID, listing))
        kernel = Module.from_file(DATA / "sum_loop.ptx").kernel()
        arrays = np.ones(32 * 32, np.float32), np.zeros(64, np.float32)
        return int(kernel.launch(1, 32, [*arrays, 4], profile=True, checks="none").cycles)

    assert cycles("c[0x3][0x0]") - cycles("c[0x0][0x400]") == pytest.approx(194, abs=20)


@pytest.mark.parametrize("turns", [1, 4])
def test_what_a_loop_begins_with_runs_in_every_turn(monkeypatch, turns):
    """The root's slow path parts the loop's begin, which has no access that must stay there, from the rest."""
    said, listing = ((DATA / f"root_loop.{name}").read_text() for name in ("said", "listing"))
    monkeypatch.setattr(machine, "assembled", lambda text, target: (said, listing))
    kernel = Module.from_file(DATA / "root_loop.ptx").kernel()
    arrays = [np.ones(32 * 4, np.float32) for _ in range(3)]
    cycles = kernel.launch(1, 32, [*arrays, 32 * turns], profile=True, checks="none").cycles
    assert cycles.issued == 11 + 21 * turns + 1


@pytest.mark.parametrize("value, roots", [(0.0, 0), (1.0, 1)])
def test_a_root_that_is_branched_around_is_not_run(monkeypatch, value, roots):
    """Its slow path parts it from the rest of the branch's statements; the loop's count has moved up before the branch, and is run once."""
    kernel = recorded_kernel(monkeypatch, "root_branch")
    turns = 4
    arrays = np.full(32, value, np.float32), np.zeros(32, np.float32)
    cycles = kernel.launch(1, 32, [*arrays, turns], profile=True, checks="none").cycles
    assert cycles.assembled == 1
    assert cycles.issued == 8 + (8 + 3) * turns + 11 * roots + 2


def test_without_the_tools_the_lowering_says_why():
    kernel = Module.from_file(DATA / "sum_loop.ptx").kernel()
    arrays = np.ones(32 * 32, np.float32), np.zeros(64, np.float32)
    cycles = kernel.launch(1, 32, [*arrays, 4], profile=True, checks="none").cycles
    assert cycles.assembled == 0
    assert cycles.no_assembly == "ptxas and nvdisasm not found"


def recorded_kernel(monkeypatch, name):
    """A kernel of tests/data/sass, with what the assembler and the disassembler said once in place of them."""
    said, listing = ((DATA / f"{name}.{what}").read_text() for what in ("said", "listing"))
    monkeypatch.setattr(machine, "assembled", lambda text, target: (said, listing))
    return Module.from_file(DATA / f"{name}.ptx").kernel()


def test_products_with_the_mark_of_another_instruction_are_products(monkeypatch):
    kernel = recorded_kernel(monkeypatch, "products")
    program = merged(kernel.code().decoded.program)
    listing, marks = listing_of(program, kernel.module.source.text, "products", "sm_90a")
    made = machine_code(program, listing, marks, lower(program))
    products = [op for segment in made.segments for op in segment.ops if op.kind == Kind.PRODUCT]
    assert [program.ops[op.site].opcode.startswith("wgmma.mma_async") for op in products] == [True] * 4
    assert len({op.site for op in products}) == 4 and products == sorted(products, key=lambda op: op.site)


def test_accesses_that_are_always_off_take_no_copys_place(monkeypatch):
    """Each of the unrolled turns waits for its own copy: no turn is shorter than the way to L2 and back."""
    kernel = recorded_kernel(monkeypatch, "copies")
    turns = 12
    source, out = np.zeros(turns * 1024 + 1024, np.uint32), np.zeros(128, np.uint32)
    cycles = kernel.launch(1, 128, [out, source, turns], profile=True, checks="none").cycles
    assert cycles.assembled == 1
    assert cycles.cycles > turns * cycles.machine_code.figures.l2_latency


def test_a_quotient_of_several_instructions_is_one_turn_of_a_loop(monkeypatch):
    kernel = recorded_kernel(monkeypatch, "quotients")
    short, long = (
        kernel.launch(1, 32, [np.zeros(32, np.float32), turns, 3.0], profile=True, checks="none").cycles
        for turns in (8, 16)
    )
    loop = [op.name for op in read_listing((DATA / "quotients.listing").read_text(), "quotients").instructions]
    assert "FCHK" in loop and 8 * 12 < long.issued - short.issued < 8 * 24


def test_a_sum_of_a_double_width_product_is_one_turn_of_a_loop(monkeypatch):
    """The assembler makes one to three instructions of each, which were taken for turns that it had unrolled."""
    kernel = recorded_kernel(monkeypatch, "wide_sums")
    short, long = (
        kernel.launch(1, 32, [np.zeros(32, np.uint64), turns], profile=True, checks="none").cycles for turns in (8, 16)
    )
    assert long.issued - short.issued == 8 * 23


def test_a_product_with_carries_is_one_turn_of_a_loop(monkeypatch):
    """The assembler makes a product and a sum of each, which were taken for two turns."""
    kernel = recorded_kernel(monkeypatch, "carries")
    short, long = (
        kernel.launch(1, 32, [np.zeros(32, np.uint32), turns], profile=True, checks="none").cycles for turns in (8, 16)
    )
    loop = [op.name for op in read_listing((DATA / "carries.listing").read_text(), "carries").instructions]
    assert loop.index("BRA") - loop.index("LOP3.LUT") == 16
    assert long.issued - short.issued == 8 * 17


@pytest.mark.parametrize("engine", ["compiled", "interpreter"])
@pytest.mark.parametrize("ptxas", ["recorded", "off"])
@pytest.mark.parametrize("by, way", [(1e-38, 0), (np.inf, 1), (0.0, 1)])
def test_operands_far_apart_take_the_routine(monkeypatch, engine, ptxas, by, way):
    """All of it, or where they are zero or infinite what it begins with."""
    if ptxas == "off":
        monkeypatch.setenv("PTXSIM_PTXAS", "off")
        kernel = Module.from_file(DATA / "quotients.ptx").kernel()
    else:
        kernel = recorded_kernel(monkeypatch, "quotients")
    near, far = (
        kernel.launch(1, 32, [np.zeros(32, np.float32), 16, by], profile=True, checks="none", engine=engine).cycles
        for by in (3.0, by)
    )
    assert far - near == pytest.approx(16 * DETOURS["div.rn.f32"][way], rel=0.1)


def test_a_vector_read_in_pieces_is_one_turn_of_a_loop_and_reads_its_lines_anew(monkeypatch):
    kernel = recorded_kernel(monkeypatch, "ends")
    loads = [
        op.name for op in read_listing((DATA / "ends.listing").read_text(), "ends").instructions if op.base == "LDG"
    ]
    turns, lines = 8, 4
    source = np.zeros(turns * 128, np.uint32)
    cycles = kernel.launch(1, 32, [np.zeros(32, np.uint32), source, turns], profile=True, checks="none").cycles
    assert set(loads) == {"LDG.E.STRONG.GPU"} and cycles.assembled == 1
    assert cycles.cycles > turns / 4 * cycles.machine_code.figures.l2_latency  # four turns are one of the assembler's
    assert cycles.memory["l2_read_sectors"] == 2 * turns * lines * 4


def test_registers_and_local_memory_want_the_assembler_alone(monkeypatch, tmp_path):
    ptxas = tmp_path / "ptxas"
    said = SAID.replace("0 bytes stack frame", "48 bytes stack frame")
    ptxas.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\n")
    ptxas.chmod(0o755)
    program = Module.from_file(DATA / "sum_loop.ptx").kernel().program("sm_90a")

    def resources():
        return machine.resources_of(program, (DATA / "sum_loop.ptx").read_text(), "sum_loop", "sm_90a", most=255)

    estimate = resources()
    monkeypatch.setattr(tools, "_tool", lambda name: ptxas if name == "ptxas" else None)
    assert resources() == (read_resources_of(said), 48)
    assert estimate == (lower(merged(program)).registers, 0)


def read_resources_of(said):
    found = Listing()
    read_resources(said, "sum_loop", found)
    return found.registers


@pytest.mark.parametrize("first, second", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_what_has_moved_before_a_branch_runs_once(monkeypatch, first, second):
    """Loads and comparisons of both words stand before the first branch; what follows each branch, on its own."""
    kernel = recorded_kernel(monkeypatch, "picked_counts")
    turns = 4
    values = np.tile(np.repeat(np.array([first, second], np.uint32), 32), turns)
    cycles = kernel.launch(1, 32, [values, np.zeros(32, np.uint32), 1, turns], profile=True, checks="none").cycles
    assert cycles.assembled == 1
    assert cycles.issued == 18 + 4 + turns * (17 + 4 * first + 4 * second)
    assert cycles.memory["l1_sectors"] == turns * 2 * 4


@pytest.mark.parametrize("mark", [20, 12])
def test_what_a_slow_path_parts_is_one_block_whatever_mark_its_begin_has(monkeypatch, mark):
    """BSSY has the quotient's mark, or as in long kernels that of the branch before."""
    kernel = recorded_kernel(monkeypatch, "last_quotient")
    said, listing = machine.assembled("", "")
    own = "line 20\n        /*00f0*/                   BSSY"
    assert own in listing
    there = said, listing.replace(own, own.replace("20", str(mark), 1))
    monkeypatch.setattr(machine, "assembled", lambda text, target: there)
    arrays = np.ones(96, np.float32), np.zeros(96, np.float32)
    even, odd = (kernel.launch(1, 32, [*arrays, n], profile=True, checks="none").cycles for n in (2, 3))
    assert (even.issued, odd.issued) == (10, 10 + 17 + 5)


def test_a_load_that_ptxas_makes_after_a_branch_is_made(monkeypatch):
    kernel = recorded_kernel(monkeypatch, "sunk_load")
    arrays = np.ones(32, np.float32), np.zeros(32, np.float32)
    cycles = kernel.launch(1, 32, [*arrays, 1], profile=True, checks="none").cycles
    assert cycles.assembled == 1 and cycles.memory["l1_sectors"] == 4


def test_a_function_runs_after_each_call_of_it(monkeypatch):
    """Two calls a turn, ten instructions in the loop and five in the function; each return takes as long as tools/data/clocked has it."""
    kernel = recorded_kernel(monkeypatch, "calls")
    short, long = (
        kernel.launch(1, 32, [np.zeros(32, np.float32), np.ones(32, np.float32), turns], profile=True, checks="none")
        for turns in (8, 16)
    )
    assert long.cycles.assembled == 1
    assert long.cycles.issued - short.cycles.issued == 8 * (10 + 2 * 5)
    assert 8 * 150 < long.cycles.cycles - short.cycles.cycles < 8 * 190

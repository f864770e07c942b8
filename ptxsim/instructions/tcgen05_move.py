"""Loads and stores of tensor memory, copies to it and shifts. PTX ISA, "TensorCore 5th Generation Instructions: Data Movement"."""

from __future__ import annotations

import numpy as np

from ptxsim.instructions.tcgen05 import FAMILY, GROUP
from ptxsim.isa.facts import Facts, Scope, Word, Words
from ptxsim.isa.operand import Addr, Imm, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, declare, instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.tensor_memory import moved
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory import moved_cells

EXACT = "8.6 sm_100a sm_103a sm_110a"  # what the family-specific targets lack
TMEM = Addr("tensor")
LOADS = Facts(family="tensor_memory_load", scope=Scope.WARP)
STORES = Facts(family="tensor_memory_store", scope=Scope.WARP)

# ---- registers -------------------------------------------------------------------------------------------------------

WORDS = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}  # registers of .x1
NUMBERS = " ".join(f"x{1 << n}" for n in range(8))


def registers(modifiers: Words) -> int:
    return WORDS[modifiers["shape"]] * int(modifiers["num"][1:])


def at_most_128(modifiers: Words) -> str | None:
    return (
        None if registers(modifiers) <= 128 else f".{modifiers['shape']} goes to .x{128 // WORDS[modifiers['shape']]}"
    )


MOVE: Options = {"num": NUMBERS, "rules": (at_most_128,), "requires": FAMILY}
KINDS: Kinds = {"a": TMEM, "d": Vec(registers, Reg("b32", sink=True)), "b": Vec(registers, Reg("b32")), "split": Imm()}


def load(m: Port, a: LaneValue, split: LaneValue, *, shape: str, num: str, pack: Word) -> LaneValue:
    cells = moved(shape, int(num[1:]), split or 0, pack is not None)
    memory, cells = moved_cells(m, a, cells, "tcgen05.ld")
    words = memory.cells[cells.columns, cells.rows]
    if pack is not None:
        words = words[0] & np.uint32(0xFFFF) | words[1] << np.uint32(16)
    return list(words)


def store(m: Port, a: LaneValue, split: LaneValue, b: LaneValue, *, shape: str, num: str, unpack: Word) -> None:
    cells = moved(shape, int(num[1:]), split or 0, unpack is not None)
    memory, cells = moved_cells(m, a, cells, "tcgen05.st")
    words = np.stack(b)
    if unpack is not None:
        words = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)])
    memory.cells[cells.columns, cells.rows] = words


for shapes, split in ((" ".join(list(WORDS)[:4]), ""), ("16x32bx2", ", split")):
    instruction(
        f"tcgen05.ld.sync.aligned.shape.num{{.pack}}.b32 d, [a]{split}", name="tcgen05.ld", shape=shapes, pack="pack::16b",
        operands=KINDS, facts=LOADS, **MOVE,
    )(load)  # fmt: skip
    instruction(
        f"tcgen05.st.sync.aligned.shape.num{{.unpack}}.b32 [a]{split}, b", name="tcgen05.st", shape=shapes, writes="",
        unpack="unpack::16b", operands=KINDS, facts=STORES, **MOVE,
    )(store)  # fmt: skip

REDUCED: Kinds = {"a": TMEM, "d": Vec(registers, Reg("type", sink=True)), "r": Reg("type"), "split": Imm()}
for shape, split in (("32x32b", ""), ("16x32bx2", ", split")):
    reduction: Options = {
        "name": "tcgen05.ld.red", "shape": shape, "num": NUMBERS.replace("x1 ", ""), "op": "min max", "operands": REDUCED,
        "writes": "d r", "requires": "8.8 sm_103f sm_110f",
    }  # fmt: skip
    for extra, types in (("{.abs}{.NaN}", "f32"), ("", "u32 s32")):
        declare(
            f"tcgen05.ld.red.sync.aligned.shape.num.op{extra}.type d, r, [a]{split}", type=types, **reduction
        )  # fmt: skip

# ---- shared memory to tensor memory ----------------------------------------------------------------------------------

for shapes, warps in (
    ("128x256b 4x256b 128x128b", ""), ("64x128b", ".warpx2::02_13"), ("64x128b", ".warpx2::01_23"), ("32x128b", ".warpx4"),
):  # fmt: skip
    for formats, narrow in (("", {}), (".b8x16.source", {"source": "b6x16_p32 b4x16_p64"})):
        declare(
            f"tcgen05.cp.cta_group.shape{warps}{formats} [a], descriptor", name="tcgen05.cp", shape=shapes,
            **narrow, operands={"a": TMEM, "descriptor": Value("u64")}, requires=FAMILY, **GROUP,
        )  # fmt: skip
declare("tcgen05.shift.cta_group.down [a]", name="tcgen05.shift", operands={"a": TMEM}, requires=EXACT, **GROUP)

"""Loads and stores of tensor memory, copies to it and shifts. PTX ISA, "TensorCore 5th Generation Instructions: Data Movement"."""

from __future__ import annotations

from functools import reduce

from ptxsim.instructions.extrema import operate
from ptxsim.instructions.tcgen05 import FAMILY, GROUP, ctas_of
from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Proxy, Scope, Word, Words
from ptxsim.isa.operand import Addr, Imm, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue, bits, maximum, minimum
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory import move
from ptxsim.machine.tensor_memory.copy import copy
from ptxsim.types import ScalarType

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
    return move.load(m, a, shape, int(num[1:]), split or 0, pack is not None)


def store(m: Port, a: LaneValue, split: LaneValue, b: LaneValue, *, shape: str, num: str, unpack: Word) -> None:
    move.store(m, a, b, shape, int(num[1:]), split or 0, unpack is not None)


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


def load_reduced(
    m: Port, a: LaneValue, split: LaneValue, *, shape: str, num: str, op: str, abs: Word, NaN: Word, type: ScalarType
) -> LaneValue:  # fmt: skip
    """The registers, and the least or greatest of each lane's."""
    values = [bits(word, type) for word in load(m, a, split, shape=shape, num=num, pack=None)]
    if type.is_float:
        return values, operate(values, type, op == "max", NaN=NaN, abs=abs)
    return values, reduce(maximum if op == "max" else minimum, values)


for shape, split in (("32x32b", ""), ("16x32bx2", ", split")):
    reduction: Options = {
        "name": "tcgen05.ld.red", "shape": shape, "num": NUMBERS.replace("x1 ", ""), "op": "min max", "operands": REDUCED,
        "writes": "d r", "requires": "8.8 sm_103f sm_110f", "facts": LOADS,
    }  # fmt: skip
    for extra, types in (("{.abs}{.NaN}", "f32"), ("", "u32 s32")):
        instruction(
            f"tcgen05.ld.red.sync.aligned.shape.num.op{extra}.type d, r, [a]{split}", type=types, **reduction
        )(load_reduced)  # fmt: skip

# ---- shared memory to tensor memory ----------------------------------------------------------------------------------


def accesses(_words: Words) -> tuple[Access, ...]:
    return (Access(AccessKind.READ, "shared", proxy=Proxy.ASYNC),)


COPIES = Facts(family="tensor_memory_copy", accesses=accesses, completes_by=Mechanism.MBARRIER)


def copy_to_memory(
    m: Port, a: LaneValue, descriptor: LaneValue, *, cta_group: str, shape: str, warps: str | None, source: str | None
) -> None:
    copy(m, a, descriptor, shape, warps, ctas_of(cta_group), 8 if source is None else BITS[source])


BITS = {"b6x16_p32": 6, "b4x16_p64": 4}  # of an element that becomes a byte

for shapes, warps in (
    ("128x256b 4x256b 128x128b", None), ("64x128b", "warpx2::02_13 warpx2::01_23"), ("32x128b", "warpx4"),
):  # fmt: skip
    for formats in ("", ".b8x16.source"):
        words: Options = {"source": " ".join(BITS)} if formats else {}
        words |= {} if warps is None else {"warps": warps}
        instruction(
            f"tcgen05.cp.cta_group.shape{'' if warps is None else '.warps'}{formats} [a], descriptor", name="tcgen05.cp",
            shape=shapes, writes="", **words, operands={"a": TMEM, "descriptor": Value("u64")}, requires=FAMILY, facts=COPIES,
            **GROUP,
        )(copy_to_memory)  # fmt: skip


@instruction(
    "tcgen05.shift.cta_group.down [a]", name="tcgen05.shift", operands={"a": TMEM}, requires=EXACT, writes="",
    facts=Facts(family="tensor_memory_copy", completes_by=Mechanism.MBARRIER), **GROUP,
)  # fmt: skip
def shift(m: Port, a: LaneValue, *, cta_group: str) -> None:
    move.shift(m, a, ctas_of(cta_group))

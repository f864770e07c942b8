"""Machine code of arithmetic: one row per PTX instruction and type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxsim.engine.program.operand import Constant
from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering import tensor
from ptxsim.profile.lowering.emulated import SEQUENCES
from ptxsim.profile.lowering.fusion import base, bits_of, type_of, words
from ptxsim.profile.lowering.machine_code import Kind, MachineOp

if TYPE_CHECKING:
    from ptxsim.profile.lowering.lower import Lowering

FLOATS = ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2")
HALVES = {"f16": "half", "bf16": "half", "f16x2": "half2", "bf16x2": "half2"}
ALU = (
    "min", "max", "prmt", "lop3", "shf", "selp", "slct", "set", "setp", "szext", "bmsk", "sad", "copysign", "testp",
    "isspacep", "vabsdiff", "activemask", "elect", "dp4a", "dp2a",
)  # fmt: skip
XU = {"popc": "convert", "brev": "convert", "bfind": "convert"}
FUNCTIONS = {
    "ex2": "",
    "tanh": "",
    "rsqrt": "scaled",
    "lg2": "scaled",
    "sqrt": "scaled",
    "rcp": "rcp.approx.f32",
    "sin": "ranged",
    "cos": "ranged",
}


def lower(lowering: Lowering, op: Op) -> list[MachineOp]:
    """Machine code of an operation that touches no memory."""
    name, kind, width, parts = base(op), type_of(op), bits_of(op), words(op)
    fused = lowering.fused.get(op.site)
    if fused == "free":
        return copy(lowering, op)
    if fused in SEQUENCES:
        return lowering.sequence(op, fused)
    if fused is not None:
        return one(lowering, op, fused)
    if name in ("mma", "wmma"):
        count, cycles, latency = (tensor.mma if name == "mma" else tensor.wmma)(op.opcode)
        made = [MachineOp("tensor", (), lowering.reads(op), op.site, cost=cycles) for _ in range(count)]
        made[-1].writes, made[-1].latency = lowering.writes(op), max(cycles, latency - (count - 1) * cycles)
        return made
    if name in ("mov", "cvta", "mapa") or (name == "cvt" and free_conversion(parts)):
        return move(lowering, op)
    if name == "cvt":
        return conversion(lowering, op, parts)
    if kind in FLOATS:
        return floating(lowering, op, name, kind, parts)
    if kind == "pred":
        return one(lowering, op, "alu")
    if width == 64:
        return wide(lowering, op, name, parts)
    return integer(lowering, op, name, kind, parts)


def one(lowering: Lowering, op: Op, unit: str) -> list[MachineOp]:
    if unit in ("alu", "imad", "iadd") and lowering.is_uniform(op):
        unit = "uniform"
    return [MachineOp(unit, lowering.writes(op), lowering.reads(op), op.site)]


def copy(lowering: Lowering, op: Op) -> list[MachineOp]:
    """No instruction: the registers are the same ones."""
    return [MachineOp("nothing", lowering.writes(op), lowering.reads(op), op.site, Kind.COPY)]


def move(lowering: Lowering, op: Op) -> list[MachineOp]:
    """Copies are renamed away; a constant for a register that others write too is an instruction."""
    if lowering.flow.reads[op.site]:
        return copy(lowering, op)
    if isinstance(op.sources[0], Constant):
        return [MachineOp("alu", lowering.writes(op), (), op.site)]
    return [MachineOp("s2r", lowering.writes(op), (), op.site)]


def free_conversion(parts: list[str]) -> bool:
    """Integers to narrower or equal ones, and unsigned ones to wider, change no bits."""
    kinds = [p for p in parts[1:] if p[0] in "usb" and p[1:].isdigit()]
    if len(kinds) != 2 or len(kinds) != len(parts) - 1:
        return False
    to, source = (int(k[1:]) for k in kinds)
    return (to <= source and to >= 32) or (source == 32 and to == 64 and kinds[1][0] == "u") or (to <= source <= 16)


def conversion(lowering: Lowering, op: Op, parts: list[str]) -> list[MachineOp]:
    if "pack" in parts:
        return one(lowering, op, "alu")
    to, source = [p for p in parts[1:] if p.lstrip("abcdefghijklmnopqrstuvwxyz0123456789") == "" and p[-1].isdigit()][
        -2:
    ]
    if to[0] in "us" and source[0] in "us":
        return one(lowering, op, "alu")
    if source in ("s64", "u64") or to in ("s64", "u64") or "f64" in (to, source):
        return one(lowering, op, "convert64")
    if source == "f16" and to == "f32":
        return one(lowering, op, "fma")
    if source == "bf16" and to == "f32":
        return one(lowering, op, "alu")
    if to == "bf16":
        return one(lowering, op, "convert")
    if to == "tf32":
        return lowering.sequence(op, "tf32.rna") if ".rna" in op.opcode else one(lowering, op, "alu")
    if to[0] in "us" or (source[0] in "us" and to == "f16"):
        return one(lowering, op, "convert")
    if source[0] in "us" and to == "f32":
        narrow = source[1:] in ("8", "16")
        return one(lowering, op, "alu") if not narrow else one(lowering, op, "convert")
    if to == source == "f32":
        return one(lowering, op, "fma" if ".sat" in op.opcode else "convert")
    return one(lowering, op, "alu")


def floating(lowering: Lowering, op: Op, name: str, kind: str, parts: list[str]) -> list[MachineOp]:
    if kind == "f64":
        special = {
            "div": "div.f64",
            "rcp": "rcp.f64",
            "sqrt": "sqrt.f64",
            "min": "min.f64",
            "max": "min.f64",
            "selp": "select.64",
        }
        if name in special and ".approx" not in op.opcode:
            return lowering.sequence(op, special[name])
        if name in ("add", "sub", "mul", "fma", "mad"):
            return one(lowering, op, "fp64")
        if name == "setp":
            return one(lowering, op, "dsetp")
        return one(lowering, op, "mufu" if name in ("rcp", "rsqrt") else "alu")
    if name in ("add", "sub", "mul", "fma", "mad"):
        return one(lowering, op, HALVES.get(kind, "fma"))
    if name == "div":
        mode = next((p for p in parts if p in ("approx", "full")), "rn")
        return lowering.sequence(op, f"div.{mode}.f32")
    if name in FUNCTIONS:
        if ".approx" not in op.opcode:
            return lowering.sequence(op, f"{name}.rn.f32")
        recipe = FUNCTIONS[name]
        if recipe and ("ftz" not in parts or name in ("sin", "cos")):
            return lowering.sequence(op, recipe)
        made = one(lowering, op, "mufu")
        return [MachineOp("mufu", (), lowering.reads(op), op.site), *made] if kind.endswith("x2") else made
    return one(lowering, op, "alu")


def wide(lowering: Lowering, op: Op, name: str, parts: list[str]) -> list[MachineOp]:
    """64-bit integers live in two registers."""
    if name in ("mul", "mad"):
        return lowering.sequence(op, "mul.hi.64" if "hi" in parts else "mul.64")
    if name in ("div", "rem"):
        return lowering.sequence(op, "div.64")
    if name in ("and", "or", "xor", "not"):
        return one(lowering, op, "uniform") if lowering.is_uniform(op) else lowering.sequence(op, "logic.64")
    if name in ("shl", "shr"):
        return lowering.sequence(op, "shift.64")
    if name in ("min", "max"):
        return lowering.sequence(op, "minmax.64")
    if name in ("selp", "slct"):
        return lowering.sequence(op, "select.64")
    if name == "setp":
        return lowering.sequence(op, "predicate64")
    if name in XU or name == "clz":
        return one(lowering, op, "convert")
    return lowering.sequence(op, "add.64")


def integer(lowering: Lowering, op: Op, name: str, kind: str, parts: list[str]) -> list[MachineOp]:
    if name in ("mul", "mad"):
        if "wide" in parts:
            return one(lowering, op, "imad.wide" if not kind.endswith("16") else "imad")
        return one(lowering, op, "imad.hi" if "hi" in parts else "imad")
    if name in ("mul24", "mad24"):
        return lowering.sequence(op, "mul24")
    if name in ("div", "rem"):
        return lowering.sequence(op, f"div.{'s32' if kind[0] == 's' else 'u32'}")
    if name in ("add", "sub", "addc", "subc", "neg"):
        return one(lowering, op, "imad" if "x2" in kind else "iadd")
    if name in ("dp4a", "dp2a"):
        return one(lowering, op, "imad")
    if name in XU:
        return one(lowering, op, XU[name])
    if name in ("clz", "bfe", "bfi", "fns"):
        return lowering.sequence(op, name)
    if name == "vote":
        return one(lowering, op, "vote")
    if name == "set":
        return [*one(lowering, op, "alu"), *one(lowering, op, "alu")]
    return one(lowering, op, "alu")

"""Accesses to shared memory that cost something else than they are written as. Seen in ptxas 13.0's code for sm_90.

* Adding the constant 1 to a .u32 (or .inc with the largest limit) whose old value nobody wants: the hardware counts
  the lanes on each word and adds once, so lanes on one word cost one wavefront together. Equal to the profiler's count
  of a histogram of 32768 such atomics.
* An address that is one for the warp by the text alone (a variable, a block index): the lanes' values are reduced
  first and one lane accesses, for 32-bit add, min, max, and, or, xor.
* What no instruction does at once, of floating-point numbers or of 64 bits, is a loop around a compare-and-swap
  (`layout.atomic_loops`).
* mbarrier operations and asynchronous stores and reductions do not pass through the load-store pipe, nor does what
  cp.async.cg brings; where it writes zeros, they do.
* wgmma reads the operands it has in shared memory 128 bytes at a time, in every layout: 64 rows of A and N of B, 32 bytes
  of each (64 of B's if A is sparse). Measured on an H200 for 19 forms in 12 layouts (tests/data/wavefronts.json.gz).
"""

from __future__ import annotations

import re

from ptxsim.checks.expression import Origins
from ptxsim.engine.program.operand import Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.layout.atomic_loops import HALF, SPIN, SWAP
from ptxsim.syntax import ast

COUNT, LEADER, ELSEWHERE, COPY, BYPASS = "count", "leader", "elsewhere", "copy", "bypass"
_REDUCED = {"add", "min", "max", "and", "or", "xor"}
_WORDS = {"u32", "s32", "b32"}
_AT_ONCE = {"exch", "cas"}  # of any width
_ELSEWHERE = ("mbarrier.", "red.async.", "st.async.")
_HALVES = {"f16", "bf16"}
_PRODUCT = re.compile(r"wgmma\.mma_async(\.sp)?\..*\.m64n(\d+)k")
# Instructions whose result is one for the warp if their sources are; loads, of a space all lanes share.
_PURE = {
    "mov",
    "cvt",
    "cvta",
    "add",
    "sub",
    "mul",
    "mad",
    "shl",
    "shr",
    "and",
    "or",
    "xor",
    "not",
    "neg",
    "min",
    "max",
    "bfe",
}
_LOADS = {"param", "const", "shared"}
_BY_LANE = ("%tid", "%laneid", "%lanemask", "%clock", "%globaltimer", "%warpid")


def lowered_accesses(program: Program, origins: Origins, keep: bool = False) -> dict[int, str]:
    """COUNT, LEADER, ELSEWHERE, COPY, BYPASS or a kind of loop by the site of every access that is one of them.

    keep: every result is wanted.
    """
    read: set[int] | None = None
    found = {}
    for op in program.ops:
        words = op.opcode.split(".")
        if op.opcode.startswith(_ELSEWHERE):
            found[op.site] = ELSEWHERE
        if op.opcode.startswith(("cp.async.ca", "cp.async.cg")):
            found[op.site] = BYPASS if words[2] == "cg" else COPY
        if words[0] not in ("atom", "red") or "async" in words or "global" in words:
            continue
        if not _WORDS & set(words):
            if not _AT_ONCE & set(words):
                found[op.site] = HALF if _HALVES & set(words) else SPIN
            elif "cas" in words and "b16" in words:
                found[op.site] = SWAP
            continue
        if not any(word.startswith("shared") for word in words):
            continue
        if read is None:
            read = _read_slots(program)
        results = [o for o in op.destinations if isinstance(o, Register) and not o.sink]
        wanted = any(keep or result.slot in read for result in results)
        if not wanted and "u32" in words and _adds_one(words, op.bound.statement.operands[-1]):
            found[op.site] = COUNT
        elif _REDUCED & set(words) and _WORDS & set(words) and _is_uniform(_base(op), op, origins):
            found[op.site] = LEADER
    return found


def product_wavefronts(program: Program) -> dict[int, int]:
    """Wavefronts of a warpgroup's wgmma, by site."""
    found = {}
    for op in program.ops:
        if shape := _PRODUCT.match(op.opcode):
            sparse, n = shape[1] is not None, int(shape[2])
            rows = 64 * (not isinstance(op.bound.statement.operands[1], ast.Vector)) + n * (2 if sparse else 1)
            found[op.site] = rows * 32 // 128
    return found


def _adds_one(words: list[str], operand: ast.Operand) -> bool:
    value = operand.value & 0xFFFFFFFF if isinstance(operand, ast.Integer) else None
    return ("add" in words and value == 1) or ("inc" in words and value == 0xFFFFFFFF)


def _base(op: Op) -> ast.Operand | None:
    return next((o.base for o in op.bound.statement.operands if isinstance(o, ast.Address)), None)


def _is_uniform(operand: ast.Operand | None, at: Op, origins: Origins, depth: int = 12) -> bool:
    """Whether the text alone says that all lanes have the same value."""
    match operand:
        case None | ast.Integer():
            return True
        case ast.Offset() | ast.Address():
            return _is_uniform(operand.base, at, origins, depth)
        case ast.Name():
            name = operand.name
            if name not in origins.slots:
                return not name.startswith(_BY_LANE)
            op = origins.definition(name, at) if depth else None
            if op is None:
                return False
            words = op.opcode.split(".")
            known = words[0] in _PURE or (words[0] == "ld" and _LOADS & {word.partition("::")[0] for word in words})
            return bool(known) and all(_is_uniform(o, op, origins, depth - 1) for o in op.bound.statement.operands[1:])
    return False


def _read_slots(program: Program) -> set[int]:
    """Register slots that some instruction reads."""
    read: set[int] = set()

    def add(operand: object) -> None:
        if isinstance(operand, Register):
            read.add(operand.slot)
        for name in ("elements", "base", "extra"):
            inner = getattr(operand, name, None)
            for part in inner if isinstance(inner, tuple | list) else (inner,):
                if part is not None:
                    add(part)

    for op in program.ops:
        for source in op.sources:
            add(source)
        if op.guard is not None:
            read.add(op.guard[0])
        if op.call is not None:
            read |= {passed.slot for passed in op.call.arguments if passed.slot is not None}
    return read

"""Accesses that cost something else than their events say, because of what ptxas or the hardware makes of them.

* Atomics on 32-bit words of shared memory that are counted by the hardware, and those of any memory that are reduced first so that one
  lane accesses. Read from the code of ptxas 13.0 for sm_90, equal to the profiler's count of a histogram of 32768 such atomics on an H200.
* What no instruction does at once, of floating-point numbers or of 64 bits, is a loop around a compare-and-swap
  (`layout.atomic_loops`).
* Asynchronous stores and reductions do not pass through the load-store pipe, nor does what cp.async.cg brings; where it
  writes zeros, they do.

Bank counts and the cycle model both ask here.
"""

from __future__ import annotations

from enum import StrEnum

from ptxsim.engine.analysis.def_use import DefUse, def_use
from ptxsim.engine.analysis.divergence import divergent_slots
from ptxsim.engine.program.operand import Address, Constant, Register
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Mechanism

WORDS = ("u32", "s32", "b32")
WIDE = ("u64", "s64")
HALVES = ("f16", "bf16")
REDUCIBLE = ("add", "min", "max", "and", "or", "xor")


class Assembled(StrEnum):
    """What an access is counted as; all but REDUCED and ELSEWHERE are kinds of `layout.banks`."""

    COUNTED = "count"  # adds the constant 1, the old value not needed: the hardware counts the lanes on each word and adds once
    REDUCED = (
        "leader"  # at an address that is one for the warp: the lanes' values are reduced first and one lane accesses
    )
    SPIN = "spin"  # loops around a compare-and-swap
    HALF = "half"
    SWAP = "swap"
    ELSEWHERE = "elsewhere"
    COPY = "copy"  # cp.async
    BYPASS = "bypass"


LOOPS = (Assembled.SPIN, Assembled.HALF, Assembled.SWAP)


@fact
def assembled_accesses(program: Program, keep: bool = False) -> dict[int, Assembled]:
    """The accesses, by site, that are counted as something else than their events: all but the reduced ones if they meet shared memory.

    keep: every result is needed, the registers are looked at when the program has ended.
    """
    found = _fewer(program, keep)
    for op in program.ops:
        if _passes_elsewhere(op):
            found[op.site] = Assembled.ELSEWHERE
        elif op.facts.completes_by is Mechanism.CP_ASYNC_GROUP:
            found[op.site] = Assembled.BYPASS if op.words.get("cg") else Assembled.COPY
        elif op.family == "atomic" and op.accesses[0].space in ("shared", None) and (loop := _loop(op)):
            found[op.site] = loop
    return found


def _passes_elsewhere(op: Op) -> bool:
    """Whether an operation is on mbarriers, or its lanes' stores complete there."""
    if op.synchronises is not None:
        return op.synchronises.mechanism is Mechanism.MBARRIER
    return op.facts.by_lanes and op.facts.completes_by is Mechanism.MBARRIER


def _loop(op: Op) -> Assembled | None:
    """The loop that an atomic on shared memory is; None where it is an instruction."""
    type, operation = op.words["type"].name, op.words.get("op")
    if operation == "cas" and type == "b16":
        return Assembled.SWAP
    if type in WORDS or operation in ("exch", "cas"):
        return None
    return Assembled.HALF if type in HALVES else Assembled.SPIN


def _fewer(program: Program, keep: bool) -> dict[int, Assembled]:
    """The atomics that cost less than they are written as."""
    candidates = [op for op in program.ops if op.family == "atomic" and op.words["type"].name in (*WORDS, *WIDE)]
    if not candidates:
        return {}
    flow = def_use(program)
    divergent = divergent_slots(flow)
    found: dict[int, Assembled] = {}
    for op in candidates:
        written = flow.writes[op.site]
        is_needed = bool(written) and (
            keep or any(site in flow.live for slot in written for site in flow.readers[slot])
        )
        shared = op.accesses[0].space == "shared"
        if shared and not is_needed and _counts(op, flow):
            found[op.site] = Assembled.COUNTED
        elif _is_reducible(op, is_needed, shared, flow, divergent) and _is_one_address(op, flow, divergent):
            found[op.site] = Assembled.REDUCED
    return found


def _is_reducible(op: Op, is_needed: bool, shared: bool, flow: DefUse, divergent: set[int]) -> bool:
    """Whether the lanes' operations are one of what they bring together: sums, of which each lane knows its part, and others whose old value is
    not needed. In 64 bits, outside shared memory, the lanes are counted and the count is multiplied."""
    if op.words["type"].name in WIDE:
        index = op.definition.sources.index("b")
        value = flow.value(op, index) if isinstance(op.sources[index], Register) else None
        return not shared and op.words.get("op") == "add" and value not in divergent
    if not shared and op.words.get("op") == "inc":
        return _counts(op, flow)
    return op.words.get("op") in REDUCIBLE and (op.words["op"] == "add" or not is_needed)


def _counts(op: Op, flow: DefUse) -> bool:
    """Whether every lane adds one: `add` of 1, `inc` with the largest limit."""
    added = (op.words["op"], _constant(op, op.definition.sources.index("b"), flow))
    return op.words["type"].name == "u32" and added in (("add", 1), ("inc", 0xFFFFFFFF))


def _constant(op: Op, index: int, flow: DefUse) -> int | None:
    """The value of a source that is a constant, or a register that is a copy of one."""
    source = op.sources[index]
    if isinstance(source, Register) and len(definers := flow.definers.get(flow.value(op, index), [])) == 1:
        definer = flow.program.ops[definers[0]]
        source = definer.sources[0] if definer.family == "mov" and definer.guard is None else None
    return int(source.value) & 0xFFFFFFFF if isinstance(source, Constant) else None


def _is_one_address(op: Op, flow: DefUse, divergent: set[int]) -> bool:
    """Whether all lanes of a warp have the same address, which is the first source."""
    (address, *_) = op.sources
    if not isinstance(address, Address):
        return False
    return not isinstance(address.base, Register) or flow.value(op, 0) not in divergent

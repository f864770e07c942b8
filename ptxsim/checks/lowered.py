"""Accesses to shared memory whose cost differs from their PTX form because ptxas or the hardware lowers them differently.

* Atomics on 32-bit words that are counted by the hardware, or reduced first so that one lane accesses
  (`engine.analysis.assembled_atomics`). Equal to the profiler's count of a histogram of 32768 such atomics.
* What no instruction does at once, of floating-point numbers or of 64 bits, is a loop around a compare-and-swap
  (`layout.atomic_loops`).
* Asynchronous stores and reductions do not pass through the load-store pipe, nor does what cp.async.cg brings; where it
  writes zeros, they do.
* A product of a warpgroup reads the operands it has in shared memory 128 bytes at a time, in every layout: 64 rows of A and N of
  B, 32 bytes of each (64 of B's if A is sparse). Measured on an H200 for 19 forms in 12 layouts (tests/data/wavefronts.json.gz).
"""

from __future__ import annotations

from ptxsim.engine.analysis.assembled_atomics import WORDS, assembled_atomics
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism
from ptxsim.layout.atomic_loops import HALF, SPIN, SWAP
from ptxsim.layout.fragments import dimensions

ELSEWHERE, COPY, BYPASS = "elsewhere", "copy", "bypass"
_HALVES = {"f16", "bf16"}


def lowered_accesses(program: Program, keep: bool = False) -> dict[int, str]:
    """What every access that costs something else is counted as, by site: "count" or "leader" (values of Assembled), ELSEWHERE,
    COPY, BYPASS or a kind of loop.

    keep: every result is needed.
    """
    found: dict[int, str] = {site: how.value for site, how in assembled_atomics(program, keep).items()}
    for op in program.ops:
        match op.family:
            case "async_store" | "mbarrier":
                found[op.site] = ELSEWHERE
            case "cp_async":
                found[op.site] = BYPASS if op.words.get("cg") else COPY
            case "atomic" if op.accesses[0].space in ("shared", None) and (kind := _loop(op)):
                found[op.site] = kind
    return found


def _loop(op: Op) -> str | None:
    """The kind of loop that an atomic on shared memory is; None where it is an instruction."""
    type, operation = op.words["type"].name, op.words.get("op")
    if operation == "cas" and type == "b16":
        return SWAP
    if type in WORDS or operation in ("exch", "cas"):
        return None
    return HALF if type in _HALVES else SPIN


def product_wavefronts(program: Program) -> dict[int, int]:
    """Wavefronts of a warpgroup's products, by site."""
    found = {}
    for op in program.ops:
        if op.completes_by is Mechanism.WGMMA_GROUP:
            _, n, _ = dimensions(op.words["shape"])
            sparse = op.source("e") is not None
            rows = 64 * (not isinstance(op.source("a"), Vector)) + n * (2 if sparse else 1)
            found[op.site] = rows * 32 // 128
    return found

"""The roofline of a replayed SM: arithmetic per cycle against bytes moved, under what the machine can do at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Scope
from ptxsim.lanes import LANES
from ptxsim.profile.figures import Figures
from ptxsim.types import TYPES, ScalarType

WARPS_OF_A_GROUP = 4
# Dense operations per cycle and SM; a multiplication and an addition are two. Public: the architecture white papers of V100,
# A100 and H100, the data sheets of A40, L40S and RTX 5090, their rates divided by SMs and boost clock. Sparse products reach twice as much.
_TENSOR = {
    70: {"f16": 1024},
    80: {"f16": 2048, "bf16": 2048, "tf32": 1024, "s8": 4096, "u8": 4096, "s4": 8192, "u4": 8192, "b1": 32768, "f64": 128},
    86: {"f16": 1024, "bf16": 1024, "tf32": 512, "s8": 2048, "u8": 2048, "s4": 4096, "u4": 4096},
    89: {"f16": 1024, "bf16": 1024, "tf32": 512, "s8": 2048, "u8": 2048, "s4": 4096, "u4": 4096, "e4m3": 2048, "e5m2": 2048},
    90: {"f16": 4096, "bf16": 4096, "tf32": 2048, "s8": 8192, "u8": 8192, "e4m3": 8192, "e5m2": 8192, "f64": 256},
    # By kind of product on tensor memory; as published of a B200 (figures), tf32 as CUTLASS has it.
    100: {"f16": 8192, "bf16": 8192, "tf32": 4096, "i8": 16384, "f8f6f4": 16384, "mxf8f6f4": 16384, "mxf4": 32768, "mxf4nvf4": 32768,
          "s8": 16384, "u8": 16384, "e4m3": 16384, "e5m2": 16384, "f64": 128},
    120: {"f16": 1024, "bf16": 512, "tf32": 256, "s8": 2048, "u8": 2048, "e4m3": 2048, "e5m2": 2048, "e2m1": 4096},
}  # fmt: skip
_SCALAR = {
    70: {"f16": 256, "f32": 128, "f64": 64},
    80: {"f16": 512, "bf16": 256, "f32": 128, "f64": 64},
    86: {"f16": 256, "bf16": 256, "f32": 256, "f64": 4},
    89: {"f16": 256, "bf16": 256, "f32": 256, "f64": 4},
    90: {"f16": 512, "bf16": 512, "f32": 256, "f64": 128},
    100: {"f16": 512, "bf16": 512, "f32": 256, "f64": 128},
    120: {"f16": 256, "bf16": 256, "f32": 256, "f64": 4},
}
_SHARED_BYTES = 128  # per cycle: 32 banks of 4 bytes


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the machine can do at most: operations, or bytes, per cycle and SM."""

    name: str
    rate: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """Operations of the replayed SM by type (`tensor f16`, `f32`), and bytes that crossed each level of memory; both of all its CTAs.

    Lanes and guards are not looked at: operations are those of full warps, so they are at most this many.
    """

    operations: dict[str, float]
    bytes: dict[str, float]
    cycles: int
    compute: list[Ceiling]
    memory: list[Ceiling]


def operations(blocks: Sequence[Sequence[Op]], executions: np.ndarray, target: str) -> dict[str, float]:
    """Operations by type; `executions`: how often warps executed each block."""
    found: dict[str, float] = {}
    for block, count in zip(blocks, executions.tolist()):
        for op in block if count else ():
            name, amount = _of(op, target)
            if amount:
                found[name] = found.get(name, 0.0) + amount * count
    return found


def products(ops: Sequence[Op], sites: np.ndarray, counts: np.ndarray) -> dict[str, float]:
    """Operations of products on tensor memory, by kind, of the sites that have been recorded for them."""
    found: dict[str, float] = {}
    for site in np.unique(sites[counts > 0]).tolist():
        words = ops[site].words
        name = f"tensor {words['kind'].removeprefix('kind::')}{' sparse' * bool(words.get('sparse'))}"
        found[name] = found.get(name, 0.0) + float(counts[sites == site].sum())
    return found


def _of(op: Op, target: str) -> tuple[str, float]:
    """The type and number of the operations of a warp's instruction."""
    if op.facts.product is not None:
        form = op.product(target, "target").form
        amount = 2.0 * form.m * form.n * form.k
        shared = WARPS_OF_A_GROUP if op.facts.scope is Scope.WARPGROUP else 1
        return f"tensor {form.a}{' sparse' * form.sparse}", amount / shared
    kind = op.words.get("type")
    count = sum(operator in "+-*" for operator in op.facts.operators)
    if count and isinstance(kind, ScalarType):
        element = TYPES[kind.element] if kind.element else kind
        if element.is_float:
            return element.name, float(count * kind.lanes * LANES)
    return "", 0.0


def roofline(figures: Figures, number: int, done: dict[str, float], memory: dict[str, float], cycles: int) -> Roofline:
    """`done`: operations by type; `memory`: totals of the replay. Targets without figures borrow those of sm_90, as cycles do."""
    known = number if number in _TENSOR else 90
    rates = {f"tensor {name}": float(rate) for name, rate in _TENSOR[known].items()}
    rates |= {f"{name} sparse": 2 * rate for name, rate in rates.items()} | {
        k: float(v) for k, v in _SCALAR[known].items()
    }
    moved = {
        "shared memory and L1": _SHARED_BYTES * memory["shared_wavefronts"] + 32 * memory["l1_sectors"],
        "L2": 32 * (memory["l2_read_sectors"] + memory["l2_write_sectors"]) + memory["bulk_bytes"],
        "DRAM": 32 * (memory["dram_sectors"] + memory["dram_written"]),
    }
    levels = [
        Ceiling("shared memory and L1", _SHARED_BYTES), Ceiling("L2", figures.l2_bandwidth_all),
        Ceiling("DRAM", figures.dram_bandwidth / figures.sms),
    ]  # fmt: skip
    compute = [Ceiling(name, rates[name]) for name in done if name in rates]
    return Roofline(done, moved, cycles, compute, levels)

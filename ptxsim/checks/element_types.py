"""Arrays of float64 that a kernel reads as f32: float64 is numpy's default."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Scope
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.memory import Allocation

_ELSEWHERE = {"shared", "local", "const", "param"}


@fact
def takes_f32_alone(program: Program) -> bool:
    """Whether elements of type f32 are loaded or stored in global memory, one at a time, and f64 nowhere.

    Vectors do not count: float4 is a way to copy anything.
    """
    types = {_type(op) for op in program.ops}
    return "f32" in types and "f64" not in types


def _type(op: Op) -> str | None:
    """The type of an access to global memory; None for another instruction and for vectors."""
    if not op.facts.by_lanes or op.facts.scope is not Scope.LANE or op.accesses[0].space in _ELSEWHERE:
        return None
    return str(op.words["type"]) if op.words.get("type") and not op.words.get("vec") else None


class Accesses(Observer):
    """Which instructions touch which buffers."""

    events = frozenset(
        {Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.ASYNC_READ, Event.ASYNC_WRITE}
    )

    def __init__(self, buffers: Mapping[str, Allocation]):
        self.buffers = buffers
        self.sites: dict[str, set[int]] = {name: set() for name in buffers}

    def consume(self, records: np.ndarray) -> None:
        records = records[records["space"] == Space.GLOBAL]
        active = word_mask(records["mask"])
        for name, buffer in self.buffers.items():
            inside = records["addresses"] - np.uint64(buffer.address) < np.uint64(buffer.size)
            self.sites[name].update(records["site"][(inside & active).any(axis=1)].tolist())

    def findings(self, program: Program) -> list[Finding]:
        """A warning for every buffer that is accessed as f32 and in no other way."""
        found = []
        for name, sites in self.sites.items():
            ops = [program.ops[site] for site in sorted(sites)]
            if ops and all(_type(op) == "f32" for op in ops):
                why = f"{name} is an array of float64, and every access takes it for f32"
                help = f"give {name} as float32: array.astype(np.float32), or a value of type :f32"
                found.append(Finding("operand-mismatch", why, level="warning", help=help).at(ops[0]))
        return found

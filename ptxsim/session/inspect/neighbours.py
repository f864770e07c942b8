"""Accesses to shared memory whose address is computed from one array and lies in another, by a repetition of the launch.

That is legal PTX, and no address is wrong; but where results are wrong, an index that leaves its array is a likely reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ptxsim.checks.banks.expression import Origins
from ptxsim.engine.program.operation import Op, Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.session.launch import Launch
from ptxsim.source import Source

SHORT = 20_000  # warp instructions of a run that is repeated for this
_SHOWN = 2  # instructions that are named
_OWN = (1 << RANK_SHIFT) - 1  # bits of an address that say where in the shared memory of a CTA
_NAME = re.compile(r"[\w$%]+")


class _Strays(Observer):
    """The first access of each instruction that leaves the one array its address is computed from."""

    events = frozenset({Event.LOAD, Event.STORE, Event.ATOMIC})
    spaces = frozenset({Space.SHARED})

    def __init__(self, homes: Mapping[int, tuple[int, int]]):
        """homes: by site, address and bytes of that array."""
        self.homes = homes
        self.first: dict[int, tuple[int, int, int]] = {}  # by site: address, warp, lane

    def consume(self, records: np.ndarray) -> None:
        for record in records[records["space"] == Space.SHARED]:
            site = int(record["site"])
            if site not in self.homes or site in self.first:
                continue
            start, size = self.homes[site]
            addresses = record["addresses"].astype(np.int64) & _OWN
            outside = word_mask(record["mask"]) & ((addresses < start) | (addresses >= start + size))
            if outside.any():
                lane = int(outside.argmax())
                self.first[site] = int(addresses[lane]), int(record["warp"]), lane


def in_neighbours(launch: Launch, source: Source) -> list[str]:
    """Sentences about the instructions that access an array by the address of another; source: the text of the program."""
    variables = launch.shared_variables
    if len(variables) < 2:
        return []
    strays = _Strays(_homes(launch.program, variables))
    if strays.homes:
        launch.run_grid([strays])
    said = []
    for site, (address, warp, lane) in sorted(strays.first.items()):
        other = next((name for name, (start, size) in variables.items() if start <= address < start + size), None)
        home = next(name for name, place in variables.items() if place == strays.homes[site])
        if other is not None:
            op = launch.program.ops[site]
            said.append(
                f"{op.opcode} at {source.place(op.line)} accesses {other} by an address that is computed from {home}, which has "
                f"{variables[home][1]} bytes: byte {address - variables[home][0]} of it, in warp {warp} lane {lane}"
            )
    return said[:_SHOWN]


def _homes(program: Program, variables: Mapping[str, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """By site, the array that the text computes an address of shared memory from, where that is one."""
    origins, homes = Origins(program), dict[int, tuple[int, int]]()
    for op in program.ops:
        named = _named(op, origins, variables)
        if len(named) == 1:
            homes[op.site] = variables[named.pop()]
    return homes


def _named(op: Op, origins: Origins, variables: Mapping[str, tuple[int, int]]) -> set[str]:
    if not any(access.space == "shared" for access in op.accesses):
        return set()
    origin = origins.of(op)
    return {name for name in _NAME.findall(origin.text) if name in variables} if origin else set()

"""Tiles that threads have copied into shared memory are read as they were written: with that swizzle, with those strides.

What ordinary stores and cp.async write is followed back to global memory (engine.analysis.copied_loads); what tensor copies write says its
swizzle itself (machine.tile). Only the first CTA is watched, and only the first products of each instruction: how a tile lies is
the same in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.analysis.copied_loads import copied_loads
from ptxsim.engine.program.operation import Program
from ptxsim.isa.facts import Mechanism, Scope
from ptxsim.lanes import LANES, word_mask
from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.tile_order import UNIT, UNKNOWN, Shape, overlap, written_as
from ptxsim.machine.async_product import MmaAsync
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MORE, Event, Observer, Space, listed
from ptxsim.machine.shared_names import Variables, shared_name
from ptxsim.machine.tile import past_variable

PRODUCTS = 4  # of an instruction that are looked at
MOST = 100_000  # records of the first CTA that are looked at


@dataclass(slots=True)
class Problem:
    """How a descriptor reads an operand's tile, and what would read it as it was written, where that is known."""

    site: int  # of the product
    given: Descriptor
    shape: Shape
    written: Descriptor | None
    writer: int  # site of what wrote the tile
    times: int = 0


class TileLayoutChecker(Observer):
    """Finds descriptors that read a tile in another order than it was written in. `shared_end`: bytes of a CTA's shared memory."""

    events = frozenset(
        {
            Event.LOAD,
            Event.STORE,
            Event.STMATRIX,
            Event.ATOMIC,
            Event.REDUCE,
            Event.ASYNC_ISSUE,
            Event.ASYNC_WRITE,
            Event.MMA,
        }
    )

    spaces = frozenset({Space.SHARED, Space.GLOBAL})
    selects = True  # of most CTAs nothing is looked at

    def __init__(self, program: Program, target: str, numerics: str, shared_end: int, variables: Variables):
        self.program, self.variables = program, variables
        self.products = {
            op.site: MmaAsync(op, target, numerics) for op in program.ops
            if op.facts.product is not None and op.facts.scope is Scope.WARPGROUP
        }  # fmt: skip
        self.copies = {op.site for op in program.ops if op.completes_by is Mechanism.CP_ASYNC_GROUP}
        self.copied = copied_loads(program) if self.products else {}
        self.loads = frozenset[int]().union(self.copies, *(copied.loads for copied in self.copied.values()))
        self.listed = listed(self.events if self.loads else {Event.MMA})
        self.left = dict.fromkeys(self.products, PRODUCTS)
        self.most = MOST
        # By warp and site, what each lane loaded last from, and when.
        self.loaded: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        units = -(-shared_end // UNIT)
        self.sources = np.full(units, UNKNOWN, np.int64)
        self.writers = np.zeros(units, np.int32)
        self.problems: dict[tuple[str, Descriptor], Problem] = {}
        self.time = 0

    def consume(self, records: np.ndarray) -> None:
        if self.most <= 0 or not self.left:
            return
        (first,) = np.nonzero(records["cta"] == 0)
        if not len(first):
            return
        records = records[first[self.listed[records["event"][first]]]]
        self.most -= len(records)
        for record in records:
            event, site, is_global = int(record["event"]), int(record["site"]), record["space"] == Space.GLOBAL
            if event == Event.MMA:
                if site in self.left:
                    self._look(site, *record["addresses"][:2].tolist())
            elif event == Event.LOAD:
                if is_global and site in self.loads:
                    self._load(record, site)
            elif not is_global and self._puts(event, site, int(record["flags"])):
                self._write(record, site)

    def _puts(self, event: int, site: int, flags: int) -> bool:
        """Whether an event is where bytes of shared memory are replaced: of cp.async when it starts, of other copies when they land."""
        if event == Event.ASYNC_ISSUE:
            return site in self.copies
        return event != Event.ASYNC_WRITE or flags & FLAG_ASYNC_PROXY != 0

    def _load(self, record: np.void, site: int) -> None:
        """Remember where each lane loaded from."""
        self.time += 1
        key = int(record["warp"]), site
        if key not in self.loaded:
            self.loaded[key] = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
        addresses, times = self.loaded[key]
        if site in self.copies and not record["flags"] & FLAG_MORE:
            times[:] = 0
        lanes = word_mask(int(record["mask"]))
        addresses[lanes], times[lanes] = record["addresses"][lanes].astype(np.int64), self.time

    def _write(self, record: np.void, site: int) -> None:
        """Note, for the units that are written, where their bytes come from."""
        lanes = word_mask(int(record["mask"]))
        places = record["addresses"][lanes].astype(np.int64)
        inside = (places >= 0) & (places < UNIT * len(self.sources))
        starts = inside & (places % UNIT == 0)
        came = np.full(LANES, UNKNOWN, np.int64)
        copied = self.copied.get(site)
        loads, offset = (copied.loads, copied.offset) if copied else ({site} & self.copies, 0)
        newest = np.zeros(LANES, np.int64)
        for load in loads:
            if (int(record["warp"]), load) in self.loaded:
                addresses, times = self.loaded[int(record["warp"]), load]
                came = np.where(times > newest, addresses + offset, came)
                newest = np.maximum(newest, times)
        came = came[lanes]
        self.sources[places[starts] // UNIT] = came[starts]
        self.writers[places[starts] // UNIT] = site
        if not loads:  # something else is there now
            self.sources[places[inside] // UNIT] = UNKNOWN

    def _look(self, site: int, a: int, b: int) -> None:
        """A product starts: whether its tiles are read as they were written."""
        self.left[site] -= 1
        if not self.left[site]:
            del self.left[site]
        product = self.products[site]
        for operand, number in (("A", a), ("B", b)):
            if operand == "A" and product.from_registers:
                continue
            tile, given = product.tile(operand, number), Descriptor.decode(number)
            if past_variable(tile, self.variables) is not None:
                continue  # machine.tile reports that
            shape = Shape(tile.major, tile.rows, tile.k, tile.bits)
            written = written_as(self.sources, given, shape)
            if written is not None or overlap(given, shape) is not None:
                writer = int(self.writers[given.start // UNIT])
                key = operand, replace(given, start=0)
                self.problems.setdefault(key, Problem(site, given, shape, written, writer)).times += 1

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each operand and each way in which it is read."""
        found = []
        for (operand, _), problem in self.problems.items():
            given, written = problem.given, problem.written
            tile = f"the tile of {operand} at {shared_name(self.variables, given.start)}"
            labels = () if written is None else (Label.at(program.ops[problem.writer], "written here"),)
            twice = overlap(given, problem.shape)
            if twice is not None and (written is None or written.swizzle == given.swizzle):
                address, one, other = twice
                finding = Finding(
                    "descriptor-overlap",
                    f"the descriptor of {tile} reads the bytes at {address:#x} twice, as element {one} and as {other}: it has "
                    f"{_fields(given)}", labels=labels, count=problem.times,
                    help=f"{'' if written is None else f'they were written with {_fields(written, given)}; '}see `ptxsim desc` for the offsets that "
                    "lay rows side by side",
                )  # fmt: skip
            else:
                assert written is not None
                finding = Finding(
                    "swizzle-mismatch",
                    f"{tile} was written with {_fields(written, given)}, its descriptor reads it with {_fields(given, written)}",
                    labels=labels, count=problem.times, notes=("judged by where in global memory the bytes came from",),
                    help="give the descriptor what the tile was written with, or write the tile as it is read",
                )  # fmt: skip
            found.append(finding.at(program.ops[problem.site]))
        return found


def _fields(fields: Descriptor, other: Descriptor | None = None) -> str:
    """The fields that say in which order a tile is read; only those in which another descriptor differs, if one is given."""
    words = {"swizzle": "swizzle", "leading": "leading dimension offset", "stride": "stride dimension offset"}
    values = {name: getattr(fields, name) for name in words if getattr(fields, name) != getattr(other, name, None)}
    return ", ".join(f"{words[name]} {value}" for name, value in values.items())

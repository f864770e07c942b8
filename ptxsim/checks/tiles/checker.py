"""Tiles that threads have copied into shared memory are read as they were written: with that swizzle, with those strides.

What ordinary stores, cp.async and tensor copies write is followed back to global memory (engine.analysis.copied_loads, tile_sources). A tensor
copy says its swizzle itself, too (machine.tile). Only the first CTA is watched, and only the first products, ldmatrix and tensor copies of each
instruction: how a tile lies is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from ptxsim.checks.tiles.fragment_order import FragmentOrder
from ptxsim.checks.tiles.past_tile import HALF, PastTile
from ptxsim.checks.tiles.rows import MixedRows, came_from, mixed_rows, of_stores, of_tile, places_of_lanes, rows_of
from ptxsim.checks.tiles.sources import (
    BULK,
    LEFT,
    MAY_COME,
    MOST_ROWS,
    PART,
    QUAD,
    SITE,
    TENSOR,
    THREADS,
    TOLD,
    Tiles,
    follow,
    settle,
)
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.analysis.copied_loads import copied_loads
from ptxsim.engine.analysis.fragment_loads import filled_factors
from ptxsim.engine.program.operation import Program, fact
from ptxsim.isa.facts import Mechanism, Scope
from ptxsim.jit.native import PreparedCall, prepared
from ptxsim.lanes import LANES
from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.tile_order import (
    UNIT,
    UNKNOWN,
    Shape,
    is_as_written,
    is_of_other_direction,
    overlap,
    places_of,
    rows_inside,
    written_as,
)
from ptxsim.machine.async_product import MmaAsync
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.shared_names import Variables, shared_name
from ptxsim.machine.tile import Tile, doubtful_start, past_variable

PRODUCTS, LOADS = 4, 2  # of an instruction that are looked at
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


class Plan(NamedTuple):
    """What is the same in all launches of a program."""

    products: list[int]  # sites
    watched: int  # how many sites are
    sites: np.ndarray
    numbers: np.ndarray
    loads: int


@fact
def plan_of(program: Program) -> Plan:
    products = [op.site for op in program.ops if op.facts.product is not None and op.facts.scope is Scope.WARPGROUP]
    copies = {op.site for op in program.ops if op.completes_by is Mechanism.CP_ASYNC_GROUP}
    tensors = {op.site for op in program.ops if op.family == "tensor_copy"}
    rows = {site for filled in filled_factors(program) for site in filled.sites}
    to_global = {site for site in tensors if program.ops[site].completes_by is not Mechanism.MBARRIER}
    watched = {*products, *rows, *to_global}
    copied = copied_loads(program) if products or rows else {}
    loads = sorted(copies.union(*(each.loads for each in copied.values())))
    sites, numbers = np.zeros(len(program.ops), SITE), list[int]()
    sites["load"] = -1
    sites["load"][loads] = range(len(loads))
    sites["left"][list(watched)] = PRODUCTS
    sites["left"][list(rows)] = LOADS
    sites["copies"][list(tensors)] = TENSOR
    sites["copies"][[op.site for op in program.ops if op.family == "bulk_copy"]] = BULK
    for site in {*copies, *copied}:
        came = copied[site].loads if site in copied else {site}
        row = sites[site]
        row["copies"], row["offset"] = site in copies and THREADS, copied[site].offset if site in copied else 0
        row["first"], row["end"] = len(numbers), len(numbers) + len(came)
        numbers += (int(sites["load"][load]) for load in came)
    return Plan(products, len(watched), sites, np.array(numbers, np.int32), len(loads))


@fact
def _products_of(program: Program, target: str, numerics: str) -> dict[int, MmaAsync]:
    """Of warpgroups, by site."""
    return {site: MmaAsync(program.ops[site], target, numerics) for site in plan_of(program).products}


class TileLayoutChecker(Observer):
    """Finds descriptors that read a tile in another order than it was written in. `shared_end`: bytes of a CTA's shared memory."""

    events = frozenset(
        {
            Event.LOAD,
            Event.STORE,
            Event.LDMATRIX,
            Event.STMATRIX,
            Event.ATOMIC,
            Event.REDUCE,
            Event.ASYNC_ISSUE,
            Event.ASYNC_READ,
            Event.ASYNC_WRITE,
            Event.MMA,
        }
    )

    spaces = frozenset({Space.SHARED, Space.GLOBAL})
    selects = True  # of most CTAs nothing is looked at

    def __init__(
        self, program: Program, target: str, numerics: str, shared_end: int, variables: Variables, warps: int = 1
    ):  # fmt: skip
        self.program, self.variables = program, variables
        self._another = partial(TileLayoutChecker, program, target, numerics, shared_end, variables, warps)
        plan = plan_of(program)
        self.products = _products_of(program, target, numerics)
        if not self.products:
            self.events = self.events - {Event.MMA}
        self.sites, self._has_bulk = plan.sites.copy(), bool((plan.sites["copies"] == BULK).any())
        units = -(-shared_end // UNIT)
        self.sources, writers = np.full(units, UNKNOWN, np.int64), np.zeros(units, np.int32)
        self.matrices, self.runs = np.zeros(units, np.int64), np.zeros(units, np.int64)
        self.writers, self.n = writers, np.zeros(3, np.int64)
        self.n[[LEFT, MAY_COME]] = self.sites["left"].sum(), MOST
        self.state = Tiles(
            self.sites, plan.numbers, np.zeros((warps, plan.loads, LANES), np.int64),
            np.zeros((warps, plan.loads, LANES), np.int64), self.sources, writers, self.matrices, self.runs, np.full((units, UNIT // PART), UNKNOWN, np.int64),
            np.zeros(1, TOLD), np.zeros(MOST_ROWS, np.int64), self.n,
        )  # fmt: skip
        self.target, self.numerics, self.order = target, numerics, FragmentOrder()
        self.mixed: dict[tuple[str, str, str], MixedRows] = {}
        self.is_of_use = plan.watched > 0
        self._consumer: PreparedCall | None = None
        self.problems: dict[tuple[str, Descriptor], Problem] = {}
        self.past: dict[int, PastTile] = {}  # by the site of a product

    def consume(self, records: np.ndarray) -> None:
        at = 0
        while at < len(records) and self.n[LEFT] and self.n[MAY_COME]:
            at = follow.form(len(records) - at)(records, at, self.state)
            if at < len(records):
                self._look(records[at])
                at += 1

    def consumer(self, records: np.ndarray) -> PreparedCall | None:
        if self._consumer is None:
            self._consumer = prepared(follow.form(0), (records, 0, self.state), hasty=True)
        return self._consumer

    def beside(self) -> TileLayoutChecker | None:
        return None if self.problems or self.mixed or self.past else self._another()

    def take(self, others: Sequence[Self]) -> bool:
        return not any(each.problems or each.mixed or each.past for each in others)

    def _look(self, record: np.ndarray) -> None:
        """A product, an ldmatrix or a tensor copy reads shared memory: whether it reads it as it was written."""
        site = int(record["site"])
        self.sites["left"][site] -= 1
        self.n[LEFT] -= 1
        settle(self.state)
        if site in self.products:
            self._look_at_tiles(site, self.products[site], *record["addresses"][:2].tolist())
        elif int(record["event"]) in (
            Event.LDMATRIX,
            Event.LOAD,
        ):  # compared as numpy's own numbers they take ten times as long
            self._look_at_load(site, record)
        else:
            self._keep(site, of_stores(record, self.matrices))

    def _look_at_load(self, site: int, record: np.ndarray) -> None:
        """What fills registers of a factor."""
        rows, is_shared = rows_of(record), int(record["space"]) == Space.SHARED
        is_packed = is_shared and self._is_packed(
            record["addresses"][None, ::QUAD].astype(np.int64) if rows is None else rows
        )
        there = came_from(rows, self.sources) if rows is not None and is_shared else None
        of_lanes = there if int(record["event"]) == Event.LDMATRIX else places_of_lanes(record, self.state)
        self.order.keep(self.program.ops[site], int(record["warp"]), None if is_packed else of_lanes)
        if rows is not None and is_shared and not is_packed:
            self._keep(site, mixed_rows(rows, there, self.state))

    def _is_packed(self, rows: np.ndarray) -> bool:
        """Whether one bulk copy has brought several rows of a matrix, which may have been packed as they are read."""
        if not self._has_bulk:
            return False
        runs = np.sort(self.runs[(rows // UNIT).clip(0, len(self.runs) - 1)])
        return bool(((runs[..., 1:] == runs[..., :-1]) & (runs[..., 1:] != 0)).any())

    def _keep(self, site: int, found: Iterable[tuple[int, str]]) -> None:
        """Rows that are mixed; those of one kind of instruction, in one way, have one cause."""
        ops = self.program.ops
        for address, patterns in found:
            writer = int(self.writers[address // UNIT])
            key = ops[site].family, ops[writer].family, patterns
            by_hardware = ops[site].family == "tensor_copy" or bool(self.sites[writer]["swizzle"])
            known = self.mixed.setdefault(key, MixedRows(site, writer, address, patterns, by_hardware))
            known.times += 1
            known.sites.add(site)

    def _look_at_tiles(self, site: int, product: MmaAsync, a: int, b: int) -> None:
        for operand, number in (("A", a), ("B", b)):
            if operand == "A" and product.from_registers:
                continue
            tile = product.tile(operand, number)
            given = tile.fields
            if past_variable(tile, self.variables) is not None or given.start // UNIT >= len(self.writers):
                continue  # machine.tile reports that
            shape = Shape(tile.major, tile.rows, tile.k, tile.bits)
            is_packed = self._is_packed(places_of(given, shape)[:, 0])
            if shape.major == "K" and not is_packed:
                self._keep_past(site, operand, tile, shape)
            if is_as_written(self.sources, given, shape):
                continue
            written = None if is_packed else written_as(self.sources, given, shape)
            writer = int(self.writers[given.start // UNIT])
            if written is not None and written.swizzle != given.swizzle and self.sites[writer]["copies"] == TENSOR:
                continue  # machine.tile reports that, too
            if written is None and overlap(given, shape) is None and shape.major == "K" and not is_packed:
                self._keep(site, of_tile(places_of(given, shape)[:, 0], self.state))
            elif written is not None or overlap(given, shape) is not None:
                key = operand, replace(given, start=0)
                self.problems.setdefault(key, Problem(site, given, shape, written, writer)).times += 1

    def _keep_past(self, site: int, operand: str, tile: Tile, shape: Shape) -> None:
        """A tile that ends before its descriptor does: that starts in the middle of a pattern, or the tile lies the other way."""
        if site in self.past:
            return
        given, inside, is_turned = tile.fields, 0, False
        if doubtful_start(tile) is not None:
            inside = rows_inside(self.sources, given, shape)
        elif shape.bits == HALF:
            is_turned = is_of_other_direction(self.sources, given, shape)
        if inside or is_turned:
            writer = int(self.writers[given.start // UNIT])
            self.past[site] = PastTile(operand, given.start, inside, shape.rows, writer)

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
        found += [each.finding(program, self.variables) for each in self.mixed.values()]
        found += [past.finding(program, site, self.variables) for site, past in self.past.items()]
        return found + list(self.order.findings(program, self.target, self.numerics))


def _fields(fields: Descriptor, other: Descriptor | None = None) -> str:
    """The fields that say in which order a tile is read; only those in which another descriptor differs, if one is given."""
    words = {"swizzle": "swizzle", "leading": "leading dimension offset", "stride": "stride dimension offset"}
    values = {name: getattr(fields, name) for name in words if getattr(fields, name) != getattr(other, name, None)}
    return ", ".join(f"{words[name]} {value}" for name, value in values.items())

"""Which 8x8 matrices of a tile the registers of a factor hold: one that is not where the instruction takes it. For `tile_layout`.

Four lanes hold a row of 16 bytes, eight such rows are what one register of a warp holds. Where the rows of a matrix in memory lie
at even distances, so do these matrices: the eight rows (of A; columns of B) further on, and the 16 bytes further on along k. If the other
factor is held so, and this one has both changed, or one after the other the wrong way, elements meet that do not belong together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ptxsim.checks.tile_sources import QUAD
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.analysis.fragment_loads import Filled, filled_factors
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.lanes import LANES
from ptxsim.layout.fragments import Fragment
from ptxsim.layout.row_patterns import ROWS, pitches
from ptxsim.layout.tile_order import UNIT

# In which order registers are held: as the instruction takes them; the next rows for the next 16 bytes; the second 16 bytes first; rows
# and columns by other bits of the lane.
UNKNOWN, RIGHT, EXCHANGED, TURNED, MIXED = range(5)
Block = tuple[int, int]  # of the eight rows (of A, columns of B), and of the 16 bytes along k, that a register holds
Blocks = tuple[Block, ...]
Registers = tuple[frozenset[tuple[int, int]], ...]


class Held(NamedTuple):
    """What a register of a warp has been filled with: where its first row came from, and bytes from a row to the next."""

    start: int
    pitch: int
    turned: bool  # rows in memory run along k (.trans)
    wrong: tuple[int, int, int] | None  # a lane that holds another one's row and place in it


class FragmentOrder:
    """What loads have filled registers with, by the warp that has executed them."""

    def __init__(self) -> None:
        self._held: dict[int, dict[int, list[list[Held | None]]]] = defaultdict(
            lambda: defaultdict(list)
        )  # by site and warp

    def keep(self, op: Op, warp: int, rows: np.ndarray | None) -> None:
        """A load of a warp; rows: of each register, where the bytes of its eight rows, or of all lanes, come from, None if that is not
        known."""
        self._held[op.site][warp].append([] if rows is None else _held(rows, bool(op.words.get("trans"))))

    def findings(self, program: Program, target: str, numerics: str) -> Iterator[Finding]:
        """One for each factor that is held in another order than the instruction takes it."""
        known: dict[tuple[Registers, Blocks], set[int]] = {}  # products share factors
        for factors, blocks in looked_at(program, target, numerics):
            orders = []
            for filled, each in zip(factors, blocks):
                key = filled.registers, each
                if key not in known:
                    known[key] = self._orders(filled, each)
                orders.append(known[key])
            for n in range(len(factors)):
                if len(orders[n]) == 1 and orders[1 - n] == {RIGHT} and orders[n] <= {TURNED, EXCHANGED, MIXED}:
                    yield self._finding(program, target, numerics, factors[n], blocks[n], *orders[n])

    def _finding(
        self, program: Program, target: str, numerics: str, filled: Filled, blocks: Blocks, order: int
    ) -> Finding:  # fmt: skip
        op = program.ops[filled.product]
        product = op.product(target, numerics)
        size, factor = UNIT * 8 // product.a.element_bits, filled.factor.upper()
        line, step = ("rows", "columns") if factor == "A" else ("columns", "rows")
        if order == TURNED:
            said = f"registers of {factor} hold {_some(step, size, size)} before {_some(step, 0, size)}, those of the other factor do not"
        elif order == MIXED:
            lane, row, place = self._wrong(filled)
            each = product.a.per_register
            held, meant = _some(step, place * each, each), _some(step, lane % QUAD * each, each)
            said = f"lane {lane} holds {held} of {line[:-1]} {row} of {factor}, where {op.name} takes {meant} of {line[:-1]} {lane // QUAD}"
        else:
            next_lines, next_steps = f"the next 8 {line}", f"the next {size} {step}"
            if blocks[1] == (0, 1):
                next_lines, next_steps = next_steps, next_lines
            said = f"register 1 of {factor} holds {next_steps} of its tile, where {op.name} takes {next_lines}"
        first, _ = next(iter(filled.registers[-1]))
        return Finding(
            "fragment-order", said, labels=(Label.at(program.ops[first], "filled here"),),
            notes=("judged by where in global memory the registers of both factors came from",),
            help="`ptxsim layout` shows which register holds what; a matrix that is kept in this order in global memory needs no change",
        ).at(op)  # fmt: skip

    def _wrong(self, filled: Filled) -> tuple[int, int, int]:
        """A lane of a factor's first register that holds what another one should, with the row and the place in it."""
        site, register = next(iter(filled.registers[0]))
        every = (load[register] for loads in self._held[site].values() for load in loads if load)
        return next(each.wrong for each in every if each is not None and each.wrong is not None)

    def _orders(self, filled: Filled, blocks: Blocks) -> set[int]:
        """In which orders the registers of a factor have been held."""
        if any(len(each) != 1 for each in filled.registers):
            return {UNKNOWN}
        places = [next(iter(each)) for each in filled.registers]
        found = set[int]()
        for warp in self._held[places[0][0]]:
            for loads in zip(*(self._held[site].get(warp, []) for site, _ in places)):
                held = [load[register] if register < len(load) else None for load, (_, register) in zip(loads, places)]
                found.add(_order(held, blocks))
        return found or {UNKNOWN}


@fact
def looked_at(
    program: Program, target: str, numerics: str
) -> tuple[tuple[tuple[Filled, ...], tuple[Blocks, ...]], ...]:
    """The two factors of each product, both of which loads fill, and the blocks that their registers are to hold."""
    by_product: dict[int, list[Filled]] = defaultdict(list)
    for filled in filled_factors(program):
        by_product[filled.product].append(filled)
    found = []
    for site, factors in by_product.items():
        product = program.ops[site].product(target, numerics)
        fragments = {"a": product.a, "b": product.b}
        blocks = tuple(_blocks(fragments[each.factor]) for each in factors)
        if len(factors) == len(fragments) and None not in blocks:
            found.append((tuple(factors), tuple(each or () for each in blocks)))
    return tuple(found)


def _some(name: str, first: int, count: int) -> str:
    """Some rows or columns, in words."""
    return f"{name} {first} to {first + count - 1}" if count > 1 else f"{name[:-1]} {first}"


def _held(rows: np.ndarray, turned: bool) -> list[Held | None]:
    """What registers have been filled with; rows: of each, as for `keep`."""
    if rows.shape[1] == LANES:
        return [_held_by_lanes(each, turned) for each in rows]
    steps, starts = (rows[:, 1] - rows[:, 0]).tolist(), rows[:, 0].tolist()
    are_even = pitches(rows).tolist()
    return [Held(start, step, turned, None) if even else None for start, step, even in zip(starts, steps, are_even)]


def _held_by_lanes(places: np.ndarray, turned: bool) -> Held | None:
    """The same of a register of which it is known where each lane's word came from: where one holds another one's."""
    words, lanes = np.unique(places), np.arange(LANES)
    if len(words) < LANES or (np.diff(words.reshape(ROWS, QUAD)) != UNIT // QUAD).any():
        return None
    row, place = np.divmod(np.searchsorted(words, places), QUAD)
    if (row == row[lanes // QUAD * QUAD]).all() and (place == place[lanes % QUAD]).all():
        return None  # rows or columns in another order, which may be meant
    lane = int(np.argmax((row != lanes // QUAD) | (place != lanes % QUAD)))
    (held,) = _held(words[None, ::QUAD], turned)
    return held and held._replace(wrong=(lane, int(row[lane]), int(place[lane])))


def _order(held: Sequence[Held | None], blocks: Blocks) -> int:
    """In which order the registers of a factor are held, of which the instruction takes these blocks."""
    first = held[0]
    if first is None or any(each is None or each[1:] != first[1:] for each in held):
        return UNKNOWN
    across, along = ROWS * first.pitch, UNIT  # to the next eight rows in memory, to the next 16 bytes of a row
    if first.turned:
        across, along = along, across
    starts = [each.start for each in held if each is not None]

    def lie(places: Sequence[Block]) -> bool:
        at = [line * across + step * along for line, step in places]
        return all(start - starts[0] == place - at[0] for start, place in zip(starts, at))

    if lie(blocks):
        return RIGHT if first.wrong is None else MIXED
    if first.wrong is not None:
        return UNKNOWN
    if lie([(step, line) for line, step in blocks]):
        return EXCHANGED
    return TURNED if lie([(line, 1 - step) for line, step in blocks]) else UNKNOWN


@lru_cache(maxsize=64)
def _blocks(fragment: Fragment | None) -> Blocks | None:
    """Of each register of a factor, which eight rows and which 16 bytes along k it holds; None if it does not hold such."""
    if fragment is None or len(fragment.shape) != 2 or fragment.element_bits > 32:
        return None
    lines, steps = (fragment.rows, fragment.columns) if fragment.operand == "A" else (fragment.columns, fragment.rows)
    each, lanes, found = fragment.per_register, np.arange(fragment.lanes), list[Block]()
    for first in range(0, fragment.elements, each):
        line, step = lines[:, first], steps[:, first]
        if (line - line[0] != lanes // QUAD).any() or (step - step[0] != lanes % QUAD * each).any():
            return None
        found.append((int(line[0]) // ROWS, int(step[0]) // (QUAD * each)))
    return tuple(found) if max(map(max, found)) <= 1 else None

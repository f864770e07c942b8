"""Which elements of a tile the registers of a factor hold, and whether the instruction takes them in that order.

Where each byte of a register came from in global memory says which element of a matrix it is of, if the matrix lies there at even
distances (layout.element_order). Lines (rows of A, columns of B) may be taken in any order, k in any that is the same in both factors. A
finding is made only where the other factor is held as the instruction takes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ptxsim.diagnostic import Finding, Label, lines_of
from ptxsim.engine.analysis.fragment_loads import FACTORS, Filled, filled_factors
from ptxsim.engine.analysis.loaded_bytes import ZERO, Byte
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.lanes import LANES
from ptxsim.layout.element_order import LINE, STEP, Bit, Order, coordinates, held_as, linear, order_of
from ptxsim.layout.fragments import Fragment

LANE, LANE_BITS = np.arange(LANES), 5
MATRIX = 4  # bytes of an 8x8 matrix of halves that a lane's register holds
MATRIX_BITS = 3  # of the number of a row of it


class Factor(NamedTuple):
    """A factor of a product, and the order that it is held in: of `unit` elements each; by element the first byte that it is loaded from.

    `shared`: another factor that is put together in another way has some of its bytes, too.
    """

    filled: Filled
    wanted: Order
    unit: int
    bytes: tuple[Byte, ...] | None
    shared: bool


class FragmentOrder:
    """What loads have filled registers with, by the warp that has executed them."""

    def __init__(self) -> None:
        # By site and warp.
        self._held: dict[int, dict[int, list[np.ndarray | None]]] = defaultdict(lambda: defaultdict(list))

    def keep(self, op: Op, warp: int, there: np.ndarray | None) -> None:
        """A load of a warp; there: where the first bytes of its lanes come from, (32,), or the rows of its matrices, (matrices, 8); None if that is not
        known."""
        self._held[op.site][warp].append(there)

    def findings(self, program: Program, target: str, numerics: str) -> Iterator[Finding]:
        """One for each way in which a factor is held in another order than the instruction takes it."""
        known: dict[tuple[object, Order], set[Order | None]] = {}  # products share factors
        found: dict[str, tuple[Finding, set[int]]] = {}
        for factors in looked_at(program, target, numerics):
            held = []
            for factor in factors:
                key = factor.bytes, factor.wanted
                if key not in known:
                    known[key] = self._orders(program, factor)
                held.append(known[key])
            for n, factor in enumerate(factors):
                if len(held[n]) == 1 and len(held[1 - n]) == 1:
                    mine, other = next(iter(held[n])), next(iter(held[1 - n]))
                    if _is_wrong(mine, factor) and other is not None and _is_right(other, factors[1 - n].wanted):
                        finding = _finding(program, factor, mine)
                        found.setdefault(finding.message, (finding, set()))[1].add(
                            program.ops[factor.filled.product].line
                        )
        for finding, lines in found.values():
            others = sorted(lines - {finding.line})
            note = f"the same at {lines_of(others)}"
            yield replace(finding, notes=(*finding.notes, note)) if others else finding

    def _orders(self, program: Program, factor: Factor) -> set[Order | None]:
        """In which orders a factor has been held."""
        if factor.bytes is None:
            return {None}
        sites = sorted({byte.site for byte in factor.bytes})
        numbers = [tuple(byte.number for byte in factor.bytes if byte.site == site) for site in sites]
        order = np.argsort(np.argsort([byte.site for byte in factor.bytes], kind="stable"))  # of bytes that are by site
        found = set[Order | None]()
        for warp in self._held[sites[0]]:
            for loads in zip(*(self._held[site].get(warp, []) for site in sites)):
                parts = [_places(program.ops[site], *part) for site, *part in zip(sites, loads, numbers)]
                known = [each for each in parts if each is not None]
                weights = linear(np.concatenate(known)[order]) if len(known) == len(parts) else None
                found.add(None if weights is None else _held(weights, factor.wanted))
        return found or {None}


def _held(weights: tuple[int, ...], wanted: Order) -> Order | None:
    """The order in which a factor is held. Nothing is said where memory holds what one lane takes after what the lane before takes: it may have been
    packed so."""
    held, (first, *_) = held_as(weights, wanted), weights
    is_packed = weights[:LANE_BITS] == tuple(first << n for n in range(LANE_BITS))
    return held if held == wanted or not is_packed else None


@lru_cache(maxsize=1024)
def _is_right(held: Order, wanted: Order) -> bool:
    """Whether steps along k are where they are wanted, and lines are lines."""
    return all(each == bit or each.axis == bit.axis == LINE for each, bit in zip(held, wanted))


def _is_wrong(held: Order | None, factor: Factor) -> bool:
    """Whether a factor is held in an order that one mistake leads to: registers or lanes are exchanged, or steps along k are in another order
    and no factor filled by the same loads is in order."""
    if held is None or _is_right(held, factor.wanted):
        return False
    wrong = [n for n, bit in enumerate(factor.wanted) if held[n] != bit]
    if all(held[n].axis == STEP for n in wrong):
        return not factor.shared
    registers = LANE_BITS + _bits_within(factor)
    return min(wrong) >= registers or max(wrong) < registers


def _bits_within(factor: Factor) -> int:
    """Of an element's number, those that tell the elements of a register apart."""
    registers = len(factor.filled.registers)
    return len(factor.wanted) - LANE_BITS - (registers - 1).bit_length()


def _places(load: Op, there: np.ndarray | None, numbers: tuple[int, ...]) -> np.ndarray | None:
    """Where bytes of the lanes come from, int64 (bytes, 32): of those that a load puts into its registers."""
    if there is None:
        return None
    if there.ndim == 1:
        return np.asarray(there + np.array(numbers)[:, None])
    matrices, rows, offsets = _in_matrices(numbers, bool(load.words["trans"]))
    return np.asarray(there[matrices, rows] + offsets) if max(numbers) < len(there) * MATRIX else None


@lru_cache(maxsize=256)
def _in_matrices(numbers: tuple[int, ...], is_turned: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of bytes of the registers that ldmatrix fills: the matrix, (bytes, 1), in each lane the row of it and which byte of that."""
    matrices, bytes = np.divmod(np.array(numbers)[:, None], MATRIX)
    if is_turned:
        return matrices, LANE % 4 * 2 + bytes // 2, LANE // 4 * 2 + bytes % 2
    return matrices, np.broadcast_to(LANE // 4, (len(numbers), LANES)), LANE % 4 * MATRIX + bytes


@fact
def looked_at(program: Program, target: str, numerics: str) -> tuple[tuple[Factor, Factor], ...]:
    """The two factors of each product, both of which loads fill."""
    by_product: dict[int, list[Filled]] = defaultdict(list)
    ways: dict[Byte, set[object]] = defaultdict(set)  # in which factors a byte stands
    for filled in filled_factors(program):
        by_product[filled.product].append(filled)
        for byte in {
            byte for register in filled.registers for way in register for byte in way if byte not in (None, ZERO)
        }:
            ways[byte].add(filled.registers)
    found = []
    for site, filled_ones in by_product.items():
        product = program.ops[site].product(target, numerics)
        fragments = {"a": product.a, "b": product.b}
        factors = [_factor(each, fragments[each.factor], ways) for each in filled_ones]
        known = [each for each in factors if each is not None]
        if len(known) == len(FACTORS):
            found.append((known[0], known[1]))
    return tuple(found)


def _factor(filled: Filled, fragment: Fragment | None, ways: dict[Byte, set[object]]) -> Factor | None:
    order = None if fragment is None else _order(fragment)
    if fragment is None or order is None:
        return None
    unit, size, each = max(1, 8 // fragment.element_bits), max(1, fragment.element_bits // 8), fragment.per_register
    bytes = list[Byte]()
    for element in range(0, fragment.elements, unit):
        register, place = divmod(element, each)
        made = filled.registers[register] if register < len(filled.registers) else ()
        first = place * fragment.element_bits // 8
        way = next(iter(made))[first : first + size] if len(made) == 1 else ()
        start = way[0] if way else None
        if start is None or start == ZERO or way != tuple(Byte(start.site, start.number + n) for n in range(size)):
            return Factor(filled, order, unit, None, True)
        bytes.append(start)
    return Factor(filled, order, unit, tuple(bytes), any(len(ways[byte]) > 1 for byte in bytes))


@lru_cache(maxsize=64)
def _order(fragment: Fragment) -> Order | None:
    """In which order a factor is to be held; None if its elements are not one matrix, held by one warp, each in one place."""
    if len(fragment.shape) != 2 or fragment.lanes != LANES or fragment.copies > 1:
        return None
    unit = max(1, 8 // fragment.element_bits)
    lines, steps = (fragment.rows, fragment.columns) if fragment.operand == "A" else (fragment.columns, fragment.rows)
    lines, steps = lines.T[::unit].astype(np.int64), steps.T[::unit].astype(np.int64)
    return order_of(lines, steps // unit)


def _finding(program: Program, factor: Factor, held: Order | None) -> Finding:
    """What the first register holds, of the first lane, that is not as it should be."""
    assert held is not None and factor.bytes is not None
    op, name = program.ops[factor.filled.product], factor.filled.factor.upper()
    shape = -1, LANES
    mine, meant = (tuple(each.reshape(shape) for each in coordinates(order)) for order in (held, factor.wanted))
    each = 1 << _bits_within(factor)
    wrong = (mine[LINE] != meant[LINE]) | (mine[STEP] != meant[STEP])
    register = int(np.argmax(wrong.any(axis=1))) // each
    part = slice(register * each, (register + 1) * each)
    is_whole = wrong[part].all() and all(len(np.unique(a[part] - b[part])) == 1 for a, b in zip(mine, meant))
    lane = int(np.argmax(wrong[part].any(axis=0)))
    lanes = slice(None) if is_whole else slice(lane, lane + 1)
    who = f"register {register}" if is_whole else f"lane {lane}"
    differ = [axis for axis in (LINE, STEP) if not is_whole or (mine[axis][part] != meant[axis][part]).any()]
    some = [tuple(of[axis][part, lanes] for axis in (LINE, STEP)) for of in (mine, meant)]
    if is_whole:
        some = [(np.sort(of_lines, None), np.sort(of_steps, None)) for of_lines, of_steps in some]
    said = [_elements(name, factor.unit, of_lines, of_steps, differ) for of_lines, of_steps in some]
    load = program.ops[factor.bytes[part.start].site]
    return Finding(
        "fragment-order", f"{who} of {name} holds {said[0]} of its tile, where {op.name} takes {said[1]}",
        labels=(Label.at(load, "filled here"),),
        notes=("judged by where in global memory the registers of both factors came from",),
        help=_remedy(load, factor.wanted, held),
    ).at(op)  # fmt: skip


def _remedy(load: Op, wanted: Order, held: Order) -> str:
    advice = "`ptxsim layout` shows which register holds what"
    turned = tuple(_turned(bit) if bit.exponent < MATRIX_BITS else bit for bit in wanted)
    if load.family == "ldmatrix" and turned in (held, tuple(map(_turned, held))):
        advice += (
            f"; where rows in memory lie the other way, {'leave out' if load.words['trans'] else 'add'} .trans instead"
        )
    return f"{advice}; a matrix that is kept in this order in global memory needs no change"


def _turned(bit: Bit) -> Bit:
    """What leads as far along the other axis."""
    return bit._replace(axis=STEP if bit.axis == LINE else LINE)


def _elements(name: str, unit: int, lines: np.ndarray, steps: np.ndarray, axes: list[int]) -> str:
    """Some elements of a factor, in words: of all that some lines and steps have in common, only those axes."""
    line, step = ("row", "column") if name == "A" else ("column", "row")
    if len(np.unique(lines)) * len(np.unique(steps)) != lines.size:
        return " and ".join(f"({line} {i}, {step} {j * unit})" for i, j in zip(lines.ravel(), steps.ravel()))
    some = [_some(line, lines), _some(step, steps[..., None] * unit + np.arange(unit))]
    return ", ".join(some[axis] for axis in axes)


def _some(name: str, numbers: np.ndarray) -> str:
    """Some rows or columns, in words, in the order in which they first appear."""
    each = list(dict.fromkeys(numbers.ravel().tolist()))
    if len(each) == 1:
        return f"{name} {each[0]}"
    if each == list(range(each[0], each[0] + len(each))):
        return f"{name}s {each[0]} to {each[-1]}"
    return f"{name}s {', '.join(map(str, each))}"

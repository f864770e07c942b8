"""What is said of a lowered program to the table that corrects its registers (`learned`): live values, places, counts of instructions.

Whatever is a number of registers is given as its difference from the estimate by rules, so that one split of the table fits programs of any size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple, TypeAlias

from ptxsim.engine.program.operand import Constant, Operand, Vector
from ptxsim.isa.facts import Scope
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering.allocation import ODD, Allocation, is_late
from ptxsim.profile.lowering.assembly import Assembly
from ptxsim.profile.lowering.pressure import Pressure
from ptxsim.profile.machine_code import Kind, MachineOp, go_before
from ptxsim.types import parse_target

# Instructions of the blocks, with what is live after each.
Orders: TypeAlias = Sequence[tuple[Sequence[MachineOp], Set[int]]]
Traits: TypeAlias = dict[str, float]
# Programs of which places are tried: with few values at one time, for others count more than how they lie, and not too long for it.
PLACED_LIVE, PLACED_OPS = 40, 900
UNPLACED = 5  # registers more than are live, of other programs
UNDER_WAY = 24  # accesses that hold registers at one time, at most


class Given(NamedTuple):
    """Registers by rules: the estimate, the fewest that are live in any order, what they may spread over, what the launch allows, and what products ask for."""

    estimate: int
    least: int
    given: int
    allowed: int
    fewest: int


def traits(facts: Assembly, pressure: Pressure, orders: Orders, tight: Orders, rules: Given) -> Traits:
    """What is said of a program, by name. orders: the blocks as they are; tight: in the orders that need fewest registers."""
    words = {**_fullest(pressure, orders, "live"), **_fullest(pressure, tight, "tight")}
    words |= _places(facts, pressure, orders, words["live"])
    words["least"] = rules.least
    found: Traits = {name: float(value - rules.estimate) for name, value in words.items()}
    found |= {"estimate": rules.estimate, "given": rules.given, "allowed": rules.allowed, "fewest": rules.fewest}
    return found | _code(pressure, orders) | _text(facts) | {"target": parse_target(facts.target).number}


def _fullest(pressure: Pressure, orders: Orders, prefix: str) -> dict[str, int]:
    """The most values in use at one time, by kind: in 32-bit registers; those of two and more; of one; of warps, as lanes would have them;
    predicates; lanes' and warps' together; with what an instruction reads and writes at once."""
    most: Counter[str] = Counter(
        dict.fromkeys(("", ".pairs", ".single", ".uniform", ".predicates", ".all", ".both"), 0)
    )
    kinds: dict[int, tuple[int, int, int, int, int]] = {}

    def kind(slot: int) -> tuple[int, int, int, int, int]:
        if slot not in kinds:
            words, home = pressure.words(slot), pressure.like.get(slot, slot)
            whole = words if home in pressure.absent else pressure.width(slot)
            is_predicate = home < len(pressure.types) and pressure.types[home].kind == "predicate"
            kinds[slot] = words, words * (words > 1), int(words == 1), max(0, whole - words), int(is_predicate)
        return kinds[slot]

    names = tuple(most)
    for ops, live in orders:
        now = set(live)
        words, pairs, single, uniform, predicates = (sum(column) for column in zip((0,) * 5, *map(kind, now)))
        for op in reversed(ops):
            writes, needed = set(op.writes), {*op.reads, *op.predicates}
            if op.kind != Kind.COPY:
                made = words + sum(kind(slot)[0] for slot in writes - now)
                read = sum(kind(slot)[0] for slot in needed - now - writes)
                sizes = (made, pairs, single, uniform, predicates, made + uniform, made + read)
                for name, size in zip(names, sizes):
                    if size > most[name]:
                        most[name] = size
            gone = writes & now
            new = needed - now if not gone else needed - (now - gone)
            for slots, sign in ((gone, -1), (new, 1)):
                for slot in slots:
                    a, b, c, d, e = kind(slot)
                    words, pairs, single = words + sign * a, pairs + sign * b, single + sign * c
                    uniform, predicates = uniform + sign * d, predicates + sign * e
            now -= gone
            now |= new
    return {prefix + name: value for name, value in most.items()}


def _held(pressure: Pressure, orders: Orders) -> int:
    """The most registers in use with those that accesses under way have yet to read."""
    most = 0
    for ops, live in orders:
        after: list[Set[int]] = []
        for op in reversed(ops):
            after.append(live)
            go_before(op, live := set(live))
        held: list[tuple[Set[int], Set[int]]] = []
        for op, there in zip(ops, reversed(after)):
            held = [(reads, writes) for reads, writes in held if writes.isdisjoint((*op.reads, *op.predicates))]
            most = max(most, sum(map(pressure.words, set(there).union(op.writes, *(reads for reads, _ in held)))))
            if is_late(op):
                held = [*held, (set(op.reads), set(op.writes))][-UNDER_WAY:]
    return most


def _places(facts: Assembly, pressure: Pressure, orders: Orders, live: int) -> dict[str, int]:
    """Registers that are taken, by how values are placed: what is read late kept or not, widest first or as they come, and what in odd registers."""
    fits = live < PLACED_LIVE and sum(len(ops) for ops, _ in orders) < PLACED_OPS
    found = {"held": _held(pressure, orders) if fits else live}
    found["places"] = Allocation(facts, pressure).run(orders) if fits else live + UNPLACED
    for late in (False, True):
        allocation = Allocation(facts, pressure, late)
        if fits:
            allocation.meet(orders)
        for in_order in (False, True):
            for odd in ODD:
                name = f"places.{'late' if late else 'read'}.{'come' if in_order else 'wide'}.{odd}"
                found[name] = allocation.places(in_order, odd) if fits else live + UNPLACED
    return found


def _code(pressure: Pressure, orders: Orders) -> Traits:
    """Counts of machine instructions, of all blocks and of the block that has most, and what is live between blocks."""
    blocks = [[op for op in ops if op.kind != Kind.COPY] for ops, _ in orders]
    units = Counter(op.unit for ops in blocks for op in ops)
    found: Traits = {f"unit.{name}": units[name] for name in UNITS}
    loads = {
        unit: [[op for op in ops if op.kind == Kind.ACCESS and op.unit == unit and not op.stores] for ops in blocks]
        for unit in ("global", "shared")
    }
    for unit, of_blocks in loads.items():
        loaded = [sum(pressure.width(slot) for op in ops for slot in op.writes) for ops in of_blocks]
        found[f"most.{unit}"] = max(loaded, default=0)
    stores = [sum(op.kind == Kind.ACCESS and op.unit == "global" and op.stores for op in ops) for ops in blocks]
    parameters = {slot for ops in blocks for op in ops if op.unit == "constant" for slot in op.writes}
    return found | {
        "most.loads": max(map(len, loads["global"]), default=0),
        "most.stores": max(stores, default=0),
        "most.code": max((len(ops) for ops, _ in orders), default=0),
        "code": sum(map(len, blocks)),
        "blocks": sum(bool(ops) for ops, _ in orders),
        "after": max((sum(map(pressure.words, live)) for _, live in orders), default=0),
        "after.all": max((sum(map(pressure.width, live)) for _, live in orders), default=0),
        "parameters": len(parameters),
        "parameters.words": sum(map(pressure.width, parameters)),
        "results": max((len(op.writes) for ops in blocks for op in ops), default=0),
        "guarded": sum(bool(op.predicates) for ops in blocks for op in ops),
        "moved": len(pressure.moved),
        "copies": len(orders) - len(pressure.program.blocks),
    }  # fmt: skip


def _text(facts: Assembly) -> Traits:
    """Counts of what the text has."""
    live = [op for op in facts.program.ops if op.site in facts.flow.live]
    read = [len(v.elements) for op in live for v in op.sources if isinstance(v, Vector)]
    written = [len(v.elements) for op in live for v in op.destinations if isinstance(v, Vector)]
    return {
        "vectors": len(read) + len(written),
        "vectors.read": max(read, default=0),
        "vectors.written": max(written, default=0),
        "products": sum(op.facts.product is not None for op in facts.program.ops),
        "products.warpgroup": sum(op.facts.scope is Scope.WARPGROUP for op in facts.program.ops),
        "calls": sum(op.call is not None for op in facts.program.ops),
        "factors": len({n for op in live if op.words.get("half") == "wide" for n in _numbers(op.sources)}),
        "numbers": len({n for op in live for n in _numbers(op.sources)}),
        "loops": len(facts.graph.back_edges),
        "depth": max(facts.graph.loop_depth, default=0),
        "values": len(facts.flow.types),
        "values.64": sum(t.bits == 64 for t in facts.flow.types),
        "divergent": len(facts.divergent),
    }


def _numbers(sources: Sequence[Operand | None]) -> list[object]:
    return [source.value for source in sources if isinstance(source, Constant)]

"""Whether registers that hold one kind of fragment can reach an instruction that takes another, wherever a program stands.

machine.provenance finds such uses when they happen, and asks here first whether registers can have brought the fragment
there: what went through memory or arithmetic is a fragment no more. Native code does not look; it may take the matrix
operations of a program in which nothing can be found. By register slot, copies included, without regard to order: it errs
on the side of finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.program.operand import Address, Operand, Vector
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.machine.provenance import ACCUMULATORS, HALVES, NARROW, ROWS
from ptxsim.types import TYPES

Tag = tuple[str, str, str, "str | None"]  # shape, operand, type and layout of a wmma fragment
OPAQUE = frozenset(["wmma"])  # what wmma's registers may be used as, and what it takes


@fact
def types_match(program: Program) -> bool:
    """Whether products and stmatrix can only meet registers that ldmatrix and products left for such a use, and wmma only
    its own."""
    held: dict[int, set[frozenset[str]]] = {}
    copies: list[tuple[int, int]] = []
    wanted: list[tuple[int, frozenset[str]]] = []
    for op in program.ops:
        types = _leaves(op)
        if types is not None:
            for slot in slots_of([op.destinations[0]]):
                held.setdefault(slot, set()).add(types)
        elif op.facts.copies:
            copies += [(s, d) for d in slots_of(op.destinations) for s in slots_of(op.sources)]
        wanted += _takes(op)
    _carry(held, copies)
    return all(types & want for slot, want in wanted for types in held.get(slot, ()))


@fact
def wmma_matches(program: Program) -> bool:
    """Whether every wmma operation can only meet registers that wmma left for that shape, operand, type and layout,
    whatever else happens to registers."""
    held: dict[int, set[Tag]] = {}
    moves: list[tuple[int, int]] = []
    uses: list[tuple[Operand | None, Tag]] = []
    for op in program.ops:
        w = op.words
        left: list[tuple[Operand | None, Tag]] = []
        if not op.facts.opaque:
            values = slots_of(source for source in op.sources if not isinstance(source, Address))
            moves += [(s, d) for d in slots_of(op.destinations) for s in values]
        elif op.facts.product is not None:
            left.append((op.destinations[0], (w["shape"], "C", w["dtype"].name, None)))
            a, b = ((w.get(type) or TYPES["f16"]).name for type in ("atype", "btype"))
            tags = (
                (w["shape"], "A", a, w["alayout"]), (w["shape"], "B", b, w["blayout"]), (w["shape"], "C", w["ctype"].name, None),
            )  # fmt: skip
            uses += zip(op.sources, tags, strict=True)
        elif op.destinations:
            operand = w["operand"]
            tag = w["shape"], operand, w["type"].name, w["layout"] if operand in "AB" else None
            left.append((op.destinations[0], tag))
        else:
            uses.append((op.sources[1], (w["shape"], "C", w["type"].name, None)))
        for operand, tag in left:
            for slot in slots_of([operand]):
                held.setdefault(slot, set()).add(tag)
    _carry(held, moves)
    return all(held.get(slot, set()) <= {tag} for operand, tag in uses for slot in slots_of([operand]))


def can_mix(program: Program, opaque: bool) -> bool:
    """Whether a use of registers as another fragment than they hold is possible: of any, or only of those that are not wmma's."""
    return not types_match(program) or (opaque and not wmma_matches(program))


def _carry(held: dict[int, set[Any]], copies: list[tuple[int, int]]) -> None:
    """Follow what registers hold along (from, to) copies until nothing is new."""
    changed = bool(held)
    while changed:
        changed = False
        for source, slot in copies:
            new = held.get(source, set()) - held.get(slot, set())
            if new:
                held.setdefault(slot, set()).update(new)
                changed = True


def _is_product(op: Op) -> bool:
    """Whether an operation multiplies fragments whose elements the manual shows."""
    return op.facts.product is not None and not op.facts.opaque


def _leaves(op: Op) -> frozenset[str] | None:
    """As what the destination's registers may be used; None where nothing is known of them."""
    name, words = op.family, op.words
    if _is_product(op):
        return ACCUMULATORS[words["dtype"].name]
    if name == "ldmatrix":
        moved = words.get("format") or (words["type"].name if words.get("type") else "b8")
        return ROWS.get((moved, bool(words["trans"])))
    return OPAQUE if op.facts.opaque and op.destinations else None


def _takes(op: Op) -> Iterator[tuple[int, frozenset[str]]]:
    """(register slot, the types its content must allow) of the fragments an operation uses."""
    name, words = op.family, op.words
    if _is_product(op):
        types = [words["atype"].name, words["btype"].name, words["ctype"].name if "ctype" in words else None]
        for operand, type in zip(op.sources, types):
            if isinstance(operand, Vector):
                yield from ((slot, frozenset([type])) for slot in slots_of([operand]))
    elif name == "stmatrix" and words["trans"]:
        yield from ((slot, HALVES if words["type"].bits == 16 else NARROW) for slot in slots_of([op.sources[1]]))
    elif op.facts.opaque and (op.facts.product is not None or not op.destinations):
        fragments = op.sources if op.facts.product is not None else op.sources[1:2]
        yield from ((slot, OPAQUE) for operand in fragments for slot in slots_of([operand]))

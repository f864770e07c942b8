"""Accesses to shared memory, and to constants by index, side by side that the assembler makes one of: two or four words, where it can tell that they are aligned.

Lanes that are so far apart use the banks as much for one of the words as for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ptxsim.engine.analysis.def_use import def_use
from ptxsim.engine.program.operand import Address, Constant, Register, SharedAddress
from ptxsim.engine.program.operation import Op, Program
from ptxsim.profile.lowering.fusion import accesses_of, cost_of, is_made
from ptxsim.profile.lowering.schedule import WALLS
from ptxsim.profile.machine_code import Kind, MachineOp

WIDEST = {"shared": 16, "const": 8}  # bytes of an access of a lane
ANY = 1 << 30  # alignment of zero
NAMED = -1  # in the place of a register: variables by their names, whose addresses are known


class Alignment:
    """What the values of a program's registers are multiples of, powers of two up to ANY, as far as the text says."""

    def __init__(self, program: Program):
        self.program, self.flow, self.known = program, def_use(program), dict[int, int]()

    def of(self, slot: int) -> int:
        """Of a register: that of all that is written to it."""
        if slot not in self.known:
            self.known[slot] = ANY  # what it is made from itself by says nothing
            definers = self.flow.definers.get(slot, ())
            self.known[slot] = min((self._made(self.program.ops[site]) for site in definers), default=1)
        return self.known[slot]

    def _made(self, op: Op) -> int:
        sources = [self._source(op, k) for k in range(len(op.sources))]
        copies = (op.facts.copies and not op.facts.reads_lanes) or cost_of(op) == "free"
        if copies or is_made(op, {"+", "-"}) or is_made(op, {"|", "^"}):
            return min(sources[:2], default=1)
        if op.family == "shl" and isinstance(op.sources[1], Constant):
            return min(ANY, sources[0] << int(op.sources[1].value))
        if op.family == "mul" and op.words.get("half") != "hi":
            return min(ANY, sources[0] * sources[1])
        if op.family == "mad" and op.words.get("half") != "hi":
            return min(ANY, sources[0] * sources[1], sources[2])
        return max(sources) if is_made(op, {"&"}) else 1

    def _source(self, op: Op, index: int) -> int:
        source = op.sources[index]
        if isinstance(source, Register):
            return self.of(self.flow.value(op, index))
        if isinstance(source, Constant) and isinstance(source.value, int):
            return gcd(int(source.value), ANY)
        return 1


def merge_shared(alignment: Alignment, ops: list[MachineOp]) -> list[MachineOp]:
    """The instructions of a block with such accesses in one: loads where the first is, stores where the last is."""
    gone: set[int] = set()
    run: list[int] = []
    for i, op in enumerate(ops):
        fits = op.kind == Kind.ACCESS and op.space in WIDEST and _width(alignment.program, op) > 0
        same = fits and (not run or _alike(ops[run[0]], op))
        if run and not same and (op.kind in WALLS or op.stores or op.space in WIDEST):
            gone |= _merge(alignment, ops, run)
            run = []
        if fits:
            run.append(i)
    gone |= _merge(alignment, ops, run)
    return [op for i, op in enumerate(ops) if i not in gone]


def _alike(one: MachineOp, other: MachineOp) -> bool:
    return (one.space, one.stores, one.predicates) == (other.space, other.stores, other.predicates)


def _width(program: Program, op: MachineOp) -> int:
    """Bytes that a lane reads or writes at once; 0 of what is no plain access by address and register."""
    source = program.ops[op.site]
    plain = "vec" in source.words and source.facts.by_lanes and accesses_of(source)[0].order == "weak"
    address = source.sources[0]
    if not plain or not isinstance(address, Address) or not isinstance(address.base, (Register, SharedAddress)):
        return 0
    vector = source.words.get("vec")
    kind = source.words["type"]
    width = kind.bits // 8 * {"v2": 2, "v4": 4}.get(str(vector or ""), 1)
    return width if width in (4, 8) else 0


def _merge(alignment: Alignment, ops: list[MachineOp], run: Sequence[int]) -> set[int]:
    """Merge what can be of accesses that may change places; returns those that are gone."""
    gone: set[int] = set()
    by_base: dict[tuple[int, int], dict[int, int]] = {}
    for i in run:
        source = alignment.program.ops[ops[i].site]
        address = source.sources[0]
        assert isinstance(address, Address)
        base, start = NAMED, address.offset
        if isinstance(address.base, SharedAddress):
            start += address.base.value
        else:
            base = alignment.flow.value(source, 0)
        by_base.setdefault((base, _width(alignment.program, ops[i])), {}).setdefault(start, i)
    widest = WIDEST[ops[run[0]].space] if run else 0
    for (base, width), places in by_base.items():
        aligned = ANY if base == NAMED else alignment.of(base)
        for offset in sorted(places):
            for total in (widest, widest // 2):
                found = [places.get(offset + k, -1) for k in range(0, total, width)]
                if (
                    len(found) > 1
                    and min(found) >= 0
                    and not gone.intersection(found)
                    and gcd(aligned, offset) % total == 0
                ):
                    gone |= _made_one(ops, sorted(found), total)
                    break
    return gone


def _made_one(ops: list[MachineOp], members: list[int], width: int) -> set[int]:
    kept = members[-1] if ops[members[0]].stores else members[0]
    places = [place for i in members if (place := ops[i].place) is not None]
    ops[kept].place = (min(offset for offset, _ in places), width) if len(places) == len(members) else None
    ops[kept].bytes = width
    ops[kept].writes = tuple(dict.fromkeys(w for i in members for w in ops[i].writes))
    ops[kept].reads = tuple(dict.fromkeys(r for i in members for r in ops[i].reads))
    return set(members) - {kept}

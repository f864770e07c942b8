"""Operations on 64 bits bit by bit: an instruction for each half of 32 bits that is not known, or the same as a half that there is.

Read from ptxas 13.0 for sm_90: a mask of 61 bits is one LOP3, a shift by 32 or more at most one, what is zero after those is no operand.
Of a product, the part of an upper half that is zero is not made, and what a sum adds to it is an operand of IMAD.WIDE.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxsim.engine.analysis.def_use import writes
from ptxsim.engine.program.operand import Constant, Operand, Register, Vector
from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering.fusion import Fusion, bits_of, cost_of, is_made, type_of

ONES = 0xFFFFFFFF
LEFT, RIGHT = {"<<"}, {">>"}
PRODUCTS = ("mul.64", "mul.64.half", "mul.64.low")  # rows of a product, by how many of its factors have no upper half
Half = int | None  # what is known of one


def count(fusion: Fusion, op: Op) -> int | None:
    """How many instructions a shift or a bitwise operation on 64 bits is; None where the row of its definition says it."""
    if bits_of(op) != 64 or op.site in fusion.extra or len(op.sources) != 2:
        return None
    if is_made(op, LEFT) or is_made(op, RIGHT):
        return _shift(fusion, op)
    if not any(is_made(op, {sign}) for sign in "&|^"):
        return None
    one, other = (_known(fusion, op, k) for k in range(2))
    same = (0, ONES) if is_made(op, {"&"}) else (0,)
    return sum(a not in same and b not in same for a, b in zip(one, other))


def products(fusion: Fusion) -> None:
    """Say what products of 64 bits are, and put those that only a sum reads into it."""
    for op in fusion.program.ops:
        if op.site not in fusion.flow.live or op.site in fusion.eaten or bits_of(op) != 64:
            continue
        if cost_of(op) == PRODUCTS[0]:
            fusion.fused.setdefault(op.site, PRODUCTS[sum(_known(fusion, op, k)[1] == 0 for k in range(2))])
        elif is_made(op, {"+"}) and op.site not in fusion.fused and op.site not in fusion.extra:
            for producer in fusion.producers(op):
                row = fusion.fused.get(producer.site)
                if row in PRODUCTS and producer.family == "mul" and fusion.only_for(producer, op):
                    fusion.eat(producer, op, row)
                    break


def narrow(fusion: Fusion) -> set[int]:
    """Values of 64 bits that take one register: half of them is zero, and all that read them can do without it. Accesses take both, as do moves."""
    found: set[int] = set()
    for op in fusion.program.ops:
        for slot in fusion.flow.writes[op.site]:
            if op.site in fusion.flow.live and fusion.flow.types[slot].bits == 64 and 0 in _of(fusion, slot):
                readers = [fusion.program.ops[site] for site in fusion.live_readers(slot)]
                if all(not r.accesses and r.family != "mov" and r.call is None and bits_of(r) == 64 for r in readers):
                    found.add(slot)
    return found


def upper_halves(fusion: Fusion) -> set[int]:
    """Values of 16 bits that lie in one register with the value before them: what a word was split into, or loaded as, and nothing else writes
    but constants. So ptxas 13.0 has sums of f16 that go from one turn of a loop to the next, and operands of tensor cores that are split and joined."""
    found: set[int] = set()
    other: set[int] = set()
    for op in fusion.program.ops:
        if op.site not in fusion.flow.live:
            continue
        names = dict(zip(writes(op), fusion.flow.writes[op.site]))
        vectors = [v for v in op.destinations if isinstance(v, Vector)]
        upper = {slot for v in vectors for slot in _upper(fusion, v.elements, names)} if op.guard is None else set()
        found |= upper
        if not (op.family == "mov" and isinstance(op.sources[0], Constant)):
            other |= set(names.values()) - upper
    return found - other


def _upper(fusion: Fusion, elements: Sequence[Operand | None], names: dict[int, int]) -> set[int]:
    """Every other element of a vector of 16 bits each, if the one before it is needed, too."""
    slots = [names.get(e.slot, e.slot) if isinstance(e, Register) else None for e in elements]
    pairs = zip(slots[::2], slots[1::2])
    return {
        high
        for low, high in pairs
        if low is not None and high is not None and fusion.flow.types[high].bits == 16 and fusion.live_readers(low)
    }


def _shift(fusion: Fusion, op: Op) -> int | None:
    by = op.sources[1]
    if not isinstance(by, Constant) or not isinstance(by.value, int):
        return None
    low, high = _known(fusion, op, 0)
    if by.value >= 32:
        signed = is_made(op, RIGHT) and type_of(op) == "s64"
        return int(by.value > 32) + signed
    return 1 if (low if is_made(op, LEFT) else high) == 0 else 2


def _known(fusion: Fusion, op: Op, number: int) -> tuple[Half, Half]:
    source: Operand | None = op.sources[number]
    if isinstance(source, Constant) and isinstance(source.value, int):
        return source.value & ONES, source.value >> 32 & ONES
    return _of(fusion, fusion.flow.value(op, number)) if isinstance(source, Register) else (None, None)


def _of(fusion: Fusion, slot: int) -> tuple[Half, Half]:
    """What is known of the lower and the upper half of a value: that it is zero."""
    op = fusion.definer(slot)
    if op is None or op.guard is not None:
        return None, None
    constant = next((s.value for s in op.sources[1:2] if isinstance(s, Constant) and isinstance(s.value, int)), None)
    if op.family == "cvt" and str(op.words.get("atype", "")) in ("u8", "u16", "u32"):
        return None, 0
    if constant is None or bits_of(op) != 64:
        return None, None
    if constant >= 32 and is_made(op, LEFT):
        return 0, None
    if constant >= 32 and is_made(op, RIGHT):
        return None, None if type_of(op) == "s64" else 0
    if is_made(op, {"&"}):
        halves = constant & ONES, constant >> 32 & ONES
        return halves[0] and None, halves[1] and None
    return None, None

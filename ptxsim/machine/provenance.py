"""Which fragments a warp holds, so that one used as another shape, operand, type or layout is found.

What is in registers is known again by its content, so copies of registers are alike; contents that could be met by chance
are never judged, nor what registers cannot have brought there (engine.analysis.fragment_flow). Three things leave known registers:

wmma        the manual leaves its fragments opaque: what was loaded or computed may be used only as what it is, and by
            nothing else (there the register must be the same too: the same tile may well be loaded both ways)
ldmatrix    the unit in which it moves elements, and the format it unpacked, say what its registers cannot be
products    the D of a product has a type; as another accumulator, or as a factor of most types, its bits mean nothing

Nothing is said of what a correct kernel may do: ldmatrix of 16-bit units for wider or narrower elements, transposed or
not, the matrices of an .x4 in any order or for two operands, D as the A or B of the next product, k in any order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ptxsim.layout.fragments import Fragment
from ptxsim.layout.tables import ROW_FORMATS
from ptxsim.types import TYPES

if TYPE_CHECKING:
    from ptxsim.machine.cta import Warp
    from ptxsim.machine.port import Port

REMEMBERED = 1024
DISTINCT = 4  # a register with fewer different words among its lanes could be met by chance
Tag = tuple[str, str, str, "str | None", int]

INTEGERS = frozenset(["s8", "u8", "s4", "u4", "b1"])
NARROW = frozenset(type.name for type in TYPES.values() if type.bits <= 8)
HALVES = frozenset(type.name for type in TYPES.values() if type.bits <= 16)
# As what types the registers of an accumulator may be used, by the accumulator's type. Small numbers of an s32 are
# bytes too.
ACCUMULATORS = {
    "f32": frozenset(["f32", "tf32"]),
    "s32": frozenset(["s32"]) | INTEGERS,
    "f16": frozenset(["f16"]),
    "f64": frozenset(["f64"]),
}
# The same for what ldmatrix leaves in registers, by its type or format and whether it transposes. A transposed unit is
# the largest element that survives. ldmatrix puts 4-bit elements in the low bits of bytes, where only an integer has them:
# mma reads a 4-bit float from the middle.
ROWS = {
    ("b16", True): HALVES,
    ("b8", True): NARROW,
    **{(name, transposed): row.types for name, row in ROW_FORMATS.items() for transposed in (False, True)},
}


class Source(NamedTuple):
    """What a register is known to hold, and as which types products may use it."""

    text: str
    types: frozenset[str]
    line: int
    help: str


Item = TypeVar("Item")


class Held:
    """What a warp's registers are known to hold: fragments of wmma and single registers by their content, and by slot."""

    def __init__(self) -> None:
        self.fragments: OrderedDict[bytes, set[Tag]] = OrderedDict()
        self.registers: OrderedDict[bytes, set[Source]] = OrderedDict()
        self.slots: dict[int, tuple[Tag, np.ndarray]] = {}


def remember(m: Port, words: np.ndarray, fragment: Fragment, layout: str | None) -> None:
    """A fragment of wmma came to be in the warp's registers: `words` uint32 (words, 32)."""
    if not _telling(words):
        return
    held, tag = m.warp.units.of(Held), (*_use(fragment), layout, m.line)
    _add(held.fragments, words.tobytes(), tag)
    if m.op is not None:
        held.slots.update({slot: (tag, word.copy()) for slot, word in _by_slot(m.op.destinations[0], words)})


def check(m: Port, words: np.ndarray, fragment: Fragment, layout: str | None, operand: Any = None) -> None:
    """Report `fragment-mismatch` if registers that wmma uses hold something else than this fragment.

    `operand` is the operand as the engine resolved it, where there is one.
    """
    if not _can_mix(m, True):
        return
    use = _use(fragment)
    tags = m.warp.units.of(Held).fragments.get(words.tobytes())
    if not tags or not _telling(words):
        # Pieces of fragments, by register.
        tags = {tag for tag in _held(m, operand, words) if tag[:4] != (*use, layout)}
        if not tags:
            if _can_mix(m, False):
                _check_registers(m, words, fragment)
            return
    if any(tag[:3] == use and tag[3] == layout for tag in tags):
        return
    shape, operand, type, was, line = min(tags, key=lambda tag: (tag[:3] != use, tag[4]))
    m.report(
        "fragment-mismatch",
        f"the registers hold {_text(shape, operand, type, was)} (line {line}) and are used as {_text(*use, layout)}",
        help="a wmma fragment may be used only as the operand, shape, type and layout it was loaded for",
    )


def remember_rows(m: Port, registers: list[np.ndarray], type: str, transposed: bool) -> None:
    """ldmatrix filled registers, lane values of 32 bits; `type` is its type or the format it unpacked."""
    types = ROWS.get((type, transposed))
    if types is None:
        return
    name = f"ldmatrix{'.trans' if transposed else ''}.{type}"
    if type in ROW_FORMATS and ROW_FORMATS[type].bits == 4:
        help = "ldmatrix puts a 4-bit element in the low bits of a byte, mma reads it two bits higher: shift left by 2"
    elif transposed and type == "b16":
        help = ".trans moves 16-bit units and takes wider elements apart; load them without .trans"
    else:
        help = f"what {name} loads may be used as {', '.join(sorted(types))}"
    _remember_registers(m.warp, np.stack(registers), Source(f"what {name} loaded", types, m.line, help))


def remember_product(warp: Warp, words: np.ndarray, fragment: Fragment, line: int) -> None:
    """A product left D, uint32 (words, 32), in the registers of a warp."""
    name = f"an accumulator of {fragment.family} {fragment.shape_name} .{fragment.type}"
    help = f"convert .{fragment.type} elements to the type that is wanted; see `ptxsim layout` for where they are"
    _remember_registers(warp, words, Source(name, ACCUMULATORS[fragment.type], line, help))


def operands(m: Port) -> Sequence[Any]:
    """The operands of the instruction as the engine resolved them: Nones where it runs without one."""
    return (None, None, None) if m.op is None else m.op.sources


def check_operand(m: Port, words: np.ndarray, fragment: Fragment, operand: Any) -> None:
    """Report `fragment-mismatch` if an operand of a product, uint32 (words, 32), is no fragment of that type.

    `operand` is the operand as the engine resolved it, or None.
    """
    if not _can_mix(m, False):
        return
    _check_registers(m, words, fragment)
    for shape, held, type, layout, line in _held(m, operand, words):
        m.report(
            "fragment-mismatch",
            f"{fragment.operand} holds {_text(shape, held, type, layout)} of wmma (line {line}) and is used as "
            f"{_text(*_use(fragment), None)} of {fragment.family}",
            help="wmma's fragments are opaque; what other products take comes from ldmatrix, loads or mma",
            level="warning",
        )
        return


def check_stored(m: Port, registers: list[np.ndarray], bits: int, transposed: bool) -> None:
    """Report `fragment-mismatch` if an stmatrix that transposes takes wider elements apart."""
    if not transposed or not _can_mix(m, False):
        return
    whole = HALVES if bits == 16 else NARROW
    for number, register in enumerate(registers):
        source = _known(m.warp, register, whole)
        if source:
            m.report(
                "fragment-mismatch",
                f"register {number} holds {source.text} (line {source.line}); stmatrix.trans.b{bits} moves {bits}-bit units",
                help=source.help,
                level="warning",
            )
            return


def _can_mix(m: Port, opaque: bool) -> bool:
    can_mix = m.machine.can_mix
    return can_mix is None or can_mix(opaque)


def _check_registers(m: Port, words: np.ndarray, fragment: Fragment) -> None:
    opaque = fragment.family == "wmma"
    for number, word in enumerate(words):
        source = _known(m.warp, word, frozenset() if opaque else frozenset([fragment.type]))
        if source:
            m.report(
                "fragment-mismatch",
                f"word {number} of {fragment.operand} holds {source.text} (line {source.line}) and is used as "
                f"{_text(*_use(fragment), None)}",
                help="what wmma uses comes from wmma" if opaque else source.help,
                level="warning" if opaque else None,  # the silicon may agree, the manual does not say so
            )
            return


def _known(warp: Warp, word: np.ndarray, wanted: frozenset[str]) -> Source | None:
    """A source of a register's content, if nothing that is known of it allows its use as one of the types."""
    sources = warp.units.of(Held).registers.get(word.tobytes())
    if not sources or any(source.types & wanted for source in sources):
        return None
    return max(sources, key=lambda source: source.line)


def _remember_registers(warp: Warp, words: np.ndarray, source: Source) -> None:
    known = warp.units.of(Held).registers
    for word in words[_distinct(words)]:
        _add(known, word.tobytes(), source)


def _held(m: Port, operand: Any, words: np.ndarray) -> list[Tag]:
    """The wmma fragments whose registers are among an operand's, untouched since."""
    held = m.warp.units.of(Held).slots
    found = []
    for slot, word in _by_slot(operand, words) if held else ():
        tag, was = held.get(slot, (None, word))
        if tag and _distinct(word) and (was == word).all():
            found.append(tag)
    return found


def _distinct(words: np.ndarray) -> np.ndarray:
    """Whether the lanes of registers, uint32 (..., 32), differ enough for them to be known again."""
    ordered = np.sort(words, axis=-1)
    changes: np.ndarray = (ordered[..., 1:] != ordered[..., :-1]).sum(axis=-1)
    return np.asarray(changes >= DISTINCT - 1)


def _by_slot(operand: Any, words: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(register slot, its first word) of an operand as the engine resolved it."""
    slots = [None if getattr(e, "sink", False) else getattr(e, "slot", None) for e in getattr(operand, "elements", ())]
    step = len(words) // max(1, len(slots))
    return [(slot, words[i * step]) for i, slot in enumerate(slots) if slot is not None]


def _add(known: OrderedDict[bytes, set[Item]], key: bytes, item: Item) -> None:
    known.setdefault(key, set()).add(item)
    known.move_to_end(key)
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def _use(fragment: Fragment) -> tuple[str, str, str]:
    return fragment.shape_name, "C" if fragment.operand == "D" else fragment.operand, fragment.type


def _text(shape: str, operand: str, type: str, layout: str | None) -> str:
    name = "an accumulator" if operand == "C" else f"{operand}"
    return f"{name} of {shape} .{type}{f' .{layout}' if layout else ''}"


def _telling(words: np.ndarray) -> bool:
    return bool((words != words[0, 0]).any())

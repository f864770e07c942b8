"""Fragments and descriptors as text: what `ptxsim layout` and `ptxsim desc` print."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxsim.report.style import WIDTH
from ptxsim.report.text import wrap

if TYPE_CHECKING:
    from ptxsim.layout.descriptor import Descriptor
    from ptxsim.layout.fragments import Fragment
    from ptxsim.layout.instruction_descriptor import InstructionDescriptor


def lane_line(fragment: Fragment, lane: int) -> str:
    """What one lane holds: `lane 5:  a0 (1,2)  a1 (1,3) ...`. Raises PtxError for a lane that is none."""
    letter = fragment.operand.lower()
    cells = []
    for element in range(fragment.elements):
        place = ",".join(map(str, fragment.coords(lane, element)))
        cells.append(f"{letter}{element} ({place})")
    return cells_line(lane, cells)


def cells_line(lane: int, cells: list[str]) -> str:
    """Cells of one lane in columns, after its number."""
    size = max(map(len, cells))
    start = f" lane {lane}:  "
    per_line = max(1, (WIDTH - len(start) + 2) // (size + 2))
    rows = [cells[first : first + per_line] for first in range(0, len(cells), per_line)]
    return "\n".join(
        (start if i == 0 else " " * len(start)) + "  ".join(f"{cell:<{size}}" for cell in row).rstrip()
        for i, row in enumerate(rows)
    )


def lane_table(fragment: Fragment) -> str:
    """All lanes, one below the other."""
    return "\n".join(lane_line(fragment, lane) for lane in range(fragment.lanes))


def summary(fragment: Fragment) -> str:
    """Shape, lanes, registers, in a line or two."""
    shape = " x ".join(map(str, fragment.shape))
    packed = f", {fragment.per_register} elements per register" if fragment.per_register > 1 else ""
    text = (
        f"{fragment.family} {fragment.shape_name}, operand {fragment.operand}, .{fragment.type}: {shape} over "
        f"{fragment.lanes} lanes, {fragment.elements} elements in {fragment.registers} registers each{packed}"
    )
    return "\n".join(wrap(text, WIDTH, ""))


def fragment_record(fragment: Fragment, lane: int | None = None) -> dict[str, Any]:
    """The map as JSON takes it: for each lane, or one of them, the coordinates of its elements in order."""
    lanes = range(fragment.lanes) if lane is None else (lane,)
    return {
        "family": fragment.family,
        "shape": fragment.shape_name,
        "operand": fragment.operand,
        "type": fragment.type,
        "matrix": list(fragment.shape),
        "registers": fragment.registers,
        "elements_per_register": fragment.per_register,
        "lanes": {
            number: [[int(i) for i in fragment.coords(number, element)] for element in range(fragment.elements)]
            for number in lanes
        },
    }


_TITLES = {
    "start": "start address", "leading": "leading byte offset", "stride": "stride byte offset",
    "base_offset": "base offset", "swizzle": "swizzle", "version": "version", "leading_mode": "leading offset mode",
}  # fmt: skip


def descriptor_table(descriptor: Descriptor, major: str = "K") -> str:
    """The fields of a matrix descriptor of a K- or MN-major tile: where they sit, what is stored, what it means."""
    raw = descriptor.raw()
    lines = [f" {'bits':<5}  {'field':<20} {'raw':<7}  means"]
    for name, low, bits in descriptor.fields:
        stored = f"{raw[name]:#06x}" if bits == 14 else str(raw[name])
        first, *rest = wrap(_MEANINGS[name](descriptor, major), WIDTH - 38, "")
        places = f"{low}-{low + bits - 1}" if bits > 1 else str(low)
        lines.append(f" {places:>5}  {_TITLES[name]:<20} {stored:<7}  {first}")
        lines += [" " * 38 + part for part in rest]
    if descriptor.reserved:
        lines.append(f" other  {'reserved bits':<20} {descriptor.reserved:#x}")
    return "\n".join(lines)


def descriptor_record(descriptor: Descriptor, major: str = "K", rows: int = 64, bits: int = 16) -> dict[str, Any]:
    """The fields as JSON takes them, in bytes, and the byte address of each (row, k) that one product reads."""
    return {
        "value": f"{descriptor.encode():#018x}",
        "start": descriptor.start,
        "leading": descriptor.leading,
        "stride": descriptor.stride,
        "base_offset": descriptor.base_offset,
        "swizzle": descriptor.swizzle,
        "raw": {name: int(value) for name, value in descriptor.raw().items()},
        "problems": [{"name": name, "message": text} for name, text in descriptor.problems()],
        "major": major,
        "element_bits": bits,
        "addresses": descriptor.addresses(major, rows, 256 // bits, bits).tolist(),
    }


def instruction_table(words: InstructionDescriptor) -> str:
    """The fields of an instruction descriptor: where they sit, what is stored, what it means."""
    from ptxsim.layout.instruction_descriptor import KINDS

    value = words.encode()
    lines = [f" {'bits':<5}  {'field':<20} {'raw':<7}  means"]
    for name, low, bits in sorted(KINDS[words.kind].fields, key=lambda field: field[1]):
        places = f"{low}-{low + bits - 1}" if bits > 1 else str(low)
        stored = value >> low & (1 << bits) - 1
        lines.append(f" {places:>5}  {name.replace('_', ' '):<20} {stored:<7}  {getattr(words, name, False)}")
    lines.append(f" {'':>5}  {'k':<20} {'':<7}  {words.k}")
    if words.reserved:
        lines.append(f" other  {'reserved bits':<20} {words.reserved:#x}")
    return "\n".join(lines)


def problems(descriptor: Descriptor) -> str:
    """What is wrong with a descriptor, a line each; empty if nothing is."""
    return "\n".join("\n".join(wrap(f"{name}: {text}", WIDTH, " ")) for name, text in descriptor.problems())


def _leading(descriptor: Descriptor, major: str) -> str:
    swizzled = descriptor.swizzle != "none"
    if major == "K":
        use = "not used: K-major, swizzled" if swizzled else "between the two 16-byte halves of K"
    else:
        use = "from one block as wide as the swizzle to the next" if swizzled else "from one group of 8 k to the next"
    return f"{f'{descriptor.leading} B':<7} {use}"


def _stride(descriptor: Descriptor, major: str) -> str:
    if major == "K":
        use = "from one group of 8 rows to the next"
    else:
        use = "from one 16-byte block of rows to the next"
        use = use if descriptor.swizzle == "none" else "from one group of 8 k to the next"
    return f"{f'{descriptor.stride} B':<7} {use}"


def _base_offset(descriptor: Descriptor, major: str) -> str:
    from ptxsim.layout.swizzle import pattern_bytes

    if descriptor.swizzle == "none" or descriptor.swizzle not in descriptor.swizzles:
        return "not used without a swizzle"
    size = pattern_bytes(descriptor.swizzle)
    row = descriptor.start % size // 128
    wrong = any(name == "swizzle-start" for name, _ in descriptor.problems())
    verdict = "wrong, see below" if wrong else "right"
    if row == 0:
        return f"pattern starts at {descriptor.start - descriptor.start % size:#06x}: multiple of {size}, {verdict}"
    return f"the tile starts {128 * row} bytes into a pattern of {size}: {verdict}"


_MEANINGS: dict[str, Callable[[Descriptor, str], str]] = {
    "start": lambda descriptor, major: f"{descriptor.start:#06x}",
    "leading": _leading,
    "stride": _stride,
    "base_offset": _base_offset,
    "swizzle": lambda descriptor, major: descriptor.swizzle.replace("_", ", atoms of ").replace("B", " B"),
    "version": lambda descriptor, major: "always 1",
    "leading_mode": lambda descriptor, major: "a distance in bytes, 1: an address",
}

"""Fragments and descriptors as text: what `ptxsim layout` and `ptxsim desc` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxsim.report.style import WIDTH
from ptxsim.report.text import wrap

if TYPE_CHECKING:
    from ptxsim.layout.descriptor import Descriptor
    from ptxsim.layout.fragments import Fragment


def lane_line(fragment: Fragment, lane: int, width: int = WIDTH) -> str:
    """What one lane holds: `lane 5:  a0 (1,2)  a1 (1,3) ...`. Raises PtxError for a lane that is none."""
    letter = fragment.operand.lower()
    cells = []
    for element in range(fragment.elements):
        place = ",".join(map(str, fragment.coords(lane, element)))
        cells.append(f"{letter}{element} ({place})")
    size = max(map(len, cells))
    start = f" lane {lane}:  "
    per_line = max(1, (width - len(start) + 2) // (size + 2))
    rows = [cells[first : first + per_line] for first in range(0, len(cells), per_line)]
    return "\n".join(
        (start if i == 0 else " " * len(start)) + "  ".join(f"{cell:<{size}}" for cell in row).rstrip()
        for i, row in enumerate(rows)
    )


def lane_table(fragment: Fragment, width: int = WIDTH) -> str:
    """All lanes, one below the other."""
    return "\n".join(lane_line(fragment, lane, width) for lane in range(fragment.lanes))


def summary(fragment: Fragment) -> str:
    """One line: shape, lanes, registers."""
    shape = " x ".join(map(str, fragment.shape))
    packed = f", {fragment.per_register} elements per register" if fragment.per_register > 1 else ""
    return (
        f"{fragment.family} {fragment.shape_name}, operand {fragment.operand}, .{fragment.type}: {shape} over "
        f"{fragment.lanes} lanes, {fragment.elements} elements in {fragment.registers} registers each{packed}"
    )


_TITLES = {
    "start": "start address",
    "leading": "leading byte offset",
    "stride": "stride byte offset",
    "base_offset": "base offset",
    "swizzle": "swizzle",
}


def descriptor_table(descriptor: Descriptor, width: int = WIDTH) -> str:
    """The fields of a wgmma descriptor: where they sit, what is stored, what it means."""
    from ptxsim.layout.descriptor import FIELDS

    raw = descriptor.raw()
    lines = [f" {'bits':<6} {'field':<21} {'raw':<7} means"]
    for name, low, bits in FIELDS:
        stored = f"{raw[name]:#06x}" if bits == 14 else str(raw[name])
        first, *rest = wrap(_meaning(descriptor, name), max(24, width - 38), "")
        lines.append(f" {f'{low}-{low + bits - 1}':<6} {_TITLES[name]:<21} {stored:<7} {first}")
        lines += [" " * 38 + part for part in rest]
    if descriptor.reserved:
        lines.append(f" {'other':<6} {'reserved':<21} {descriptor.reserved:#x}")
    return "\n".join(lines)


def problems(descriptor: Descriptor, width: int = WIDTH) -> str:
    """What is wrong with a descriptor, a line each; empty if nothing is."""
    return "\n".join("\n".join(wrap(f"{name}: {text}", width, " ")) for name, text in descriptor.problems())


def _meaning(descriptor: Descriptor, name: str) -> str:
    return _MEANINGS[name](descriptor)


def _leading(descriptor: Descriptor) -> str:
    size = f"{descriptor.leading} B"
    if descriptor.swizzle == "none":
        return f"{size}: K-major: between the two 16-byte halves of K; MN-major: from one group of 8 k to the next"
    return f"{size}: K-major: not used, the tile is swizzled; MN-major: between blocks as wide as the swizzle"


def _stride(descriptor: Descriptor) -> str:
    size = f"{descriptor.stride} B"
    if descriptor.swizzle == "none":
        return f"{size}: K-major: from one group of 8 rows to the next; MN-major: between 16-byte blocks of rows"
    return f"{size}: K-major: from one group of 8 rows to the next; MN-major: from one group of 8 k to the next"


def _base_offset(descriptor: Descriptor) -> str:
    from ptxsim.layout.swizzle import pattern_bytes

    if descriptor.swizzle == "none":
        return "not used without a swizzle"
    size = pattern_bytes(descriptor.swizzle)
    first = descriptor.start - descriptor.start % size
    right = not any(name == "swizzle-start" for name, _ in descriptor.problems())
    verdict = "right" if right else "does not fit"
    if descriptor.start == first:
        return f"pattern starts at {first:#06x}: multiple of {size}, {verdict}"
    row = (descriptor.start - first) // 128
    return f"start lies {row} rows into the pattern at {first:#06x} (multiple of {size}): {verdict}"


_MEANINGS: dict[str, Any] = {
    "start": lambda descriptor: f"{descriptor.start:#06x}",
    "leading": _leading,
    "stride": _stride,
    "base_offset": _base_offset,
    "swizzle": lambda d: "none" if d.swizzle == "none" else d.swizzle.replace("B", " B"),
}

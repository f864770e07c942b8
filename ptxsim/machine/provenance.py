"""Which wmma fragments a warp holds, so that one used as another operand, shape, type or layout can be told.

The manual leaves wmma's fragments opaque: what is in the registers may be used only as what it was loaded or computed
as. A fragment is known again by its content, so copies of registers and every engine are alike; contents that could be
met by chance (the same word in all registers and lanes) are never judged.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from ptxsim.layout.fragments import Fragment
from ptxsim.machine.port import Port

REMEMBERED = 256
Tag = tuple[str, str, str, "str | None", int]


def remember(m: Port, words: np.ndarray, fragment: Fragment, layout: str | None) -> None:
    """A fragment came to be in the warp's registers: `words` uint32 (words, 32)."""
    if not _telling(words):
        return
    known: OrderedDict[bytes, set[Tag]] = m.warp.extra.setdefault("fragments", OrderedDict())
    key = words.tobytes()
    known.setdefault(key, set()).add((*_use(fragment), layout, m.line))
    known.move_to_end(key)
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def check(m: Port, words: np.ndarray, fragment: Fragment, layout: str | None) -> None:
    """Report `fragment-mismatch` if the registers hold a fragment of another shape, operand, type or layout."""
    tags = m.warp.extra.get("fragments", {}).get(words.tobytes())
    if not tags or not _telling(words):
        return
    use = _use(fragment)
    if any(tag[:3] == use and tag[3] == layout for tag in tags):
        return
    shape, operand, type, was, line = min(tags, key=lambda tag: (tag[:3] != use, tag[4]))
    m.report(
        "fragment-mismatch",
        f"the registers hold {_text(shape, operand, type, was)} (line {line}) and are used as {_text(*use, layout)}",
        help="a wmma fragment may be used only as the operand, shape, type and layout it was loaded for",
    )


def _use(fragment: Fragment) -> tuple[str, str, str]:
    return fragment.shape_name, "C" if fragment.operand == "D" else fragment.operand, fragment.type


def _text(shape: str, operand: str, type: str, layout: str | None) -> str:
    name = "an accumulator" if operand == "C" else f"{operand}"
    return f"{name} of {shape} .{type}{f' .{layout}' if layout else ''}"


def _telling(words: np.ndarray) -> bool:
    return bool((words != words[0, 0]).any())

"""An IR module that is being written: what its functions share."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ptxsim.jit.compiler import Abilities

Table = np.ndarray[Any, np.dtype[Any]]


class Module:
    """What several functions of one IR module share: declarations and constant tables."""

    def __init__(self, cpu: Abilities):
        self.cpu = cpu
        self.declarations: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: list[str] = []
        self.outlined: dict[object, tuple[str, str] | None] = {}  # ir.outline's: functions for effects
        self.tables: dict[str, Table] = {}

    def table(self, values: Table, element: str) -> str:
        """The symbol of a constant table; the library provides the memory."""
        name = table_name(values)
        if name not in self.tables:
            self.tables[name] = values
            self.globals[name] = f"@{name} = external constant [{len(values)} x {element}]"
        return name

    def text(self, *functions: str) -> str:
        """Of the module, with more functions."""
        return "\n".join([*self.globals.values(), *self.declarations.values(), *self.functions, *functions, ""])


_TABLE_NAMES: dict[int, tuple[Table, str]] = {}


def table_name(values: Table) -> str:
    """A name made of the content. Tables are few and live as long as the process."""
    known = _TABLE_NAMES.get(id(values))
    if known is None:
        digest = hashlib.blake2b(values.tobytes() + str(values.dtype).encode(), digest_size=12).hexdigest()
        known = _TABLE_NAMES[id(values)] = (values, f"ptxsim_table_{digest}")
    return known[1]

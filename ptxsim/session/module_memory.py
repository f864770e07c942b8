"""The variables of a module in device memory that outlives launches."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.decoding.linkage import (
    SymbolPlace,
    function_addresses,
    initialize,
    lay_out_variables,
    module_variables,
    place_variables,
)
from ptxsim.machine.memory import Allocation, GlobalMemory
from ptxsim.session.cache import Decoded, Known
from ptxsim.syntax import ast
from ptxsim.types import Target


class ModuleMemory:
    """Where a loaded module has its variables. Raises PtxError for an initialiser that names what nothing declares."""

    def __init__(self, memory: GlobalMemory, target: Target, known: Known):
        self.memory, self.target, self.known, self.base = memory, target, known, memory.next
        self.functions = function_addresses(known.outline)
        variables, _ = module_variables(known.outline.items)
        symbols, _ = lay_out_variables(variables, self.base)
        self.variables = self._place(variables, symbols)
        self._inner_bases: dict[str, int | None] = {}  # by kernel, where variables of its function bodies begin

    def _place(self, variables: list[ast.Variable], symbols: dict[str, SymbolPlace]) -> dict[str, Allocation]:
        placed = place_variables(self.memory, variables, symbols)
        initialize(self.memory, variables, placed, symbols, self.functions)
        return placed

    def decode(self, kernel: str, legal: Target) -> Decoded:
        """A kernel with the addresses of this memory."""
        if kernel in self._inner_bases:
            return self.known.program(kernel, legal, self.target, self.base, self._inner_bases[kernel])
        decoded = self.known.program(kernel, legal, self.target, self.base)
        self._inner_bases[kernel] = None
        if decoded.linkage.inner:
            self._inner_bases[kernel] = self.memory.next
            decoded = self.decode(kernel, legal)
            self._place(decoded.linkage.inner, decoded.linkage.symbols)
        return decoded

    def view(self, variable: str) -> np.ndarray:
        """The bytes of a variable."""
        return self.memory.view(self.variables[variable])

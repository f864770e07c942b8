"""LLVM IR of a module of bodies: functions, each for the kinds it is called with, and the tables and declarations that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxsim.jit.arithmetic import Untranslatable
from ptxsim.jit.kinds import Kind
from ptxsim.jit.translator import Translator

_INTRINSICS = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @llvm.fabs.f64(double)
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.fptosi.sat.i64.f64(double)
attributes #0 = { nounwind }
!0 = !{}
"""
_NOTE = """
@fault = internal global i64 0
define internal void @note(i1 %holds, i64 %place) {
entry:
  br i1 %holds, label %out, label %wrong
wrong:
  %before = load i64, ptr @fault
  %first = icmp eq i64 %before, 0
  %kept = select i1 %first, i64 %place, i64 %before
  store i64 %kept, ptr @fault
  br label %out
out:
  ret void
}
"""


class ModuleText:
    """IR of a module: functions and what they call, each for the kinds it is called with."""

    def __init__(self, checked: bool = False, prefix: str = ""):
        self.checked, self.prefix = checked, prefix
        self.names: dict[tuple[Any, tuple[Kind, ...]], tuple[str, Kind | None]] = {}
        self.globals: dict[str, str] = {}
        self.functions: list[str] = []
        self.places: list[str] = []

    def function(self, function: Callable[..., Any], kinds: tuple[Kind, ...]) -> tuple[str, Kind]:
        """Name and result of a function for arguments of these kinds."""
        known = self.names.get((function, kinds))
        if known is None:
            name = f"{function.__name__}.{len(self.names)}"
            self.names[function, kinds] = name, None
            translator = Translator(self, function, kinds)
            self.functions.append(translator.write(name))
            known = self.names[function, kinds] = name, translator.result
        name, result = known
        if result is None:
            raise Untranslatable(f"{function.__code__.co_filename}: {function.__name__} calls itself")
        return name, result

    def constant(self, values: np.ndarray[Any, Any]) -> str:
        """The address of a table of constants."""
        data = "".join(f"\\{byte:02x}" for byte in np.ascontiguousarray(values).tobytes())
        line = f'internal constant [{values.nbytes} x i8] c"{data}", align 64'
        for name, text in self.globals.items():
            if text.endswith(line):
                return f"@{name}"
        name = f"table.{len(self.globals)}"
        self.globals[name] = f"@{name} = {line}"
        return f"@{name}"

    def declare(self, name: str, text: str) -> None:
        self.globals[name] = text

    def note(self, place: str) -> int:
        """A number for a place in the source, at which something may go wrong."""
        self.places.append(place)
        return len(self.places)

    def text(self) -> str:
        return "\n".join([*self.globals.values(), *self.functions, _NOTE if self.checked else "", _INTRINSICS])

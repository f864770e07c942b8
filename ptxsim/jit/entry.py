"""IR of the function by which Python calls a body: it takes the arguments out of a block of words."""

from __future__ import annotations

from typing import Any

from ptxsim.jit.kinds import BOOL, FIRST_ARGUMENT, FLOAT, INT, MOST_RESULTS, Kind, Scalar, Value, words
from ptxsim.jit.module_text import ModuleText
from ptxsim.jit.translator import Translator


def entry_text(unit: ModuleText, function: Any, given: tuple[Kind, ...], symbol: str) -> str:
    """IR of a body for arguments of given kinds, and of its entry, which is called `symbol`."""
    entry = Translator(unit, function, ())
    values: list[Value] = []
    word = FIRST_ARGUMENT
    for kind in given:
        values.append(entry.argument("%block", word, kind))
        word += words(kind)
    if unit.checked:
        entry.do("store i64 0, ptr @fault")
    result = entry.invoke(function, values)
    found = [result] if isinstance(result.kind, Scalar) else entry.members(result)
    if len(found) > MOST_RESULTS:
        entry.refuse(f"more than {MOST_RESULTS} results")
    codes = b""
    for number, value in enumerate(found):
        assert isinstance(value.kind, Scalar)
        codes += b"?" if value.kind == BOOL else value.kind.code.encode()
        (operand,) = (entry.convert(value, INT) if value.kind == BOOL else value).parts
        part = "double" if value.kind == FLOAT else "i64"
        entry.do(f"store {part} {operand}, ptr {entry.offset('%block', 16 + 8 * number)}, align 8")
    entry.do(f"store i64 {int.from_bytes(codes, 'little')}, ptr {entry.offset('%block', 8)}, align 8")
    if unit.checked:
        entry.do(f"store i64 {entry.let('load i64, ptr @fault')}, ptr %block, align 8")
    entry.end("ret void")
    unit.functions.append(entry.text(f"void @{symbol}(ptr %block) #0"))
    return unit.text()

"""Branches, calls and the end of a thread. PTX ISA, "Control Flow Instructions"; the engine itself carries these out."""

from __future__ import annotations

from typing import Any

from ptxsim.isa.facts import Control, Facts
from ptxsim.isa.operand import Args, Either, Reg, Symbol, Value
from ptxsim.isa.registry import instruction


def control(kind: Control, notation: str, name: str | None = None, **options: Any) -> None:
    """Declare a form whose effect is the engine's."""
    instruction(notation, name=name, facts=Facts(family=name or "", control=kind), writes="", **options)(None)


control(Control.BRANCH, "bra{.uni} target", operands={"target": Symbol("label")})
control(
    Control.TABLE, "brx.idx{.uni} index, targets", name="brx.idx", requires="6.0",
    operands={"index": Value("u32"), "targets": Symbol("branch table", ("branchtargets",))},
)  # fmt: skip
control(Control.RETURN, "ret{.uni}")
control(Control.EXIT, "exit")

NAMED = Symbol("function", ("func",))
CALL = {
    "returned": Args(results=True),
    "function": NAMED,
    "arguments": Args(),
    "prototype": Symbol("prototype or list of functions", ("callprototype", "calltargets")),
}
for operands in (
    "function", "function, arguments", "returned, function, arguments", "returned, function",
    "function, prototype", "function, arguments, prototype", "returned, function, prototype",
    "returned, function, arguments, prototype",
):  # fmt: skip
    # With a prototype, or a list of functions, a register says which function it is.
    callee = Either((Reg("u64"), Reg("u32"))) if "prototype" in operands else NAMED
    control(Control.CALL, f"call{{.uni}} {operands}", operands=CALL | {"function": callee})

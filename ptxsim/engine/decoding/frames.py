"""How much local memory calls take: what lies in a function's frame, and the deepest stack of frames."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from ptxsim.engine.program.callees import blocks_of, callees
from ptxsim.engine.program.operation import Program
from ptxsim.isa.variable_layout import align, lay_out
from ptxsim.syntax import ast
from ptxsim.syntax.scope import FlatBody

ALIGNMENT = 16  # bytes of a frame
DEPTH = 64  # frames of a function that may call itself, for which there is room
MOST_LOCAL = (
    0x80000  # bytes of a thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")
)


def frame_of(function: ast.Function, body: FlatBody) -> tuple[dict[str, int], int]:
    """Offsets of a function's variables in its frame, and its bytes. Parameters of calls lie where those of other calls do: a call is
    over when its `{ }` is."""
    outer = [v for v in body.variables if v.space == "local" or (v.space == "param" and v.name not in body.scopes)]
    if not function.is_entry:
        outer += [v for v in (*function.parameters, *function.returns) if v.space == "param"]
    offsets, end = lay_out(outer)
    ends: dict[tuple[int, ...], int] = {(): end}

    def path_of(variable: ast.Variable) -> tuple[int, ...]:
        return body.scopes[variable.name]

    passed = (v for v in body.variables if v.space == "param" and v.name in body.scopes)
    for path, variables in groupby(sorted(passed, key=path_of), path_of):  # a scope comes before those in it
        start = max(ends.get(path[:length], 0) for length in range(len(path)))
        inner, ends[path] = lay_out(variables, start)
        offsets |= inner
    return offsets, align(max(ends.values()), ALIGNMENT)


def measure_stack(program: Program) -> None:
    """Room for the deepest chain of calls; where functions may call themselves, for DEPTH more, as far as a thread has local memory."""
    frames = {code.name: code.frame for code in program.functions.values()}
    calls = {name: callees(program, blocks) for name, blocks in blocks_of(program).items()}
    deepest = _deepest(program.name, frames, calls)
    program.is_recursive = deepest is None
    whole = sum(frames.values())
    again = max(whole, min(whole + (DEPTH - 1) * max(frames.values()), MOST_LOCAL))
    program.stack_bytes = again if deepest is None else deepest


def _deepest(kernel: str, frames: Mapping[str, int], calls: Mapping[str, set[str]]) -> int | None:
    """Bytes of the longest chain of frames; None if a function may call itself."""
    needs: dict[str, int] = {}
    begun: set[str] = set()
    stack = [kernel]
    while stack:
        name = stack[-1]
        if name in begun:
            needs[name] = frames[name] + max((needs[callee] for callee in calls[name]), default=0)
            stack.pop()
        elif name not in needs:
            begun.add(name)
            rest = [callee for callee in calls[name] if callee not in needs]
            if begun.intersection(rest):
                return None
            stack += rest
    return needs[kernel]

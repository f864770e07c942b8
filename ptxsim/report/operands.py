"""Operands of an instruction as text: a fragment as the matrix it is, anything else lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxsim.report.style import WIDTH

if TYPE_CHECKING:
    import numpy as np

    from ptxsim.session.inspect.operands import Shown


def operand_text(shown: Shown) -> str:
    """One operand at one execution: which it is, how to choose another, and what it held."""
    title = f"line {shown.line}: {shown.operand} of {shown.opcode}"
    times = shown.executed.get((shown.cta, shown.warps[0]), 0)
    place = f"{_who(shown)}, time {shown.time} of {times}"
    if not shown.was_executed:
        reason = f"the run ended before {place} had it" if times >= shown.time else f"not executed by {_who(shown)}"
        if 0 < times < shown.time:
            reason += f" more than {times} time{'s' * (times > 1)}"
        return "\n".join([f"{title}: {reason}", *_others(shown)])
    if shown.matrix is not None:
        shape = "x".join(map(str, shown.matrix.shape))
        lines = [f"{title}, {shape} {shown.matrix.dtype.name}", place]
        if shown.corner is not None:
            lines.append(
                "tensor memory before it, from lane {} and column {} on: lanes by columns".format(*shown.corner)
            )
        return "\n".join([*lines, *_others(shown), matrix_text(shown.matrix)])
    assert shown.active is not None
    lines = [lanes_text(name, values, shown.active) for name, values in shown.registers.items()]
    lines = lines or ["a constant, which no register holds"]
    return "\n".join([f"{title}, by lane", place, *_others(shown), *lines])


def _who(shown: Shown) -> str:
    first, last = shown.warps[0], shown.warps[-1]
    return f"CTA {shown.cta} warp {first}" if first == last else f"CTA {shown.cta} warps {first} to {last}"


def _others(shown: Shown) -> list[str]:
    """How to see another execution, where there is one."""
    mine = {(shown.cta, warp) for warp in shown.warps} if shown.was_executed else set()
    others = [(*place, 1) for place in sorted(shown.executed) if place not in mine]
    others += [(*place, 2 if shown.time == 1 else 1) for place in sorted(mine) if shown.executed[place] > 1]
    if not others:
        return []
    ctas, warps = {cta for cta, _ in shown.executed}, len(shown.executed)
    who = f"{warps} warp{'s' * (warps > 1)} of {len(ctas)} CTA{'s' * (len(ctas) > 1)}"
    cta, warp, time = others[0]
    return [
        f"{who} executed it {sum(shown.executed.values())} times; another one: "
        f"--print {shown.line}:{shown.operand}@cta{cta}.warp{warp}.time{time}"
    ]


def matrix_text(matrix: np.ndarray, width: int = WIDTH) -> str:
    """Rows and columns with their numbers; columns that do not fit continue below."""
    if matrix.ndim == 3:
        return "\n".join(f"[{number}]\n{matrix_text(part, width)}" for number, part in enumerate(matrix))
    cells = [[_number(value) for value in row] for row in matrix]
    size = max([len(cell) for row in cells for cell in row] + [len(str(matrix.shape[1] - 1))])
    margin = len(str(matrix.shape[0] - 1))
    per_line = max(1, (width - margin - 2) // (size + 1))
    lines = []
    for first in range(0, matrix.shape[1], per_line):
        columns = range(first, min(first + per_line, matrix.shape[1]))
        lines.append(" " * margin + " |" + "".join(f" {column:>{size}}" for column in columns))
        lines += [
            f"{number:>{margin}} |" + "".join(f" {row[c]:>{size}}" for c in columns) for number, row in enumerate(cells)
        ]
    return "\n".join(lines)


def lanes_text(name: str, values: Any, active: np.ndarray) -> str:
    """A register lane by lane; `-` where a lane did not execute."""
    cells = [_number(value) if executes else "-" for value, executes in zip(values, active)]
    if len(set(cells)) == 1:
        return f"{name}: {cells[0]} in all lanes"
    size = max(len(cell) for cell in cells)
    per_line = 1 << max(0, ((WIDTH - 12) // (size + 1)).bit_length() - 1)
    per_line = min(per_line, 32)
    lines = [f"{name}:"]
    for first in range(0, 32, per_line):
        row = " ".join(f"{cell:>{size}}" for cell in cells[first : first + per_line])
        lines.append(f"  lane {first:>2}  {row}")
    return "\n".join(lines)


def _number(value: Any) -> str:
    if getattr(value, "ndim", 0):  # several elements in one register, the low one first
        return ":".join(map(_number, value))
    kind = value.dtype.kind
    if kind == "b":
        return str(int(value))
    if kind == "u":
        return f"{int(value):#x}" if int(value) > 9999 else str(int(value))
    return str(int(value)) if kind == "i" else f"{float(value):.6g}"

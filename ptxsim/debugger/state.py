"""What a stopped machine holds, as values and as text: registers, fragments, shared memory, barriers, work in flight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxsim.arrays import dtype_of
from ptxsim.debugger.execution import Execution, Stop
from ptxsim.debugger.expression import Expression, ExpressionError, unknown
from ptxsim.diagnostic import PtxError
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism
from ptxsim.lanes import LANES, lanes_of
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle
from ptxsim.machine.barriers.mbarrier_state import describe
from ptxsim.machine.cta import Cta, Warp
from ptxsim.machine.fault import Wait
from ptxsim.machine.records import BARRIERS
from ptxsim.machine.warpgroup import WARPS
from ptxsim.report.operands import lanes_text, matrix_text
from ptxsim.session.inspect.operands import names_in, typed, words_of
from ptxsim.syntax import ast
from ptxsim.types import DTYPES

_SHARED = re.compile(r"([\w$.%]+|0[xX][0-9a-fA-F]+)(?:\s*\+\s*(\w+))?")


def slots(execution: Execution) -> dict[str, int]:
    """Register slots by name; the first of several functions' is meant."""
    found: dict[str, int] = {}
    for slot, name in enumerate(execution.program.slot_names):
        found.setdefault(name, slot)
    return found


def register(execution: Execution, warp: Warp, name: str) -> np.ndarray:
    """What a register holds, by lane, as its declared type or as that after a colon. Raises ExpressionError."""
    base, _, type = name.partition(":")
    known = slots(execution)
    slot = known.get(base, known.get(f"%{base}"))
    if slot is None:
        raise unknown(name, list(known))
    if type and type not in DTYPES:
        raise ExpressionError(f"{type!r} is no type; f32, s32, f16, ... are")
    return typed(warp.registers[slot], type or execution.program.slots[slot].name)


def evaluate(execution: Execution, stop: Stop, expression: Expression, warp: Warp | None = None) -> np.ndarray:
    """An expression for the lanes of a warp. Raises ExpressionError."""
    warp = warp or stop.warp
    x, y, z = warp.tid
    known = {
        "lane": np.arange(LANES), "warp": warp.index, "cta": warp.cta.linear, "tid.x": x, "tid.y": y, "tid.z": z,
        "position": stop.position, "line": stop.op.line,
    }  # fmt: skip
    return expression.evaluate(lambda name: register(execution, warp, name), known)


def holds(execution: Execution, stop: Stop, condition: Expression | None) -> int | None:
    """The first lane about to execute for which a condition holds (0 where there is none), None if it holds nowhere."""
    if condition is None:
        return int(stop.mask.argmax())
    true = evaluate(execution, stop, condition).astype(bool) & stop.mask
    return int(true.argmax()) if true.any() else None


# ---- operands ----------------------------------------------------------------------------------------------------------


def operands(execution: Execution, op: Op, warp: Warp) -> Iterator[tuple[str, str]]:
    """The operands of an instruction by name, as text: a fragment as the matrix it is, a register by lane."""
    known = slots(execution)
    for name, operand in op.bound.operands.items():
        names = [part for part in names_in(operand) if part in known]
        if not names:
            continue
        matrix = fragment(execution, op, warp, name, [known[part] for part in names], operand)
        if matrix is not None:
            yield name, f"{'x'.join(map(str, matrix.shape))} {matrix.dtype.name}\n{matrix_text(matrix)}"
            continue
        everyone = np.ones(LANES, bool)
        rows = [lanes_text(part, register(execution, warp, part), everyone) for part in names]
        if _is_descriptor(op, name, operand):
            rows.append("the tile that it names does not lie in the CTA's shared memory")
        yield name, "\n".join(rows)


def _is_descriptor(op: Op, name: str, operand: ast.Operand) -> bool:
    return op.completes_by is Mechanism.PRODUCT_GROUP and name in ("a", "b") and isinstance(operand, ast.Name)


def fragment(
    execution: Execution, op: Op, warp: Warp, name: str, held: list[int], operand: ast.Operand
) -> np.ndarray | None:
    """The matrix that an operand is; None if it is none. A warpgroup's is that of its four warps as they stand."""
    from ptxsim.session.form_names import fragment as find

    if name not in ("a", "b", "c", "d", "r"):
        return None
    is_product = op.completes_by is Mechanism.PRODUCT_GROUP
    if _is_descriptor(op, name, operand):
        return tile(execution, op, warp, name)
    try:
        found = find(op.opcode, "D" if name == "r" else name.upper())
    except PtxError:
        return None
    first = warp.index // WARPS * WARPS
    warps = warp.cta.warps[first : first + WARPS] if is_product else [warp]
    if found.registers != len(held) or found.lanes != LANES * len(warps):
        return None
    words = np.concatenate([words_of([one.registers[slot] for slot in held]) for one in warps], axis=1)
    dtype = dtype_of(found.type)
    return found.to_matrix(words).astype(f"u{dtype.itemsize}").view(dtype)


def tile(execution: Execution, op: Op, warp: Warp, name: str) -> np.ndarray | None:
    """The tile in shared memory, (rows, k), that a product's descriptor names, swizzle undone, as it lies now; None if it does not
    lie there."""
    from ptxsim.machine.async_product import MmaAsync

    launch = execution.launch
    product = MmaAsync(op, launch.target.name, launch.numerics)
    (held,) = names_in(op.bound.operands[name])
    lane = int(lanes_of(warp.record.live).argmax())
    found = product.tile(name.upper(), int(warp.registers[slots(execution)[held]][lane]))
    dtype = dtype_of(getattr(product.product.form, name))
    if found.chunks().max() >= len(warp.cta.shared):
        return None
    return found.read(warp.cta.shared).astype(f"u{dtype.itemsize}").view(dtype)


# ---- memory ------------------------------------------------------------------------------------------------------------


def shared_text(
    execution: Execution, cta: Cta, place: str, type: str = "b32", rows: int = 8, columns: int = 8, pitch: int = 0,
    mode: str = "none",
) -> str:  # fmt: skip
    """Shared memory from a variable or an address on, as a matrix: rows `pitch` bytes apart, a swizzle undone.

    Raises ExpressionError.
    """
    start = shared_address(execution, place)
    if type not in DTYPES:
        raise ExpressionError(f"{type!r} is no type; f32, b16, f16, ... are")
    if mode not in SWIZZLE_BITS:
        raise ExpressionError(f"{mode!r} is no swizzle; {', '.join(SWIZZLE_BITS)} are")
    dtype = dtype_of(type)
    pitch = pitch or columns * dtype.itemsize
    end = start + (rows - 1) * pitch + columns * dtype.itemsize
    if rows < 1 or columns < 1 or not 0 <= start <= end <= len(cta.shared):
        raise ExpressionError(f"shared memory has {len(cta.shared)} bytes; this would reach to {end}")
    at = start + np.arange(rows)[:, None] * pitch + np.arange(columns)[None, :] * dtype.itemsize
    at = swizzle(at, mode)
    if int(at.max()) + dtype.itemsize > len(cta.shared):
        raise ExpressionError(f"the swizzle {mode} would reach past the {len(cta.shared)} bytes of shared memory")
    data = cta.shared[at[..., None] + np.arange(dtype.itemsize)]
    matrix = np.ascontiguousarray(data).view(dtype).reshape(rows, columns)
    title = f"shared memory from {start:#x}, {rows}x{columns} .{type}, pitch {pitch} B"
    return f"{title}{f', swizzle {mode}' if mode != 'none' else ''}\n{matrix_text(matrix)}"


def shared_address(execution: Execution, place: str) -> int:
    """`tile`, `tile+64` or a number. Raises ExpressionError."""
    match = _SHARED.fullmatch(place.strip())
    variables = execution.launch.shared_variables
    try:
        if match is None:
            raise ValueError
        base = variables[match[1]][0] if match[1] in variables else int(match[1], 0)
        return base + (int(match[2], 0) if match[2] else 0)
    except ValueError:
        listed = ", ".join(f"{name} at {address:#x}" for name, (address, _) in variables.items()) or "none"
        raise ExpressionError(f"{place!r} is no address and no variable in shared memory; there are {listed}") from None


# ---- warps, barriers, work in flight --------------------------------------------------------------------------------------


def ctas(execution: Execution) -> list[Cta]:
    """CTAs that have begun and not ended."""
    return [cta for cluster in execution.clusters for cta in cluster.ctas if not cta.done]


def places(execution: Execution, warp: Warp, here: Stop | None) -> Iterator[tuple[int, int, str]]:
    """Line, lanes and wait of each split of a warp: what runs together stands together."""
    for split in warp.splits:
        block = execution.program.blocks[split.block]
        wait = warp.waits_for(split)
        index = split.op - (1 if isinstance(wait, Wait) else 0)
        line = block[max(0, min(index, len(block) - 1))].line if block else 0
        is_here = here is not None and here.warp is warp and wait is None and here.op in block
        if here is not None and is_here and bool((here.mask & lanes_of(split.mask)).any()):
            line = here.op.line
        is_over = isinstance(wait, Wait) and wait.ready()
        said = (
            ""
            if is_over
            else f"waits: {wait.describe()}"
            if isinstance(wait, Wait)
            else "waits for other lanes"
            if wait
            else ""
        )
        yield line, split.mask, said


def warps_text(execution: Execution, here: Stop | None) -> str:
    """Every warp: where its lanes are, and what they wait for."""
    lines = []
    for cta in ctas(execution):
        for warp in cta.warps:
            mark = "*" if here is not None and here.warp is warp else " "
            if warp.done:
                lines.append(f"{mark} CTA {cta.linear} warp {warp.index:>2}: has ended")
            for line, mask, said in places(execution, warp, here):
                lanes = "all lanes" if mask == 0xFFFFFFFF else f"lanes {mask:#010x}"
                words = f"{mark} CTA {cta.linear} warp {warp.index:>2}: line {line}, {lanes}"
                lines.append(f"{words}{'; ' + said if said else ''}")
    return "\n".join(lines) or "no warp is running"


def barriers_text(execution: Execution) -> str:
    """mbarriers, and barriers to which some have come."""
    lines = []
    for cta in ctas(execution):
        for number in range(BARRIERS):
            if cta.record.barriers[number].arrived:
                lines.append(f"CTA {cta.linear} barrier {number}: {cta.describe(number)}")
        if cta.record.mbarriers:
            table = cta.mbarriers
            for place in range(table.used):
                if table.all[place].live:
                    lines.append(f"CTA {cta.linear} {describe(table.all[place], cta.cluster.variables)}")
    return "\n".join(lines) or "no mbarrier is live, and no warp waits at a barrier"


def flight_text(execution: Execution) -> str:
    """Asynchronous work: copies that no wait has covered, products, and registers that the tensor core owns."""
    lines = []
    names = execution.program.slot_names
    for cta in ctas(execution):
        for warp in cta.warps:
            who = f"CTA {cta.linear} warp {warp.index}"
            if warp.record.copies.open:
                lines.append(
                    f"{who}: {warp.record.copies.open} cp.async, {warp.record.copies.groups.together} groups committed"
                )
            if warp.record.bulk.copies:
                lines.append(
                    f"{who}: {warp.record.bulk.copies} bulk copies, {warp.record.bulk.groups.together} groups committed"
                )
            if warp.in_flight:
                by_line: dict[int, list[str]] = {}
                for slot, line in warp.in_flight.items():
                    by_line.setdefault(line, []).append(names[slot])
                for line, held in by_line.items():
                    lines.append(
                        f"{who}: the product of line {line} owns {', '.join(held[:6])}{', ...' * (len(held) > 6)}"
                    )
    return "\n".join(lines) or "nothing is in flight"


def summary(stop: Stop, lane: int) -> dict[str, Any]:
    """Where a stop is, in numbers."""
    warp = stop.warp
    return {
        "cta": warp.cta.index, "warp": warp.index, "lane": lane, "line": stop.op.line, "position": stop.position,
        "lanes": int(np.count_nonzero(stop.mask)),
    }  # fmt: skip

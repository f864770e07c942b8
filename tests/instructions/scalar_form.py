"""Run one scalar instruction on arrays: bind its text, call its effect, give back the destinations' bits."""

from __future__ import annotations

import re

import numpy as np

from ptxsim import lanes
from ptxsim.instructions import load_families
from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.operand import Either, Imm, Pred, Vec, resolve_type
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse_body
from ptxsim.types import TYPES, parse_target

load_families()

DECLARED = {"p": "pred", "b": "b8", "h": "b16", "x": "f16", "r": "b32", "f": "f32", "rd": "b64", "d": "f64"}


class Names:
    """Registers are named by their type: h1, r2, f3, rd4, d5, p6."""

    def register_type(self, name: str) -> str | None:
        match = re.fullmatch(r"([a-z]+)\d+", name)
        return DECLARED.get(match[1]) if match else None

    def variable_space(self, name: str) -> str | None:
        return None

    def parameter_role(self, name: str) -> str | None:
        return None


def bind(text: str, target: str = "sm_90a", version: tuple[int, int] = (9, 0)):
    return Binder(parse_target(target), version).bind(parse_body(text)[0], Names())


def run(text: str, target: str = "sm_90a", version: tuple[int, int] = (9, 0), **registers):
    """Unsigned bits of the destinations, by register; `registers` are unsigned arrays (bool for predicates).

    `carry` is CC.CF; if the instruction writes it, the result has a "carry" too.
    """
    bound = bind(text, target, version)
    assert isinstance(bound, Bound), bound.message
    definition, length = bound.definition, len(next(iter(registers.values())))
    arguments = [_value(bound, name, registers, length) for name in definition.sources]
    with np.errstate(all="ignore"):
        result = definition.effect(*arguments, **{name: bound.modifiers.get(name) for name in definition.wants})
    results = list(result) if isinstance(result, tuple) else [result]
    found = {}
    if "w" in definition.carry:
        found["carry"] = results.pop()
    names = [n for o in bound.form.operands for n in (o.name, o.second) if n in bound.form.writes]
    for name, value in zip(names, results, strict=True):
        if name in bound.operands:
            _collect(bound.form.kinds[name], bound.operands[name], bound, value, found)
    return found


def _value(bound: Bound, name: str, registers, length: int):
    if name == "carry":
        return registers["carry"]
    operand = bound.operands.get(name)
    return None if operand is None else _read(bound.form.kinds[name], operand, bound, registers, length)


def _read(kind, operand, bound: Bound, registers, length: int):
    if isinstance(operand, ast.Not):
        return ~_read(kind, operand.operand, bound, registers, length)
    if isinstance(kind, Either):
        kind = kind.kinds[0]
    if isinstance(kind, Imm):
        return operand.value
    if isinstance(kind, Vec):
        return [_read(kind.element, e, bound, registers, length) for e in operand.elements]
    if isinstance(kind, Pred):
        return np.full(length, bool(operand.value)) if isinstance(operand, ast.Integer) else registers[operand.name]
    t = resolve_type(kind.type, bound.modifiers)
    dtype = lanes.dtype(t)
    word = np.dtype(f"u{dtype.itemsize}") if t.kind != "predicate" else dtype
    if isinstance(operand, ast.Integer):
        return np.full(length, operand.value & (1 << 8 * dtype.itemsize) - 1, word).view(dtype)
    return np.ascontiguousarray(registers[operand.name].astype(word)).view(dtype)


def _collect(kind, operand, bound: Bound, value, found: dict) -> None:
    if isinstance(kind, Vec):
        for element, part in zip(operand.elements, value, strict=True):
            _collect(kind.element, element, bound, part, found)
    elif isinstance(operand, ast.Name) and value.dtype == bool:
        found[operand.name] = value
    elif isinstance(operand, ast.Name):
        t = resolve_type(kind.type, bound.modifiers)
        assert value.dtype == lanes.dtype(t), f"{operand.name} of type {t} got {value.dtype}"
        bits = TYPES[DECLARED[re.match("[a-z]+", operand.name)[0]]].bits
        narrow = value.view(f"u{value.dtype.itemsize}")
        wider = value.astype(f"i{bits // 8}").view(f"u{bits // 8}") if t.is_signed else narrow.astype(f"u{bits // 8}")
        found[operand.name] = wider if bits > t.bits else narrow

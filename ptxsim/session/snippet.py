"""A few statements on given registers: no module, no entry, no declarations needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ptxsim.diagnostic import Finding, PtxError, problem
from ptxsim.engine.turns import Engine
from ptxsim.given import a_number, a_text
from ptxsim.isa.bind import Binder
from ptxsim.lanes import LANES
from ptxsim.machine.cta import Register, Warp
from ptxsim.machine.state import shared_start
from ptxsim.numerics.host import with_ieee
from ptxsim.session.execution import execute
from ptxsim.session.module import Module, known_target
from ptxsim.session.options import LaunchOptions
from ptxsim.session.register_inference import infer
from ptxsim.session.run import BankTable, KernelError, Run
from ptxsim.source import Source
from ptxsim.spelling import did_you_mean
from ptxsim.syntax import ast
from ptxsim.syntax.flatten import flatten
from ptxsim.syntax.parser import parse_body
from ptxsim.types import NEWEST, ScalarType, Target

_problem = partial(problem, "bad-directive")


@dataclass(slots=True)
class Snippet:
    """What a snippet left: every register by name as raw bits, unsigned, (32,) or (warps, 32); shared memory, buffers."""

    registers: dict[str, np.ndarray]
    shared: np.ndarray | None
    buffers: dict[str, np.ndarray]
    run: Run = field(repr=False)

    @property
    def findings(self) -> list[Finding]:
        return self.run.findings

    @property
    def banks(self) -> BankTable:
        return self.run.banks


@with_ieee
def snippet(
    text: str, registers: Mapping[str, object] | None = None, shared: np.ndarray | None = None, shared_base: int = 0x400,
    buffers: Mapping[str, np.ndarray] | None = None, warps: int = 1, target: str = "sm_90", *,
    engine: str | None = None, seed: int = 0, numerics: str = "target", checks: str = "memory",
    on_error: str = "report", max_steps: int | None = 1_000_000,
) -> Snippet:  # fmt: skip
    """Execute PTX statements, as pasted from inline assembly if you like, on `warps` warps of one CTA.

    registers: initial values by name, with or without %: numbers (which also stand for "n" operands), or arrays (32,) or (warps, 32) of lane values; arrays
    of smaller elements with a last axis that fills the register (f16 (32, 2) for a packed pair) are taken as they lie.
    shared: an array placed at byte `shared_base`. buffers: arrays in global memory; the name is a 64-bit register with
    the address. Undeclared registers take their operand's type; one that is never set holds zero, which is a warning unless it
    is an accumulator that its instruction replaces. Raises PtxError where the text is no PTX, and KernelError
    for error-level findings if on_error="raise".
    """
    source = Source(text, "<snippet>")
    for called, given in (("registers", registers), ("buffers", buffers)):
        if not isinstance(given, Mapping | None):
            raise _problem(f"{called} is a {type(given).__name__}", f"give a dict: {called}={{name: value}}")
    registers, buffers = dict(registers or {}), dict(buffers or {})
    shared_base = a_number("shared_base", shared_base)
    if not isinstance(shared, np.ndarray | None) or (shared is not None and shared.dtype.hasobject):
        raise _problem(
            f"shared is a {type(shared).__name__}", "give a numpy array, whose type says how its numbers lie in memory"
        )
    if not isinstance(warps, int | np.integer) or warps < 1:
        raise _problem(f"warps={warps!r} is no whole number of 1 or more")
    if re.match(r"\s*\.(version|target|visible|entry)\b", text):
        raise _problem(
            "a snippet is statements, here is a module", "write ptxsim.Module.from_text(text).kernel().launch(...)"
        )
    run_target = known_target(target, source)
    base = shared_start(run_target)
    if shared is not None and shared_base < base:
        raise _problem(f"shared_base is {shared_base:#x}; shared memory starts at {base:#x}")
    module, names = _module(text, source, run_target, registers, buffers)
    options = LaunchOptions(
        block=warps * LANES, shared_mem=0 if shared is None else shared_base + shared.nbytes - base, target=target,
        # A few statements are over before native code would be ready.
        engine=engine or "interpreter", numerics=numerics, seed=seed, jobs=1, checks=checks, banks=True, max_steps=max_steps,
    )  # fmt: skip
    launch = module.kernel().prepare(list(buffers.values()), options)
    for i, (name, value) in enumerate(buffers.items()):
        if f"buffer{i}" not in launch.arguments.buffers:  # a number, which is an address of nothing here
            what = "an array without dimensions" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise _problem(
                f"the buffer {name!r} is {what}", "give a numpy array of one dimension or more for each buffer"
            )
    slots = {name: i for i, name in enumerate(launch.program.slot_names)}
    addresses = {name: launch.arguments.buffers[f"buffer{i}"][1].address for i, name in enumerate(buffers)}
    initial = {names(name): value for name, value in {**registers, **addresses}.items()}
    started: list[Warp] = []

    def start(warp: Warp, engine: Engine) -> None:
        started.append(warp)
        if shared is not None and warp.index == 0:
            data = np.ascontiguousarray(shared).reshape(-1).view(np.uint8)
            warp.cta.shared[shared_base : shared_base + len(data)] = data
        for name, value in initial.items():
            if name in slots:
                t = launch.program.slots[slots[name]]
                engine.write_register(warp, slots[name], lane_values(name, value, t, warp.index, warps))

    final: dict[str, list[Register]] = {}

    def stop(warp: Warp, engine: Engine) -> None:
        for name, slot in slots.items():
            final.setdefault(name, []).append(engine.read_register(warp, slot))

    launch.given = {slots[name] for name in initial if name in slots}
    run = execute(launch, start, stop, shared_is_set=shared is not None)
    memory = None
    if shared is not None:
        raw = started[0].cta.shared[shared_base : shared_base + shared.nbytes]
        memory = raw.copy().view(shared.dtype).reshape(shared.shape)
    run.findings = _with_unused(run.findings, [name for name in registers if names(name) not in slots])
    result = Snippet(
        RegisterValues({name: _stack(values) for name, values in final.items()} | _unused(initial, slots)),
        memory,
        buffers,
        run,
    )
    if on_error == "raise" and run.has_errors:
        raise KernelError(run)
    return result


def _with_unused(findings: list[Finding], unused: list[str]) -> list[Finding]:
    """Findings about unset registers name those that are given and that the text does not have."""
    if not unused:
        return findings
    note = f"given, and not in the text: {', '.join(unused)}"
    return [replace(f, notes=(*f.notes, note)) if f.name == "uninitialized-read" else f for f in findings]


def _stack(values: list[Register]) -> np.ndarray:
    arrays = [np.stack(value, axis=-1) if isinstance(value, list) else value for value in values]
    return arrays[0] if len(arrays) == 1 else np.stack(arrays)


def _unused(initial: Mapping[str, object], slots: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Registers that were given and never used keep what was given."""
    return {name: np.asarray(value) for name, value in initial.items() if name not in slots}


def _module(
    text: str, source: Source, target: Target, registers: Mapping[str, object], buffers: Mapping[str, np.ndarray]
) -> tuple[Module, Callable[[str], str]]:
    """The snippet as a module with one entry; and the function from a caller's register name to the text's spelling."""
    for name in (*registers, *buffers):
        a_text("the name of a register or buffer", name)
    try:
        statements = parse_body(text, source)
    except PtxError as error:
        raise PtxError(f.of(source) for f in error.findings) from None
    parameters = tuple(ast.Variable(f"buffer{i}", "param", "u64") for i in range(len(buffers)))
    function = ast.Function("snippet", True, parameters, body=statements, line=1, column=1)
    header = ast.Module(NEWEST, (target.name,), 64, (function,), line=1, column=1)
    try:
        body = flatten(function, header, strict=False)
        undeclared = {name.name for name in body.undeclared}
        declared = {name: body.registers[name].type for name in body.registers}

        def spelled(name: str) -> str:
            for form in (name, f"%{name}", name.lstrip("%")):
                if form in undeclared or form in declared:
                    return form
            return name

        given = {spelled(name): "b64" for name in buffers}
        spaces = {v.name: v.space for v in body.variables}
        spaces |= {s.name: "label" for s in body.statements if isinstance(s, ast.Label)}
        binder = Binder(target, NEWEST)
        known = {k: v for k, v in given.items() if k in undeclared}
        constants = {spelled(name): value for name, value in registers.items() if type(value) is int}
        types, literal = infer(body.statements, undeclared, declared, spaces, binder, known, constants)
        statements = _replaced(statements, literal)
    except PtxError as error:
        raise PtxError(f.of(source) for f in error.findings) from None
    new = tuple(ast.Variable(name, "reg", t, line=1, column=1) for name, t in types.items())
    function = ast.Function("snippet", True, parameters, body=(*new, *statements), line=1, column=1)
    return Module(source, ast.Module(NEWEST, (target.name,), 64, (function,), line=1, column=1)), spelled


def _replaced(
    statements: Iterable[ast.Statement], literal: Mapping[tuple[int, int], ast.Instruction]
) -> tuple[ast.Statement, ...]:
    """The statements with those of `literal` in their places."""
    found: list[ast.Statement] = []
    for statement in statements:
        if isinstance(statement, ast.Block):
            inner = _replaced(statement.statements, literal)
            statement = ast.Block(inner, line=statement.line, column=statement.column)
        elif isinstance(statement, ast.Instruction):
            statement = literal.get((statement.line, statement.column), statement)
        found.append(statement)
    return tuple(found)


class RegisterValues(dict[str, np.ndarray]):
    """Registers by name; `0`, `%0` and so on name the same one."""

    def __missing__(self, name: str) -> np.ndarray:
        for other in (f"%{name}", name.lstrip("%")):
            if other != name and other in self:
                return self[other]
        raise KeyError(f"no register is called {name!r}; {did_you_mean(name, self)}")


def lane_values(name: str, value: Any, t: ScalarType, warp: int, warps: int) -> Register:
    """A caller's value as the raw bits of a register: unsigned (32,), bool for predicates, [lo, hi] for 128 bits."""
    if np.asarray(value).dtype.kind in "OUSMm":
        raise _bad(name, f"is given {value!r}, which is no number")
    if np.ndim(value) == 0:
        value = np.full(LANES, value)
        if value.dtype.kind in "fiu" and t.kind != "predicate":
            value = _cast(name, value, t)
    array = np.asarray(value)
    if array.ndim >= 2 and array.shape[0] == warps and array.shape[1:2] == (LANES,):
        array = array[warp]
    if array.shape[:1] != (LANES,):
        raise _bad(name, f"has shape {np.shape(value)}; give (32,) or ({warps}, 32)")
    if t.kind == "predicate":
        return array.astype(bool)
    if t.bits == 128:
        words = np.ascontiguousarray(array).view(np.uint64).reshape(LANES, 2)
        return [words[:, 0].copy(), words[:, 1].copy()]
    if array.ndim == 2:
        packed = np.ascontiguousarray(array).view(np.uint8)
        if packed.shape[1] != t.bytes:
            raise _bad(name, f"has {packed.shape[1]} bytes a lane, the register has {t.bytes}")
        return packed.view(f"u{t.bytes}")[:, 0].copy()
    if array.dtype.itemsize == t.bytes:
        return np.ascontiguousarray(array).view(f"u{t.bytes}")
    return _cast(name, array, t).view(f"u{t.bytes}")


def _cast(name: str, array: np.ndarray, t: ScalarType) -> np.ndarray:
    """Numbers of another width: integers extend or are cut, floats are converted to a float register's type."""
    from ptxsim import lanes

    if t.is_float:
        return array.astype(lanes.dtype(t))
    if array.dtype.kind == "f" and not np.equal(array, np.trunc(array)).all():
        if t.kind == "bits" and t.bits in (32, 64):
            return array.astype(f"f{t.bytes}")
        raise _bad(name, f"holds fractions, the register is {t}")
    return array.astype(np.int64 if array.dtype.kind != "u" else np.uint64).astype(f"u{t.bytes}")


def _bad(name: str, message: str) -> PtxError:
    return _problem(f"register {name} {message}")

"""Functions inside a kernel's module: long arithmetic effects, shared by their uses, and updates of atomics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptxsim import lanes
from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.value import CannotEmit, Value, kind_of, width
from ptxsim.types import ScalarType

Effect = Callable[..., Any]
Update = Callable[..., Any]  # of an atomic: the old value and operands to the new value
OUTLINE = 48  # lines of IR from which on an effect becomes a function of its own


def compute(e: Emitter, effect: Effect, sources: Sequence[Any], wants: Mapping[str, object]) -> Any:
    """The result of an arithmetic effect; long ones with one result become functions that all their uses share."""
    if not all(isinstance(s, Value) for s in sources):
        return effect(*sources, **wants)
    constants = tuple(s.text if s.text[0] != "%" else "" for s in sources)
    key = effect, tuple(wants.items()), tuple(s.kind for s in sources), constants
    if key not in e.module.outlined:
        before = e.checkpoint()
        result = effect(*sources, **wants)
        if len(e.lines) - before.lines < OUTLINE or not isinstance(result, Value):
            e.module.outlined[key] = None
            return result
        e.undo(before)
        e.module.outlined[key] = _outline(e.module, effect, sources, wants)
    outlined = e.module.outlined[key]
    if outlined is None:
        return effect(*sources, **wants)
    name, kind = outlined
    arguments = ", ".join(f"{s.type} {s.text}" for s in sources if s.text[0] == "%")
    return Value(e, e.let(f"call {e.vector(kind)} @{name}({arguments})"), kind)


def _outline(module: Module, effect: Effect, sources: Sequence[Value], wants: Mapping[str, object]) -> tuple[str, str]:
    """A function for an effect: its name, and the kind of its result."""
    inner = Emitter(module)
    arguments = [Value(inner, f"%a{i}" if s.text[0] == "%" else s.text, s.kind) for i, s in enumerate(sources)]
    result: Value = effect(*arguments, **wants)
    name = f"effect{len(module.functions)}"
    header = ", ".join(f"{a.type} {a.text}" for a in arguments if a.text[0] == "%")
    head = f"define internal {result.type} @{name}({header}) noinline #0 {{"
    back = f"  ret {result.type} {result.text}"
    module.functions.append("\n".join([head, *inner.stack_slots, *inner.lines, back, "}"]))
    return name, result.kind


def atomic(module: Module, t: ScalarType, update: Update, operands: int, count: int) -> str:
    """The name of a function that updates memory lane by lane and returns what was there."""
    inner = Emitter(module, 1, "u")
    word, kind = f"u{8 * t.bytes}", kind_of(t)
    outer = f"<32 x i{8 * t.bytes}>"
    struct = "{" + ", ".join([outer] * count) + "}"
    name = f"atomic{len(module.functions)}"
    values = [(o, i) for o in range(operands) for i in range(count)]
    lines = [
        f"define internal {struct} @{name}(<32 x i64> %places, i32 %mask{''.join(f', {outer} %o{o}.{i}' for o, i in values)}) noinline #0 {{",
        "entry:", "  %slots = alloca <32 x i64>, align 64", "  store <32 x i64> %places, ptr %slots, align 64",
    ]  # fmt: skip
    for o, i in values:
        lines += [f"  %r{o}.{i} = alloca {outer}, align 64", f"  store {outer} %o{o}.{i}, ptr %r{o}.{i}, align 64"]
    for i in range(count):
        lines += [f"  %old{i} = alloca {outer}, align 64", f"  store {outer} zeroinitializer, ptr %old{i}, align 64"]
    lines += [
        "  br label %next", "next:", "  %rest = phi i32 [ %mask, %entry ], [ %later, %lane ]", "  %none = icmp eq i32 %rest, 0",
        "  br i1 %none, label %done, label %lane", "lane:", "  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 false)",
        "  %less = sub i32 %rest, 1", "  %later = and i32 %rest, %less", "  %pp = getelementptr i64, ptr %slots, i32 %number",
        "  %place = load i64, ptr %pp", "  %at = inttoptr i64 %place to ptr",
    ]  # fmt: skip
    module.declarations.setdefault("@llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
    element = f"i{8 * t.bytes}"

    def typed(text: str) -> Value:
        value = Value(inner, text, word)
        return value if kind == word else inner.bits(value, t)

    for i in range(count):
        cell = inner.at("%at", i * t.bytes)
        before = inner.let(f"load <1 x {element}>, ptr {cell}, align {t.bytes}")
        inner.line(
            f"  store <1 x {element}> {before}, ptr {inner.let(f'getelementptr {element}, ptr %old{i}, i32 %number')}, align {t.bytes}"
        )
        given = [
            typed(inner.let(f"load <1 x {element}>, ptr {inner.let(f'getelementptr {element}, ptr %r{o}.{i}, i32 %number')}, align {t.bytes}"))
            for o in range(operands)
        ]  # fmt: skip
        after = update(typed(before), *given)
        if width(after.kind) != 8 * t.bytes:
            raise CannotEmit("an update to another width")
        raw = inner.bits(after, lanes.type_of(word)) if after.kind in ("f32", "f64") else after
        inner.line(f"  store <1 x {element}> {raw.text}, ptr {cell}, align {t.bytes}")
    lines += [*inner.lines, "  br label %next", "done:"]
    result = "poison"
    for i in range(count):
        lines.append(f"  %w{i} = load {outer}, ptr %old{i}, align 64")
        lines.append(f"  %s{i} = insertvalue {struct} {result}, {outer} %w{i}, {i}")
        result = f"%s{i}"
    module.functions.append("\n".join([*lines, f"  ret {struct} {result}", "}"]))
    return name

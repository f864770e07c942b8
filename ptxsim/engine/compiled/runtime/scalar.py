"""Prints scalar functions on the context and on warps' blocks: the scheduler and native wgmma are made of them."""

from __future__ import annotations

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.runtime.abi import CONTEXT, WARP


class Scalar:
    """Prints scalar code: loads and stores of fields by name, arithmetic, branches."""

    def __init__(self) -> None:
        self.e = Emitter(Module(True))

    def at(self, base: str, offset: int | str) -> str:
        return self.e.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def context(self, name: str, t: str = "i64") -> str:
        return self.e.let(f"load {t}, ptr {self.at('%context', CONTEXT[name])}")

    def set_context(self, name: str, value, t: str = "i64") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.at('%context', CONTEXT[name])}")

    def warp(self, name: str, t: str = "i32") -> str:
        return self.e.let(f"load {t}, ptr {self.at('%warp', WARP[name])}")

    def set_warp(self, name: str, value, t: str = "i32") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.at('%warp', WARP[name])}")

    def op(self, operator: str, a, b, t: str = "i32") -> str:
        return self.e.let(f"{operator} {t} {a}, {b}")

    def test(self, condition: str, a, b, t: str = "i32") -> str:
        return self.e.let(f"icmp {condition} {t} {a}, {b}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.e.line(f"  br i1 {condition}, label %{yes}, label %{no}")

    def jump(self, label: str) -> None:
        self.e.line(f"  br label %{label}")

    def split(self, index: str, field: int) -> str:
        """Address of a field of a split: 0 block, 4 mask, 8 steps."""
        wide = self.e.let(f"zext i32 {index} to i64")
        return self.at("%warp", self.op("add", self.op("mul", wide, 16, "i64"), WARP["split"] + field, "i64"))

    def split_field(self, index: str, field: int, t: str = "i32") -> str:
        return self.e.let(f"load {t}, ptr {self.split(index, field)}")

    def set_split(self, index: str, field: int, value, t: str = "i32") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.split(index, field)}")

    def barrier(self, table: str, number: str) -> str:
        """Address of a counter of a barrier."""
        wide = self.e.let(f"zext i32 {number} to i64")
        return self.at("%context", self.op("add", self.op("mul", wide, 4, "i64"), CONTEXT[table], "i64"))

    def function(self, header: str) -> str:
        e = self.e
        return f"define {header} #0 {{\nentry:\n" + "\n".join([*e.stack_slots, *e.lines]) + "\n}\n"

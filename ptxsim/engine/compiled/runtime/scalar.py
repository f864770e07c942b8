"""Prints scalar functions on the context and on warps' blocks: native wgmma and cp.async are made of them."""

from __future__ import annotations

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.runtime.abi import CONTEXT, PHASES, WARP


class Scalar:
    """Prints scalar code: loads and stores of fields by name, arithmetic, branches."""

    def __init__(self) -> None:
        self.e = Emitter(Module(True))

    def at(self, base: str, offset: int | str) -> str:
        return self.e.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def context(self, name: str, t: str = "i64") -> str:
        return self.e.let(f"load {t}, ptr {self.at('%context', CONTEXT[name])}")

    def set_context(self, name: str, value: str, t: str = "i64") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.at('%context', CONTEXT[name])}")

    def warp(self, name: str, t: str = "i32") -> str:
        return self.e.let(f"load {t}, ptr {self.at('%warp', WARP[name])}")

    def set_warp(self, name: str, value: str, t: str = "i32") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.at('%warp', WARP[name])}")

    def op(self, operator: str, a: str | int, b: str | int, t: str = "i32") -> str:
        return self.e.let(f"{operator} {t} {a}, {b}")

    def test(self, condition: str, a: str | int, b: str | int, t: str = "i32") -> str:
        return self.e.let(f"icmp {condition} {t} {a}, {b}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.e.line(f"  br i1 {condition}, label %{yes}, label %{no}")

    def jump(self, label: str) -> None:
        self.e.line(f"  br label %{label}")

    def phase(self, barrier: str) -> str:
        """Address of the phase of one of the CTA's barriers."""
        wide = self.e.let(f"zext i32 {barrier} to i64")
        offset = self.op("add", self.op("mul", wide, PHASES[1], "i64"), PHASES[0], "i64")
        return self.at(self.context("cta", "ptr"), offset)

    def function(self, header: str) -> str:
        e = self.e
        return f"define {header} #0 {{\nentry:\n" + "\n".join([*e.stack_slots, *e.lines]) + "\n}\n"

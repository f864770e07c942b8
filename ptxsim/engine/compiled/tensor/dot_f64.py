"""The fused dot product in f64, for any numbers: what f32 has no room for (engine.compiled.tensor.dot)."""

from __future__ import annotations

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import Loop
from ptxsim.engine.compiled.ir.value import Value
from ptxsim.engine.compiled.tensor.arithmetic import ABSENT, Arithmetic, repeated
from ptxsim.lanes import LANES
from ptxsim.numerics.fused import ZERO


def text(name: str, rule: Arithmetic, module: Module) -> str:
    """The IR of <32 x float> @name(ptr slow, ptr fast, <32 x float> c, <32 x i16> largest exponents, ptr ks, i64 count):
    one block of one vector."""
    return _Careful(name, rule, module).text()


class _Careful:
    def __init__(self, name: str, rule: Arithmetic, module: Module):
        self.name, self.rule, self.e = name, rule, Emitter(module, LANES)

    def text(self) -> str:
        e, rule = self.e, self.rule
        c, largest = Value(e, "%c", "f32"), Value(e, "%largest", "s16")
        if rule.sparse:
            largest = self._largest()
        wide = e.convert(c, "f64")
        top = e.maximum(e.convert(largest, "s64"), rule.zero_exponent)
        top = e.where(c == 0.0, top, e.maximum(top, self._exponent(wide)))
        scale = self._power(rule.fraction - top)
        own = e.round_to_integral(wide * scale, "rz")
        loop = Loop(e, "%count", wide, own, e.splat(True, "pred"))
        plain, total, zeros = loop.values
        k = e.entry("%ks", loop.number)
        x, y = self._slow(k, "f32"), self._fast(k, "f32")
        product = e.convert(x, "f64") * e.convert(y, "f64")
        if rule.sparse:
            product = e.where(self._slow(k, "s16") == ABSENT, -0.0, product)  # adding -0 changes nothing
        plain, total = plain + product, total + e.round_to_integral(product * scale, "rz")
        zeros = zeros & (product == 0.0)
        loop.end(plain, total, zeros)
        # Zeros alone have the sign that their sum has; a lone C is itself; what was cut to nothing is +0. The scale that the
        # exponents of infinities and NaN give is some power of two, which leaves them as they are.
        exact = e.where(zeros, e.where(c == 0.0, plain, wide), total / scale + 0.0)
        result = self._rounded(exact)
        e.line(f"  ret <32 x float> {result.text}")
        return e.function(
            f"internal <32 x float> @{self.name}(ptr %slow, ptr %fast, <32 x float> %c, <32 x i16> %largest, ptr %ks, "
            "i64 %count) noinline"
        )

    def _largest(self) -> Value:
        """The largest exponent of the products that are kept; %largest also counts infinities whose factor is left out."""
        e = self.e
        loop = Loop(e, "%count", e.splat(2 * ZERO, "s16"))
        k = e.entry("%ks", loop.number)
        x = self._slow(k, "s16")
        known = e.maximum(loop.values[0], e.where(x == ABSENT, 2 * ZERO, x + self._fast(k, "s16")))
        loop.end(known)
        return known

    def _slow(self, k: str, kind: str) -> Value:
        e = self.e
        size, start = (4, 0) if kind == "f32" else (2, self.rule.k * LANES * 4)
        place = e.let(f"add i64 {e.let(f'mul i64 {k}, {LANES * size}')}, {start}")
        at = e.at("%slow", place)
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align {size}"), kind)

    def _fast(self, k: str, kind: str) -> Value:
        e, (size, start) = self.e, (4, 0) if kind == "f32" else (2, self.rule.k * self.rule.columns * 4)
        place = e.let(f"add i64 {e.let(f'mul i64 {k}, {self.rule.columns * size}')}, {start}")
        return repeated(e, e.at("%fast", place), kind, self.rule.columns)

    def _power(self, exponent: Value) -> Value:
        return self.e.bits((exponent + 1023) << 52, "f64")

    def _exponent(self, x: Value) -> Value:
        e = self.e
        return e.maximum(e.bits(e.bits(x, "u64") >> 52 & 2047, "s64") - 1023, self.rule.smallest)

    def _rounded(self, x: Value) -> Value:
        """f64 to the accumulator's number, as f32."""
        e, narrow = self.e, self.rule.narrow
        scale = self._power(self.rule.kept - self._exponent(x))
        steps = e.round_to_integral(x * scale, "rn" if narrow else "rz")
        result = steps / scale
        infinite = e.bits(e.bits(x, "u64") & 1 << 63 | 0x7FF << 52, "f64")
        result = e.where(e.absolute(result) >= (65520.0 if narrow else 2.0**128), infinite, result)
        result = e.where(result == 0.0, 0.0, result)
        result = e.where((x == 0.0) | (e.absolute(x) == float("inf")), x, result)
        number = e.bits(e.convert(result, "f32"), "u32")
        return e.bits(e.where(x == x, number, 0x7FFFFFFF), "f32")

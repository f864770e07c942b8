"""The tensor core's dot products in native code, on panels (engine.compiled.tensor.arithmetic): accumulators are computed where
they are, and no matrix is ever put together.

numerics.fused says what is computed. Here in f32 and i32: products are exact, scaling by 2^(fraction - largest exponent) is
exact or loses what is cut anyway, and the conversion to integers is the cut toward zero. Where an exponent is extreme,
infinite or NaN, engine.compiled.tensor.dot_f64 does the same in f64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import Loop, spread
from ptxsim.engine.compiled.ir.value import Value
from ptxsim.engine.compiled.tensor import dot_f64
from ptxsim.engine.compiled.tensor.arithmetic import ENTRY, Arithmetic, constant_table, repeated
from ptxsim.lanes import LANES
from ptxsim.numerics.fused import HIGHEST, KEPT_BITS, LOWEST, ZERO


def text(name: str, arithmetic: Arithmetic, module: Module) -> str:
    """The IR of void @name(ptr table, i64 count, ptr slow, ptr fast, ptr c, ptr d, i32 keep): for every entry of the table
    a pair of vectors D = C + slow * fast; C counts as zero where `keep` is 0 and not -1. Upright vectors have an i32 mask after it:
    the lanes that there are."""
    return _Dot(name, arithmetic, module).text()


def toward_zero(e: Emitter, total: Value) -> Value:
    """s32 as f32. Of magnitudes that have no room the highest bit that is left out is cleared, so that the nearest is the lower one: it is
    the highest of `over`, which has none above it."""
    if e.module.cpu.rounds_to_zero:
        return e.singles_toward_zero(total)
    magnitude = e.bits(e.absolute(total), "u32")
    over = magnitude >> 24
    single = e.convert(e.bits(magnitude & ~over, "s32"), "f32")
    return e.bits(e.bits(single, "u32") | e.bits(total, "u32") & 1 << 31, "f32")


Pair = tuple[str, str]  # addresses of two fast records
Term = Callable[[Value, Value, int], Value]  # of a slow and a fast vector, and which of the pair this is
Join = Callable[[Value, Value], Value]
AT_ONCE = 2  # k that a turn of a loop takes


class _Dot:
    def __init__(self, name: str, arithmetic: Arithmetic, module: Module):
        self.name, self.rule, self.module = name, arithmetic, module
        self.e = Emitter(module, LANES)

    def text(self) -> str:
        e = self.e
        pair = Loop(e, "%count")
        entry = e.at("%table", pair.number, f"[{ENTRY} x i32]")
        slow, fast0, fast1, c0, c1, d0, d1 = (
            e.at(f"%{base}", e.entry(entry, number))
            for number, base in enumerate(("slow", "fast", "fast", "c", "c", "d", "d"))
        )
        c = self._read(c0, c1)
        run = {"integer": self._integer, "halves": self._halves, "fused": self._chain}[self.rule.algorithm]
        self._write(run(slow, (fast0, fast1), c), d0, d1)
        pair.end()
        e.line("  ret void")
        function = e.function(
            f"internal void @{self.name}(ptr noalias %table, i64 %count, ptr noalias %slow, ptr noalias %fast, ptr %c, "
            f"ptr %d, i32 %keep{', i32 %mask' * self.rule.upright})"
        )
        return function + (dot_f64.text(f"{self.name}_careful", self.rule, self.module) if self.rule.floats else "")

    # ---- accumulators ----

    def _read(self, first: str, second: str) -> list[Value]:
        """C as f32 (or s32) vectors. Two f16 share a word."""
        e = self.e
        keep = spread(e, "%keep", "u32")
        if self.rule.upright:
            keep = e.where(self._there(), keep, 0)
        word = self._load(first, "u32") & keep
        if self.rule.c == "f16" and self.rule.upright:
            return [self._wide(word), self._wide(self._load(second, "u32") & keep)]
        if self.rule.c == "f16":
            return [self._wide(word), self._wide(word >> 16)]
        words = [word, self._load(second, "u32") & keep]
        return [e.bits(w, "f32") if self.rule.floats else Value(e, w.text, "s32") for w in words]

    def _there(self) -> Value:
        """The lanes of an upright vector that there are."""
        return Value(self.e, self.e.let("bitcast i32 %mask to <32 x i1>"), "pred")

    def _wide(self, word: Value) -> Value:
        half = self.e.convert(word, "u16")
        return self.e.convert(Value(self.e, half.text, "f16"), "f32")

    def _write(self, results: list[Value], first: str, second: str) -> None:
        words = [self._half(value) for value in results] if self.rule.d == "f16" else results
        if self.rule.d == "f16" and not self.rule.upright:
            words = [words[0] | words[1] << 16]
        for word, at in zip(words, (first, second)):
            if self.rule.upright:
                word = self.e.where(self._there(), word, self._load(at, word.kind))
            self.e.line(f"  store {word.type} {word.text}, ptr {at}, align 4")

    def _half(self, value: Value) -> Value:
        """f32 as the code of an f16, in a word."""
        e = self.e
        half = e.convert(value, "f16")
        word = e.convert(Value(e, half.text, "u16"), "u32")
        return e.where(value == value, word, 0x7FFF)

    # ---- panels ----

    def _load(self, at: str, kind: str) -> Value:
        return Value(self.e, self.e.let(f"load {self.e.vector(kind)}, ptr {at}, align 2"), kind)

    def _slow(self, record: str, k: int, kind: str) -> Value:
        size, start = (4, 0) if kind == "f32" else (2, self.rule.k * LANES * 4)
        return self._load(self.e.at(record, start + k * LANES * size), kind)

    def _fast(self, record: str, k: int, kind: str) -> Value:
        size, start = (4, 0) if kind == "f32" else (2, self.rule.k * self.rule.columns * 4)
        at = self.e.at(record, start + k * self.rule.columns * size)
        return repeated(self.e, at, kind, self.rule.columns)

    def _over(
        self, ks: Sequence[int], slow: str, fast: Pair, kind: str, term: Term, join: Join, nothing: Value
    ) -> list[Value]:
        """For both vectors the terms of these k, joined; `nothing` changes nothing that it is joined with. In one loop, or, where
        registers have no room for the numbers of both, one after the other."""
        if kind == "f32" and not self.e.module.cpu.holds_pairs:
            return [self._loop(ks, slow, [(i, at)], kind, term, join, nothing)[0] for i, at in enumerate(fast)]
        return self._loop(ks, slow, [*enumerate(fast)], kind, term, join, nothing)

    def _loop(
        self,
        ks: Sequence[int],
        slow: str,
        fast: list[tuple[int, str]],
        kind: str,
        term: Term,
        join: Join,
        nothing: Value,
    ) -> list[Value]:
        """The same for some of the vectors, each with its number. Its code is as fast as straight text is, and quicker made."""
        e = self.e
        once = 2 * AT_ONCE if self.rule.sparse else AT_ONCE  # what of a block's k lies as far apart from turn to turn
        loop = Loop(e, len(ks) // once, *[nothing for _ in fast])
        step = (ks[once] - ks[0]) * (4 if kind == "f32" else 2)
        here, *there = (
            e.let(f"getelementptr i8, ptr {base}, i64 {e.let(f'mul i64 {loop.number}, {step * width}')}")
            for base, width in ((slow, LANES), *((at, self.rule.columns) for _, at in fast))
        )
        totals = loop.values
        for k in ks[:once]:
            x = self._slow(here, k, kind)
            new = [term(x, self._fast(at, k, kind), i) for (i, _), at in zip(fast, there, strict=True)]
            totals = [join(a, b) for a, b in zip(totals, new, strict=True)]
        loop.end(*totals)
        return totals

    # ---- algorithms ----

    def _integer(self, slow: str, fast: Pair, c: list[Value]) -> list[Value]:
        """Sums of these products are far below 2^24: f32 is exact."""
        e = self.e
        totals = self._over(range(self.rule.k), slow, fast, "f32", lambda x, y, _: x * y, add, e.splat(0.0, "f32"))
        results = []
        for before, total in zip(c, totals, strict=True):
            sum_ = Value(e, e.let(f"fptosi {total.type} {total.text} to {e.vector('s32')}"), "s32")
            if self.rule.saturate:
                results.append(e.pure(e.intrinsic("sadd.sat", "s32", before.text, sum_.text), "s32"))
            else:
                results.append(before + sum_)
        return results

    def _chain(self, slow: str, fast: Pair, c: list[Value]) -> list[Value]:
        for number in range(len(self.rule.blocks)):
            c = self._block(slow, fast, c, number)
        return c

    def _halves(self, slow: str, fast: Pair, c: list[Value]) -> list[Value]:
        """Two blocks from zero, then an ordinary addition."""
        e = self.e
        part = self._chain(slow, fast, [e.splat(0.0, "f32")] * 2)
        c = [a + b for a, b in zip(c, part, strict=True)]
        if self.rule.narrow:
            c = [e.convert(e.convert(x, "f16"), "f32") for x in c]
        return [e.bits(e.where(x == x, e.bits(x, "u32"), 0x7FFFFFFF), "f32") for x in c]

    def _block(self, slow: str, fast: Pair, c: list[Value], number: int) -> list[Value]:
        e, rule = self.e, self.rule
        ks = rule.blocks[number]
        largest = self._over(ks, slow, fast, "s16", lambda x, y, _: x + y, e.maximum, e.splat(-(1 << 15), "s16"))
        shift, unusual = map(list, zip(*(self._shift(c[i], largest[i]) for i in (0, 1))))
        scale = [e.bits((s + 127) << 23, "f32") for s in shift]

        def cut(x: Value, y: Value, i: int) -> Value:
            return self._cut(x * y * scale[i])

        part = len(ks) if rule.fits else 16  # 16 terms fit whatever the fraction
        sums = [
            self._over(ks[start : start + part], slow, fast, "f32", cut, add, e.splat(0, "s32"))
            for start in range(0, len(ks), part)
        ]
        own = [self._cut(c[i] * scale[i]) for i in (0, 1)]
        if len(sums) == 1 and not rule.narrow:
            totals = [terms + x for terms, x in zip(sums[0], own, strict=True)]
            results = [self._cut_to_kept(total, by) for total, by in zip(totals, shift, strict=True)]
            if not rule.fits:  # of 16 terms and C, an i32 may not have room for all
                wrapped = [(a ^ t) & (b ^ t) < 0 for a, b, t in zip(sums[0], own, totals, strict=True)]
                unusual = [a | b for a, b in zip(unusual, wrapped, strict=True)]
        else:
            results = [self._rounded([s[i] for s in sums], own[i], shift[i]) for i in (0, 1)]
        return self._recomputed(results, unusual, slow, fast, c, largest, number)

    def _shift(self, c: Value, largest: Value) -> tuple[Value, Value]:
        """By which power of two the terms are scaled, and where f32 has no room for that."""
        e = self.e
        magnitude = e.bits(c, "u32") & 0x7FFFFFFF
        top = e.bits(magnitude >> 23, "s32") - 127
        if self.rule.narrow:
            top = e.where(magnitude == 0, ZERO, e.maximum(top, self.rule.smallest))
        top = e.maximum(top, e.convert(largest, "s32"))
        # One comparison for both ends.
        beyond = e.bits(top - LOWEST, "u32") > HIGHEST - LOWEST
        if self.rule.narrow:  # f16 products can be smaller than what a zero counts as
            top = e.maximum(top, self.rule.zero_exponent)
        return self.rule.fraction - top, beyond

    def _cut(self, x: Value) -> Value:
        return self.e.pure(f"fptosi {x.type} {x.text} to {self.e.vector('s32')}", "s32")

    def _cut_to_kept(self, total: Value, shift: Value) -> Value:
        """The sum as the accumulator keeps it."""
        e, single = self.e, toward_zero(self.e, total)
        if self.rule.kept < KEPT_BITS["f32"]:
            single = e.bits(e.bits(single, "u32") & 2**32 - (1 << KEPT_BITS["f32"] - self.rule.kept), "f32")
        return single * self._back(shift)

    def _back(self, shift: Value) -> Value:
        return self.e.bits((127 - shift) << 23, "f32")

    def _rounded(self, sums: list[Value], own: Value, shift: Value) -> Value:
        e = self.e
        first, *more = [sums[0] + own] if self.rule.fits else [*sums, own]
        total = e.convert(first, "f64")
        for x in more:
            total = total + e.convert(x, "f64")
        if not self.rule.narrow:
            word = e.bits(total, "u64") & (2**64 - (1 << 52 - self.rule.kept))
            return e.convert(e.bits(word, "f64"), "f32") * self._back(shift)
        value = total * e.bits(e.convert(1023 - shift, "s64") << 52, "f64")
        field = e.bits(value, "s64") & (0x7FF << 52)
        field = e.maximum(field, (1023 + self.rule.smallest) << 52)
        magic = e.bits((field + (42 << 52)) | 1 << 51, "f64")
        value = (value + magic) - magic  # nearest even at 10 fraction bits
        infinite = e.bits(e.bits(value, "u64") & (1 << 63) | 0x7FF << 52, "f64")
        return e.convert(e.where(e.absolute(value) < 65520.0, value, infinite), "f32")

    def _recomputed(
        self, results: list[Value], unusual: Sequence[Value], slow: str, fast: Pair, c: list[Value], largest: list[Value],
        number: int,
    ) -> list[Value]:  # fmt: skip
        """Results, with those that f32 has no room for computed in f64."""
        e = self.e
        n = e.name()[1:]
        word = e.let(f"bitcast <32 x i1> {(unusual[0] | unusual[1]).text} to i32")
        usual = e.let(f"icmp eq i32 {word}, 0")
        e.line(f"  br i1 {usual}, label %good{n}, label %look{n}")
        before = e.here
        e.label(f"look{n}")
        # Nothing but zeros is nothing to be careful about.
        quiet = [(top <= ZERO // 2) & (e.bits(x, "u32") == 0) for top, x in zip(largest, c, strict=True)]
        loud = (unusual[0] & ~quiet[0]) | (unusual[1] & ~quiet[1])
        zeros = [e.where(bad, 0.0, x) for bad, x in zip(unusual, results, strict=True)]
        word = e.let(f"bitcast <32 x i1> {loud.text} to i32")
        calm = e.let(f"icmp eq i32 {word}, 0")
        e.line(f"  br i1 {calm}, label %good{n}, label %careful{n}")
        e.label(f"careful{n}")
        ks = constant_table(self.module, self.rule.blocks[number])
        found = []
        for i in (0, 1):
            call = (
                f"call <32 x float> @{self.name}_careful(ptr {slow}, ptr {fast[i]}, <32 x float> {c[i].text}, "
                f"<32 x i16> {largest[i].text}, ptr {ks}, i64 {len(self.rule.blocks[number])})"
            )
            found.append(e.where(unusual[i], Value(e, e.let(call), "f32"), results[i]))
        e.line(f"  br label %good{n}")
        e.label(f"good{n}")
        return [
            Value(
                e,
                e.let(
                    f"phi <32 x float> [ {results[i].text}, %{before} ], [ {zeros[i].text}, %look{n} ], "
                    f"[ {found[i].text}, %careful{n} ]"
                ),
                "f32",
            )
            for i in (0, 1)
        ]

"""The tensor core's dot products in native code, on panels (engine.compiled.tensor.arithmetic): accumulators are computed where
they are, and no matrix is ever put together.

numerics.fused says what is computed. Here in f32 and i32: products are exact, scaling by 2^(fraction - largest exponent) is
exact or loses what is cut anyway, and the conversion to integers is the cut toward zero. Where an exponent is extreme,
infinite or NaN, engine.compiled.tensor.dot_f64 does the same in f64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import NamedTuple

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import Loop, spread
from ptxsim.engine.compiled.ir.value import Value
from ptxsim.engine.compiled.tensor import dot_f64
from ptxsim.engine.compiled.tensor.arithmetic import ENTRY, Arithmetic, constant_table, repeated
from ptxsim.lanes import LANES
from ptxsim.numerics.fused import HIGHEST, KEPT_BITS, LOWEST, ZERO


def text(name: str, arithmetic: Arithmetic, module: Module, ahead: bool = False) -> str:
    """The IR of void @name(ptr table, i64 count, ptr slow, ptr fast, ptr c, ptr d, i32 keep): for every entry of the table
    a pair of vectors D = C + slow * fast; C counts as zero where `keep` is 0 and not -1. Upright vectors have an i32 mask after it:
    the lanes that there are. `ahead`: for tables of many entries."""
    return _Dot(name, arithmetic, module, ahead).text()


def toward_zero(e: Emitter, total: Value) -> Value:
    """s32 as f32. Of magnitudes that have no room the highest bit that is left out is cleared, so that the nearest is the lower one: it is
    the highest of `over`, which has none above it."""
    if e.module.cpu.rounds_to_zero:
        return e.singles_toward_zero(total)
    magnitude = e.bits(e.absolute(total), "u32")
    over = magnitude >> 24
    single = e.convert(e.bits(magnitude & ~over, "s32"), "f32")
    return e.bits(e.bits(single, "u32") | e.bits(total, "u32") & 1 << 31, "f32")


BIAS = 127
AT_ONCE = 2  # k that a turn of a loop takes


class _Factors(NamedTuple):
    """Addresses of the slow record of an entry, and of the two fast ones."""

    slow: str
    fast: tuple[str, str]


@dataclass(frozen=True)
class _Sum:
    """What is joined, over some k, for both vectors of an entry. `term` is made of a slow and a fast vector, for one of the two;
    `first` are what the terms are joined with."""

    ks: Sequence[int]
    factors: _Factors
    kind: str
    term: Callable[[Value, Value, int], Value]
    join: Callable[[Value, Value], Value]
    first: Sequence[Value]

    def part(self, number: int, count: int) -> _Sum:
        """A part of so many, of its k."""
        length = len(self.ks) // count
        return replace(self, ks=self.ks[number * length : (number + 1) * length])


class _Dot:
    """Where there are many entries the largest exponents of a block are looked for in the loop that adds up the block before, `ahead`:
    a processor's window is too short to see both, one after the other."""

    def __init__(self, name: str, arithmetic: Arithmetic, module: Module, ahead: bool):
        self.name, self.rule, self.module = name, arithmetic, module
        self.ahead = ahead and arithmetic.floats and module.cpu.holds_pairs
        self.e = Emitter(module, LANES)

    def text(self) -> str:
        e = self.e
        pair = Loop(e, "%count", *(self._over(self._exponents(self._factors("0"), 0)) if self.ahead else ()))
        self.largest = pair.values
        if self.ahead:
            number, last = (e.let(f"add i64 {n}") for n in (f"{pair.number}, 1", "%count, -1"))
            following = e.call("umin.i64", "i64", ("i64", number), ("i64", last))
            self.following = self._factors(e.let(following))
        c0, c1, d0, d1 = self._places(pair.number, ("c", "c", "d", "d"), 3)
        run = {"integer": self._integer, "halves": self._halves, "fused": self._chain}[self.rule.algorithm]
        self._write(run(self._factors(pair.number), self._read(c0, c1)), d0, d1)
        pair.end(*self.largest)
        e.line("  ret void")
        function = e.function(
            f"internal void @{self.name}(ptr noalias %table, i64 %count, ptr noalias %slow, ptr noalias %fast, ptr %c, "
            f"ptr %d, i32 %keep{', i32 %mask' * self.rule.upright})"
        )
        return function + (dot_f64.text(f"{self.name}_careful", self.rule, self.module) if self.rule.floats else "")

    def _places(self, number: str, bases: Sequence[str], first: int) -> list[str]:
        """Addresses that an entry of the table has, from its word `first` on."""
        entry = self.e.at("%table", number, f"[{ENTRY} x i32]")
        return [self.e.at(f"%{base}", self.e.entry(entry, first + n)) for n, base in enumerate(bases)]

    def _factors(self, number: str) -> _Factors:
        slow, *fast = self._places(number, ("slow", "fast", "fast"), 0)
        return _Factors(slow, (fast[0], fast[1]))

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

    def _over(self, sum_: _Sum) -> list[Value]:
        """For both vectors the terms, joined. In one loop, or, where registers have no room for the numbers of both, one after the other."""
        if sum_.kind == "f32" and not self.e.module.cpu.holds_pairs:
            return [value for i in (0, 1) for value in self._loop([sum_], [i])[0]]
        return self._loop([sum_])[0]

    def _loop(self, sums: Sequence[_Sum], which: Sequence[int] = (0, 1)) -> list[list[Value]]:
        """The same of several sums over as many k, for these of the vectors. Its code is as fast as straight text is, and quicker made."""
        e = self.e
        once = 2 * AT_ONCE if self.rule.sparse else AT_ONCE  # what of a block's k lies as far apart from turn to turn
        loop = Loop(e, len(sums[0].ks) // once, *(sum_.first[i] for sum_ in sums for i in which))
        later = []
        for number, sum_ in enumerate(sums):
            step = (sum_.ks[once] - sum_.ks[0]) * (4 if sum_.kind == "f32" else 2)
            here, *there = (
                e.let(f"getelementptr i8, ptr {base}, i64 {e.let(f'mul i64 {loop.number}, {step * width}')}")
                for base, width in (
                    (sum_.factors.slow, LANES),
                    *((sum_.factors.fast[i], self.rule.columns) for i in which),
                )
            )
            totals = loop.values[number * len(which) :][: len(which)]
            for k in sum_.ks[:once]:
                x = self._slow(here, k, sum_.kind)
                new = [sum_.term(x, self._fast(at, k, sum_.kind), i) for i, at in zip(which, there, strict=True)]
                totals = [sum_.join(a, b) for a, b in zip(totals, new, strict=True)]
            later.append(totals)
        loop.end(*(value for totals in later for value in totals))
        return later

    # ---- algorithms ----

    def _integer(self, factors: _Factors, c: list[Value]) -> list[Value]:
        """Sums of these products are far below 2^24: f32 is exact."""
        e = self.e
        zeros = [e.splat(0.0, "f32")] * 2
        totals = self._over(_Sum(range(self.rule.k), factors, "f32", lambda x, y, _: x * y, add, zeros))
        results = []
        for before, total in zip(c, totals, strict=True):
            sum_ = Value(e, e.let(f"fptosi {total.type} {total.text} to {e.vector('s32')}"), "s32")
            if self.rule.saturate:
                results.append(e.pure(e.intrinsic("sadd.sat", "s32", before.text, sum_.text), "s32"))
            else:
                results.append(before + sum_)
        return results

    def _chain(self, factors: _Factors, c: list[Value]) -> list[Value]:
        for number in range(len(self.rule.blocks)):
            c = self._block(factors, c, number)
        return c

    def _halves(self, factors: _Factors, c: list[Value]) -> list[Value]:
        """Two blocks from zero, then an ordinary addition."""
        e = self.e
        part = self._chain(factors, [e.splat(0.0, "f32")] * 2)
        c = [a + b for a, b in zip(c, part, strict=True)]
        if self.rule.narrow:
            c = [e.convert(e.convert(x, "f16"), "f32") for x in c]
        return [e.bits(e.where(x == x, e.bits(x, "u32"), 0x7FFFFFFF), "f32") for x in c]

    def _exponents(self, factors: _Factors, number: int) -> _Sum:
        """The largest exponents of a block's products."""
        nothing = [self.e.splat(-(1 << 15), "s16")] * 2
        return _Sum(self.rule.blocks[number], factors, "s16", lambda x, y, _: x + y, self.e.maximum, nothing)

    def _block(self, factors: _Factors, c: list[Value], number: int) -> list[Value]:
        e, rule = self.e, self.rule
        ks = rule.blocks[number]
        largest = self.largest if self.ahead else self._over(self._exponents(factors, number))
        top, unusual = map(list, zip(*(self._top(c[i], largest[i]) for i in (0, 1))))
        one = rule.fraction + 2 * BIAS - 512 << 23  # 512 is one turn of 32 bits
        scale = [e.bits(one - t, "f32") for t in top]

        def cut(x: Value, y: Value, i: int) -> Value:
            return self._cut(x * y * scale[i])

        parts = 1 if rule.fits else -(-len(ks) // 16)  # 16 terms fit whatever the fraction
        terms = _Sum(ks, factors, "f32", cut, add, [e.splat(0, "s32")] * 2)
        sums = self._sums(terms, parts, number)
        own = [self._cut(c[i] * scale[i]) for i in (0, 1)]
        if len(sums) == 1 and not rule.narrow:
            totals = [terms + x for terms, x in zip(sums[0], own, strict=True)]
            results = [self._cut_to_kept(total, at) for total, at in zip(totals, top, strict=True)]
            if not rule.fits:  # of 16 terms and C, an i32 may not have room for all
                wrapped = [(a ^ t) & (b ^ t) < 0 for a, b, t in zip(sums[0], own, totals, strict=True)]
                unusual = [a | b for a, b in zip(unusual, wrapped, strict=True)]
        else:
            results = [self._rounded([s[i] for s in sums], own[i], top[i]) for i in (0, 1)]
        return self._recomputed(results, unusual, factors, c, largest, number)

    def _sums(self, terms: _Sum, parts: int, number: int) -> list[list[Value]]:
        """The sums of each part of a block's terms; ahead, the largest exponents of the next block as well."""
        if not self.ahead:
            return [self._over(terms.part(part, parts)) for part in range(parts)]
        if number + 1 < len(self.rule.blocks):
            ahead = self._exponents(terms.factors, number + 1)
        else:
            ahead = self._exponents(self.following, 0)
        sums = []
        for part in range(parts):
            found, largest = self._loop([terms.part(part, parts), ahead.part(part, parts)])
            sums.append(found)
            ahead = replace(ahead, first=largest)
        self.largest = list(ahead.first)
        return sums

    def _top(self, c: Value, largest: Value) -> tuple[Value, Value]:
        """The largest exponent of a block as it lies in an f32, and where f32 has no room for the scale that it makes."""
        e = self.e
        magnitude = e.bits(c, "u32") & 0x7FFFFFFF
        top = e.bits(magnitude >> 23, "s32")
        if self.rule.narrow:
            top = e.where(magnitude == 0, ZERO, e.maximum(top, self.rule.smallest + BIAS))
        top = e.maximum(top, e.convert(largest + BIAS, "s32"))
        # One comparison for both ends.
        beyond = e.bits(top - (LOWEST + BIAS), "u32") > HIGHEST - LOWEST
        if self.rule.narrow:  # f16 products can be smaller than what a zero counts as
            top = e.maximum(top, self.rule.zero_exponent + BIAS)
        return top << 23, beyond

    def _cut(self, x: Value) -> Value:
        return self.e.pure(f"fptosi {x.type} {x.text} to {self.e.vector('s32')}", "s32")

    def _cut_to_kept(self, total: Value, top: Value) -> Value:
        """The sum as the accumulator keeps it."""
        e, single = self.e, toward_zero(self.e, total)
        if self.rule.kept < KEPT_BITS["f32"]:
            single = e.bits(e.bits(single, "u32") & 2**32 - (1 << KEPT_BITS["f32"] - self.rule.kept), "f32")
        return single * self._back(top)

    def _back(self, top: Value) -> Value:
        return self.e.bits(top - (self.rule.fraction << 23), "f32")

    def _rounded(self, sums: list[Value], own: Value, top: Value) -> Value:
        e = self.e
        first, *more = [sums[0] + own] if self.rule.fits else [*sums, own]
        total = e.convert(first, "f64")
        for x in more:
            total = total + e.convert(x, "f64")
        if not self.rule.narrow:
            word = e.bits(total, "u64") & (2**64 - (1 << 52 - self.rule.kept))
            return e.convert(e.bits(word, "f64"), "f32") * self._back(top)
        exponent = e.convert(top >> 23, "s64") + (1023 - BIAS - self.rule.fraction)
        value = total * e.bits(exponent << 52, "f64")
        field = e.bits(value, "s64") & (0x7FF << 52)
        field = e.maximum(field, (1023 + self.rule.smallest) << 52)
        magic = e.bits((field + (42 << 52)) | 1 << 51, "f64")
        value = (value + magic) - magic  # nearest even at 10 fraction bits
        infinite = e.bits(e.bits(value, "u64") & (1 << 63) | 0x7FF << 52, "f64")
        return e.convert(e.where(e.absolute(value) < 65520.0, value, infinite), "f32")

    def _recomputed(
        self, results: list[Value], unusual: Sequence[Value], factors: _Factors, c: list[Value], largest: list[Value],
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
                f"call <32 x float> @{self.name}_careful(ptr {factors.slow}, ptr {factors.fast[i]}, <32 x float> {c[i].text}, "
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

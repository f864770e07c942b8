"""The tensor core's dot products in native code, on panels: numbers that lie ready for vectors of 32 lanes.

A vector is one register of the accumulators. Its lanes go along two axes: four lanes next to each other share the place on
the slow axis (the rows of most shapes), lanes four apart that on the fast one. For every k the slow panel has 32 numbers,
each four times, and the fast panel four, which a broadcast repeats. Exponents lie behind the numbers. So accumulators are
computed where they are, and no matrix is ever put together.

numerics.fused says what is computed. Here in f32 and i32: products are exact, scaling by 2^(fraction - largest exponent) is
exact or loses what is cut anyway, and the conversion to integers is the cut toward zero. Where an exponent is extreme,
infinite or NaN, `careful` does the same in f64.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ptxsim.engine.compiled.emitter import Emitter, Module
from ptxsim.engine.compiled.value import Value, element_type

LANES, QUAD = 32, 4
# Exponents of zeros, of what sparsity leaves out, of infinities and NaN: sums of two fit i16 and tell them apart.
ZERO, ABSENT, SPECIAL = -8000, -8001, 16000
LOWEST, HIGHEST = -100, 125  # largest exponents for which f32 suffices
KEPT_BITS = {"f32": 23, "e8m13": 13, "f16": 10}
ENTRY = 7  # i32 in a table's entry: slow, fast and fast record, C twice, D twice; all in bytes


@dataclass(frozen=True)
class Arithmetic:
    """What is computed: `blocks` are the k of every block; see numerics.parameters.Rule for the rest. `c` and `d` are
    the element types of the accumulators, `sparse` says that the slow operand has elements that are not there."""

    algorithm: str
    k: int
    blocks: tuple[tuple[int, ...], ...]
    fraction: int
    zero_exponent: int
    accumulator: str
    c: str
    d: str
    sparse: bool = False
    saturate: bool = False

    @property
    def floats(self) -> bool:
        return self.algorithm != "integer"

    @property
    def slow_bytes(self) -> int:
        """Size of a record of the slow panel: 32 numbers for every k, then their exponents (i16)."""
        return self.k * LANES * (6 if self.floats else 4)

    @property
    def fast_bytes(self) -> int:
        return self.k * QUAD * (6 if self.floats else 4)

    def describe(self) -> tuple:
        return astuple(self)

    @classmethod
    def of(cls, description) -> Arithmetic:
        """From what `describe` gave, lists in place of tuples."""
        algorithm, k, blocks, *rest = description
        return cls(algorithm, k, tuple(map(tuple, blocks)), *rest)


def text(name: str, arithmetic: Arithmetic, module: Module) -> str:
    """The IR of void @name(ptr table, i64 count, ptr slow, ptr fast, ptr c, ptr d, i32 keep): for every entry of the table
    a pair of vectors D = C + slow * fast; C counts as zero where `keep` is 0 and not -1."""
    return _Dot(name, arithmetic, module).text()


class _Dot:
    def __init__(self, name: str, arithmetic: Arithmetic, module: Module):
        self.name, self.rule, self.module = name, arithmetic, module
        self.narrow = arithmetic.accumulator == "f16"
        self.smallest = -14 if self.narrow else -126
        self.kept = KEPT_BITS[arithmetic.accumulator] if arithmetic.floats else 0
        self.e = Emitter(module, LANES)
        self.here = "pair"
        self._labels = 0

    def text(self) -> str:
        e = self.e
        e.line("  %none = icmp eq i64 %count, 0")
        e.line("  br i1 %none, label %out, label %pair")
        e.label("pair")
        e.line("  %i = phi i64 [ 0, %entry ], [ %next, %stored ]")
        entry = e.let(f"getelementptr [{ENTRY} x i32], ptr %table, i64 %i")
        slow, fast0, fast1, c0, c1, d0, d1 = (
            e.let(f"getelementptr i8, ptr %{base}, i64 {self._offset(entry, number)}")
            for number, base in enumerate(("slow", "fast", "fast", "c", "c", "d", "d"))
        )
        c = self._read(c0, c1)
        run = {"integer": self._integer, "halves": self._halves, "fused": self._chain}[self.rule.algorithm]
        self._write(run(slow, (fast0, fast1), c), d0, d1)
        e.line("  br label %stored")
        e.label("stored")
        e.line("  %next = add i64 %i, 1")
        e.line("  %more = icmp ult i64 %next, %count")
        e.line("  br i1 %more, label %pair, label %out")
        e.label("out")
        e.line("  ret void")
        function = (
            f"define internal void @{self.name}(ptr noalias %table, i64 %count, ptr noalias %slow, ptr noalias %fast, ptr %c, "
            "ptr %d, i32 %keep) #0 {\nentry:\n" + "\n".join([*e.rooms, *e.lines]) + "\n}\n"
        )
        return function + (_Careful(self).text() if self.rule.floats else "")

    def _offset(self, entry: str, number: int) -> str:
        e = self.e
        at = e.let(f"getelementptr i8, ptr {entry}, i64 {4 * number}")
        return e.let(f"sext i32 {e.let(f'load i32, ptr {at}, align 4')} to i64")

    # ---- accumulators ----

    def _read(self, first: str, second: str) -> list[Value]:
        """C as f32 (or s32) vectors. Two f16 share a word."""
        e = self.e
        keep = e.let("insertelement <32 x i32> poison, i32 %keep, i64 0")
        keep = Value(e, e.let(f"shufflevector <32 x i32> {keep}, <32 x i32> poison, <32 x i32> zeroinitializer"), "u32")
        word = self._load(first, "u32") & keep
        if self.rule.c == "f16":
            return [self._wide(word & 0xFFFF), self._wide(word >> 16)]
        words = [word, self._load(second, "u32") & keep]
        return [e.bits(w, "f32") if self.rule.floats else Value(e, w.text, "s32") for w in words]

    def _wide(self, word: Value) -> Value:
        half = self.e.convert(word, "u16")
        return self.e.convert(Value(self.e, half.text, "f16"), "f32")

    def _write(self, results: list[Value], first: str, second: str) -> None:
        e = self.e
        if self.rule.d != "f16":
            for value, at in zip(results, (first, second), strict=True):
                e.line(f"  store {value.type} {value.text}, ptr {at}, align 4")
            return
        halves = []
        for value in results:
            half = e.convert(value, "f16")
            word = e.convert(Value(e, half.text, "u16"), "u32")
            nan = (e.bits(value, "u32") & 0x7FFFFFFF) > 0x7F800000
            halves.append(e.where(nan, 0x7FFF, word))
        word = halves[0] | halves[1] << 16
        e.line(f"  store {word.type} {word.text}, ptr {first}, align 4")

    # ---- panels ----

    def _load(self, at: str, kind: str) -> Value:
        e = self.e
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align {4 if kind != 's16' else 2}"), kind)

    def _slow(self, record: str, k: int, kind: str) -> Value:
        size, start = (4, 0) if kind == "f32" else (2, self.rule.k * LANES * 4)
        return self._load(self.e.let(f"getelementptr i8, ptr {record}, i64 {start + k * LANES * size}"), kind)

    def _fast(self, record: str, k: int, kind: str) -> Value:
        size, start = (4, 0) if kind == "f32" else (2, self.rule.k * QUAD * 4)
        at = self.e.let(f"getelementptr i8, ptr {record}, i64 {start + k * QUAD * size}")
        return repeated(self.e, at, kind)

    # ---- algorithms ----

    def _integer(self, slow: str, fast: tuple[str, str], c: list[Value]) -> list[Value]:
        """Sums of these products are far below 2^24: f32 is exact."""
        e, totals = self.e, [None, None]
        for k in range(self.rule.k):
            x = self._slow(slow, k, "f32")
            for i in (0, 1):
                term = x * self._fast(fast[i], k, "f32")
                totals[i] = term if totals[i] is None else totals[i] + term
        results = []
        for before, total in zip(c, totals, strict=True):
            sum_ = Value(e, e.let(f"fptosi {total.type} {total.text} to {e.vector('s32')}"), "s32")
            if self.rule.saturate:
                results.append(e.pure(e.intrinsic("sadd.sat", "s32", before.text, sum_.text), "s32"))
            else:
                results.append(before + sum_)
        return results

    def _chain(self, slow: str, fast: tuple[str, str], c: list[Value]) -> list[Value]:
        for number in range(len(self.rule.blocks)):
            c = self._block(slow, fast, c, number)
        return c

    def _halves(self, slow: str, fast: tuple[str, str], c: list[Value]) -> list[Value]:
        """Two blocks from zero, then an ordinary addition."""
        e = self.e
        for number in range(0, len(self.rule.blocks), 2):
            part = [e.splat(0.0, "f32")] * 2
            for block in (number, number + 1):
                part = self._block(slow, fast, part, block)
            c = [a + b for a, b in zip(c, part, strict=True)]
            if self.narrow:
                c = [e.convert(e.convert(x, "f16"), "f32") for x in c]
        quiet = []
        for x in c:
            word = e.bits(x, "u32")
            quiet.append(e.bits(e.where((word & 0x7FFFFFFF) > 0x7F800000, 0x7FFFFFFF, word), "f32"))
        return quiet

    def _block(self, slow: str, fast: tuple[str, str], c: list[Value], number: int) -> list[Value]:
        e, rule = self.e, self.rule
        ks = rule.blocks[number]
        largest: list[Value | None] = [None, None]
        for k in ks:
            x = self._slow(slow, k, "s16")
            for i in (0, 1):
                sum_ = x + self._fast(fast[i], k, "s16")
                largest[i] = sum_ if largest[i] is None else e.maximum(largest[i], sum_)
        shift, unusual = zip(*(self._shift(c[i], largest[i]) for i in (0, 1)))
        scale = [e.bits((s + 127) << 23, "f32") for s in shift]
        # 16 cut terms fit an i32 whatever the fraction; more where it is small.
        part = 16 if rule.fraction + 2 + (len(ks) - 1).bit_length() > 30 else len(ks)
        sums: list[list[Value]] = [[], []]
        for start in range(0, len(ks), part):
            total: list[Value | None] = [None, None]
            for k in ks[start : start + part]:
                x = self._slow(slow, k, "f32")
                for i in (0, 1):
                    term = self._cut(x * self._fast(fast[i], k, "f32") * scale[i])
                    total[i] = term if total[i] is None else total[i] + term
            for i in (0, 1):
                sums[i].append(total[i])
        results = [self._rounded(sums[i], self._cut(c[i] * scale[i]), shift[i]) for i in (0, 1)]
        return self._mended(results, unusual, slow, fast, c, largest, number)

    def _shift(self, c: Value, largest: Value) -> tuple[Value, Value]:
        """By which power of two the terms are scaled, and where f32 has no room for that."""
        e = self.e
        magnitude = e.bits(c, "u32") & 0x7FFFFFFF
        top = e.bits(magnitude >> 23, "s32") - 127
        if self.narrow:
            top = e.where(magnitude == 0, ZERO, e.maximum(top, self.smallest))
        top = e.maximum(top, e.convert(largest, "s32"))
        # One comparison for both ends.
        beyond = e.bits(top - LOWEST, "u32") > HIGHEST - LOWEST
        return self.rule.fraction - top, beyond

    def _cut(self, x: Value) -> Value:
        return self.e.pure(f"fptosi {x.type} {x.text} to {self.e.vector('s32')}", "s32")

    def _rounded(self, sums: list[Value], own: Value, shift: Value) -> Value:
        e = self.e
        small = self.rule.fraction <= 13
        total = e.convert(sums[0] + own if small else sums[0], "f64")
        for x in sums[1:] if small else [*sums[1:], own]:
            total = total + e.convert(x, "f64")
        if not self.narrow:
            word = e.bits(total, "u64") & (2**64 - (1 << 52 - self.kept))
            back = e.bits((127 - shift) << 23, "f32")
            return e.convert(e.bits(word, "f64"), "f32") * back
        value = total * e.bits(e.convert(1023 - shift, "s64") << 52, "f64")
        field = e.bits(value, "s64") & (0x7FF << 52)
        field = e.maximum(field, (1023 + self.smallest) << 52)
        magic = e.bits((field + (42 << 52)) | 1 << 51, "f64")
        value = (value + magic) - magic  # nearest even at 10 fraction bits
        infinite = e.bits(e.bits(value, "u64") & (1 << 63) | 0x7FF << 52, "f64")
        return e.convert(e.where(e.absolute(value) < 65520.0, value, infinite), "f32")

    def _mended(self, results, unusual, slow: str, fast: tuple[str, str], c, largest, number: int) -> list[Value]:
        """Results, with those that f32 has no room for computed anew."""
        e = self.e
        self._labels += 1
        n = self._labels
        word = e.let(f"bitcast <32 x i1> {(unusual[0] | unusual[1]).text} to i32")
        usual = e.let(f"icmp eq i32 {word}, 0")
        e.line(f"  br i1 {usual}, label %good{n}, label %look{n}")
        before = self.here
        e.label(f"look{n}")
        # Nothing but zeros is nothing to be careful about.
        quiet = [(top <= ZERO // 2) & (e.bits(x, "u32") == 0) for top, x in zip(largest, c, strict=True)]
        loud = (unusual[0] & ~quiet[0]) | (unusual[1] & ~quiet[1])
        zeros = [e.where(bad, 0.0, x) for bad, x in zip(unusual, results, strict=True)]
        word = e.let(f"bitcast <32 x i1> {loud.text} to i32")
        calm = e.let(f"icmp eq i32 {word}, 0")
        e.line(f"  br i1 {calm}, label %good{n}, label %careful{n}")
        e.label(f"careful{n}")
        ks = table(self.module, self.rule.blocks[number])
        found = []
        for i in (0, 1):
            call = (
                f"call <32 x float> @{self.name}_careful(ptr {slow}, ptr {fast[i]}, <32 x float> {c[i].text}, "
                f"<32 x i16> {largest[i].text}, ptr {ks}, i64 {len(self.rule.blocks[number])})"
            )
            found.append(e.where(unusual[i], Value(e, e.let(call), "f32"), results[i]))
        e.line(f"  br label %good{n}")
        e.label(f"good{n}")
        self.here = f"good{n}"
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


class _Careful:
    """One block of one vector in f64, for any numbers: <32 x float> @careful(slow, fast, c, largest exponents, ks, count)."""

    def __init__(self, dot: _Dot):
        self.dot, self.rule = dot, dot.rule
        self.e = Emitter(dot.module, LANES)

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
        before = "ready" if rule.sparse else "entry"
        e.line("  br label %term")
        e.label("term")
        e.line(f"  %j = phi i64 [ 0, %{before} ], [ %j.next, %term ]")
        e.line(f"  %plain = phi <32 x double> [ {wide.text}, %{before} ], [ %plain.next, %term ]")
        e.line(f"  %total = phi <32 x double> [ {own.text}, %{before} ], [ %total.next, %term ]")
        e.line(f"  %zeros = phi <32 x i1> [ splat (i1 true), %{before} ], [ %zeros.next, %term ]")
        k = self._k("%j")
        x, y = self._slow(k, "f32"), self._fast(k, "f32")
        product = e.convert(x, "f64") * e.convert(y, "f64")
        if rule.sparse:
            product = e.where(self._slow(k, "s16") == ABSENT, -0.0, product)  # adding -0 changes nothing
        for name, value in (
            ("plain", Value(e, "%plain", "f64") + product),
            ("total", Value(e, "%total", "f64") + e.round_to_integral(product * scale, "rz")),
            ("zeros", Value(e, "%zeros", "pred") & (product == 0.0)),
        ):
            e.line(f"  %{name}.next = {value_copy(value)}")
        e.line("  %j.next = add i64 %j, 1")
        more = e.let("icmp ult i64 %j.next, %count")
        e.line(f"  br i1 {more}, label %term, label %sum")
        e.label("sum")
        plain, total = Value(e, "%plain.next", "f64"), Value(e, "%total.next", "f64")
        zeros = Value(e, "%zeros.next", "pred")
        finite = (e.bits(plain, "u64") & 0x7FF << 52) != 0x7FF << 52
        # Zeros alone have the sign that their sum has; a lone C is itself; what was cut to nothing is +0.
        simple = (zeros & (c == 0.0)) | ~finite
        exact = e.where(simple, plain, e.where(zeros, wide, total / scale + 0.0))
        result = self._rounded(exact)
        e.line(f"  ret <32 x float> {result.text}")
        return (
            f"define internal <32 x float> @{self.dot.name}_careful(ptr %slow, ptr %fast, <32 x float> %c, <32 x i16> %largest, "
            "ptr %ks, i64 %count) noinline #0 {\nentry:\n" + "\n".join([*e.rooms, *e.lines]) + "\n}\n"
        )

    def _k(self, number: str) -> str:
        e = self.e
        at = e.let(f"getelementptr i32, ptr %ks, i64 {number}")
        return e.let(f"sext i32 {e.let(f'load i32, ptr {at}, align 4')} to i64")

    def _largest(self) -> Value:
        """The largest exponent of what is there: %largest knows infinities that meet nothing too."""
        e = self.e
        e.line("  br label %look")
        e.label("look")
        e.line("  %l = phi i64 [ 0, %entry ], [ %l.next, %look ]")
        e.line(f"  %known = phi <32 x i16> [ splat (i16 {2 * ZERO}), %entry ], [ %known.next, %look ]")
        k = self._k("%l")
        x = self._slow(k, "s16")
        sum_ = e.where(x == ABSENT, 2 * ZERO, x + self._fast(k, "s16"))
        e.line(f"  %known.next = {value_copy(e.maximum(Value(e, '%known', 's16'), sum_))}")
        e.line("  %l.next = add i64 %l, 1")
        more = e.let("icmp ult i64 %l.next, %count")
        e.line(f"  br i1 {more}, label %look, label %ready")
        e.label("ready")
        return Value(e, "%known.next", "s16")

    def _slow(self, k: str, kind: str) -> Value:
        e = self.e
        size, start = (4, 0) if kind == "f32" else (2, self.rule.k * LANES * 4)
        place = e.let(f"add i64 {e.let(f'mul i64 {k}, {LANES * size}')}, {start}")
        at = e.let(f"getelementptr i8, ptr %slow, i64 {place}")
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align {size}"), kind)

    def _fast(self, k: str, kind: str) -> Value:
        e, (size, start) = self.e, (4, 0) if kind == "f32" else (2, self.rule.k * QUAD * 4)
        place = e.let(f"add i64 {e.let(f'mul i64 {k}, {QUAD * size}')}, {start}")
        return repeated(e, e.let(f"getelementptr i8, ptr %fast, i64 {place}"), kind)

    def _power(self, exponent: Value) -> Value:
        return self.e.bits((exponent + 1023) << 52, "f64")

    def _exponent(self, x: Value) -> Value:
        e = self.e
        return e.maximum(e.bits(e.bits(x, "u64") >> 52 & 2047, "s64") - 1023, self.dot.smallest)

    def _rounded(self, x: Value) -> Value:
        """f64 to the accumulator's number, as f32."""
        e, narrow = self.e, self.dot.narrow
        word = e.bits(x, "u64")
        magnitude = word & (1 << 63) - 1
        scale = self._power(self.dot.kept - self._exponent(x))
        steps = e.round_to_integral(x * scale, "rn" if narrow else "rz")
        result = steps / scale
        infinite = e.bits(word & 1 << 63 | 0x7FF << 52, "f64")
        result = e.where(e.absolute(result) >= (65520.0 if narrow else 2.0**128), infinite, result)
        result = e.where(result == 0.0, 0.0, result)
        result = e.where((magnitude == 0) | (magnitude == 0x7FF << 52), x, result)
        number = e.bits(e.convert(result, "f32"), "u32")
        return e.bits(e.where(magnitude > 0x7FF << 52, 0x7FFFFFFF, number), "f32")


def value_copy(value: Value) -> str:
    """An expression that gives a value another name."""
    return f"freeze {value.type} {value.text}"


def repeated(e: Emitter, at: str, kind: str) -> Value:
    """Four numbers (or exponents) of a fast record, over and over."""
    t = element_type(kind)
    four = e.let(f"load <4 x {t}>, ptr {at}, align 2")
    order = ", ".join(f"i32 {lane % QUAD}" for lane in range(LANES))
    return Value(e, e.let(f"shufflevector <4 x {t}> {four}, <4 x {t}> poison, <32 x i32> <{order}>"), kind)


def table(module: Module, values) -> str:
    """A constant table of i32 in a module."""
    content = ", ".join(f"i32 {v}" for v in values)
    known = module.globals
    if content not in known:
        known[content] = f"@table{len(known)} = private constant [{len(values)} x i32] [{content}], align 64"
    return known[content].partition(" ")[0]

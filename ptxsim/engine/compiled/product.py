"""Native matrix products: fused dot products of f16, bf16 and tf32 with f32 accumulators (numerics.fused).

One helper function for each form and target. It spreads the fragments into matrices, meets all columns of a row at once, and
works in f32 and i32: products are exact, scaling by 2^(F - largest exponent) is exact or loses what is cut anyway, and
the conversion to integers is the cut toward zero. Infinities, NaN and extreme exponents are none of its business: it says so,
and the interpreter computes that product.
"""

from __future__ import annotations

from ptxsim.engine.compiled.emitter import Emitter, Module
from ptxsim.engine.compiled.value import Value, element_type
from ptxsim.layout.fragments import Fragment
from ptxsim.machine.tensor import Product
from ptxsim.types import TYPES

ZERO = -8000  # exponent of a zero: a sum with any other stays below every exponent that counts
LOWEST, HIGHEST = -100, 125


def supported(product: Product) -> bool:
    """Whether a product has a native form."""
    rule, form = product.rule, product.form
    return (
        rule.algorithm == "fused" and product.sparsity is None and product.numerics == "target" and not form.satfinite
        and form.a == form.b and form.a in ("f16", "bf16", "tf32") and (form.c, form.d) == ("f32", "f32")
        and rule.accumulator == "f32" and rule.length <= 16 and form.k % rule.length == 0 and form.n in (8, 16, 32)
        and len(product.a.shape) == 2
    )  # fmt: skip


def describe(product: Product) -> tuple:
    """What a helper depends on, and what `text` makes it of."""
    rule, form = product.rule, product.form
    return (
        "product", form.m, form.n, form.k, form.a, rule.length, rule.fraction, rule.zero_exponent,
        [_index(f) for f in (product.a, product.b, product.c)], _back(product.d),
    )  # fmt: skip


def _index(fragment: Fragment) -> list[list[int]]:
    """For every matrix place, row-major: the word (register * 32 + lane), and the shift inside it."""
    word, shift = fragment.gather_index
    return [word.tolist(), shift.tolist()]


def _back(fragment: Fragment) -> list[int]:
    """For every word of the result, the matrix place it holds."""
    places, _ = fragment.scatter_index
    return places[:, 0, :].ravel().tolist()


def text(name: str, description: tuple, module: Module) -> str:
    """The IR of a helper: i1 @name(ptr words of A, ptr words of B, ptr words of C, ptr words of D)."""
    return _Writer(name, description, module).text()


class _Writer:
    def __init__(self, name: str, description: tuple, module: Module):
        _, self.m, self.n, self.k, self.type, self.length, self.fraction, self.zero, index, self.back = description
        self.name, self.module = name, module
        self.index = dict(zip("abc", index))
        self.e = Emitter(module, self.n)
        self.loops = 0

    def text(self) -> str:
        e, m, n, k = self.e, self.m, self.n, self.k
        a, ae = self._room(m * k, "float"), self._room(m * k, "i32")
        b, be = self._room(k * n, "float"), self._room(k * n, "i32")
        d, bad = self._room(m * n, "float"), e.room("i32")
        e.line(f"  store i32 0, ptr {bad}")
        self._spread("%a", "a", a, ae, bad, m * k)
        self._spread("%b", "b", b, be, bad, k * n)
        self._spread("%c", "c", d, None, bad, m * n)
        self._rows(a, ae, b, be, d, bad)
        failed = e.let(f"icmp ne i32 {e.let(f'load i32, ptr {bad}')}, 0")
        e.line(f"  br i1 {failed}, label %give.up, label %finish")
        e.label("give.up")
        e.line("  ret i1 false")
        e.label("finish")
        self._collect(d)
        e.line("  ret i1 true")
        return (
            f"define i1 @{self.name}(ptr %a, ptr %b, ptr %c, ptr %d) #0 {{\nentry:\n"
            + "\n".join([*e.rooms, *e.lines])
            + "\n}\n"
        )

    def _room(self, count: int, t: str) -> str:
        return self.e.room(f"[{count} x {t}]")

    def _table(self, values: list[int]) -> str:
        """A constant table of i32."""
        content = ", ".join(f"i32 {v}" for v in values)
        globals_ = self.module.globals
        if content not in globals_:
            globals_[content] = f"@index{len(globals_)} = private constant [{len(values)} x i32] [{content}], align 64"
        return globals_[content].partition(" ")[0]

    def _loop(self, count: int, step: int = 1) -> tuple[str, str]:
        """Begin a loop over 0, step, ... below count; returns the counter (i64) and the loop's name for _end."""
        e = self.e
        self.loops += 1
        name = f"loop{self.loops}"
        e.line(f"  br label %{name}.start")
        e.label(f"{name}.start")
        e.line(f"  br label %{name}")
        e.label(name)
        e.line(f"  %{name}.i = phi i64 [ 0, %{name}.start ], [ %{name}.next, %{name}.end ]")
        self.bounds = {**getattr(self, "bounds", {}), name: (count, step)}
        return f"%{name}.i", name

    def _end(self, name: str) -> None:
        e, (count, step) = self.e, self.bounds[name]
        e.line(f"  br label %{name}.end")
        e.label(f"{name}.end")
        e.line(f"  %{name}.next = add i64 %{name}.i, {step}")
        more = e.let(f"icmp ult i64 %{name}.next, {count}")
        e.line(f"  br i1 {more}, label %{name}, label %{name}.done")
        e.label(f"{name}.done")

    def _at(self, base: str, index: str, size: int = 4) -> str:
        return self.e.let(f"getelementptr i8, ptr {base}, i64 {self.e.let(f'mul i64 {index}, {size}')}")

    def _vector(self, at: str, kind: str):
        return Value(self.e, self.e.let(f"load {self.e.vector(kind)}, ptr {at}, align 4"), kind)

    def _store(self, value, at: str) -> None:
        self.e.line(f"  store {value.type} {value.text}, ptr {at}, align 4")

    def _note(self, condition, bad: str) -> None:
        """Remember that a condition held in some lane."""
        e = self.e
        word = e.let(f"bitcast {condition.type} {condition.text} to i{e.lanes}")
        if e.lanes < 32:
            word = e.let(f"zext i{e.lanes} {word} to i32")
        before = e.let(f"load i32, ptr {bad}")
        e.line(f"  store i32 {e.let(f'or i32 {word}, {before}')}, ptr {bad}")

    def _spread(self, source: str, operand: str, values: str, exponents: str | None, bad: str, count: int) -> None:
        """A fragment's words as a matrix of f32 numbers, row-major, with their exponents."""
        e = self.e
        words, shifts = (self._table(t) for t in self.index[operand])
        i, loop = self._loop(count, self.n)
        index = self._vector(self._at(words, i), "u32")
        pointers = e.let(f"getelementptr i32, ptr {source}, {index.type} {index.text}")
        v = e.vector("u32")
        full = f"@llvm.masked.gather.v{self.n}i32.v{self.n}p0"
        self.module.declarations[full] = f"declare {v} {full}(<{self.n} x ptr>, <{self.n} x i1>, {v})"
        found = e.let(
            f"call {v} {full}(<{self.n} x ptr> align 4 {pointers}, <{self.n} x i1> splat (i1 true), {v} zeroinitializer)"
        )
        word = Value(e, found, "u32")
        kind = self.type if operand != "c" else "f32"
        if TYPES[kind].bits == 16:
            word = e.shift_right(word, self._vector(self._at(shifts, i), "u32")) & 0xFFFF
            half = e.convert(word, "u16")
            number = e.convert(Value(e, half.text, kind), "f32")
        else:
            number = e.bits(word & 0xFFFFE000 if kind == "tf32" else word, "f32")
        self._store(number, self._at(values, i))
        bits = e.bits(number, "u32")
        field = bits >> 23 & 255
        self._note(field == 255, bad)
        if exponents is not None:
            smallest = 1 - TYPES[kind].bias
            exponent = e.maximum(e.bits(field, "s32") - 127, smallest)
            self._store(e.where((bits & 0x7FFFFFFF) == 0, ZERO, exponent), self._at(exponents, i))
        self._end(loop)

    def _scalar(self, base: str, index: str, kind: str):
        """One element in every lane."""
        e, t = self.e, element_type(kind)
        first = e.let(f"load {t}, ptr {self._at(base, index)}, align 4")
        one = e.let(f"insertelement {e.vector(kind)} poison, {t} {first}, i64 0")
        return Value(
            e,
            e.let(f"shufflevector {e.vector(kind)} {one}, {e.vector(kind)} poison, <{self.n} x i32> zeroinitializer"),
            kind,
        )

    def _rows(self, a: str, ae: str, b: str, be: str, d: str, bad: str) -> None:
        """d += a * b, row after row, block after block."""
        e = self.e
        for start in range(0, self.k, self.length):
            row, loop = self._loop(self.m)
            first = e.let(f"add i64 {e.let(f'mul i64 {row}, {self.k}')}, {start}")
            at = self._at(d, row, 4 * self.n)
            c = self._vector(at, "f32")
            steps = [(start + i, e.let(f"add i64 {first}, {i}")) for i in range(self.length)]
            largest = e.splat(ZERO, "s32")
            for k, index in steps:
                sum_ = self._scalar(ae, index, "s32") + self._vector(self._at(be, str(k * self.n)), "s32")
                largest = e.maximum(largest, sum_)
            self._block(a, b, steps, c, largest, at, bad)
            self._end(loop)

    def _block(self, a: str, b: str, steps, c, largest, at: str, bad: str) -> None:
        e = self.e
        word = e.bits(c, "u32")
        magnitude = word & 0x7FFFFFFF
        nothing = largest <= ZERO // 2
        own = e.where(magnitude == 0, ZERO, e.bits(magnitude >> 23, "s32") - 127)
        top = e.maximum(largest, own)
        zero = top <= ZERO // 2  # every term is a zero: +0, unless c is -0
        unusual = (top < LOWEST) & ~zero | (top > HIGHEST) | (magnitude >= 0x7F800000)
        self._note(unusual | nothing & (word == 0x80000000), bad)
        top = e.maximum(e.minimum(top, HIGHEST), LOWEST)
        scale = e.bits(e.bits(127 + self.fraction - top, "u32") << 23, "f32")
        total = e.splat(0, "s32")
        for k, index in steps:
            product = self._scalar(a, index, "f32") * self._vector(self._at(b, str(k * self.n)), "f32")
            total = total + self._cut(product * scale)
        sum_ = e.convert(self._frozen(total), "f64") + e.convert(self._frozen(self._cut(c * scale)), "f64")
        back = e.bits(e.bits(e.convert(top, "s64") + (1023 - self.fraction), "u64") << 52, "f64")
        exact = sum_ * back
        nearest = e.convert(exact, "f32")
        size = e.absolute(exact)
        beyond = (e.absolute(e.convert(nearest, "f64")) > size) & (size < 2.0**128)
        result = e.bits(nearest, "u32") - e.convert(beyond, "u32")
        result = e.where((result & 0x7FFFFFFF) == 0, 0, result)
        self._store(e.bits(result, "f32"), at)

    def _cut(self, x):
        """f32 to i32 toward zero. Anything for numbers out of range, of which the exponents have already told."""
        return self.e.pure(f"fptosi {x.type} {x.text} to {self.e.vector('s32')}", "s32")

    def _frozen(self, x):
        return self.e.pure(f"freeze {x.type} {x.text}", x.kind)

    def _collect(self, d: str) -> None:
        """The matrix as the words of the fragment."""
        e = self.e
        table = self._table(self.back)
        i, loop = self._loop(len(self.back), self.n)
        index = self._vector(self._at(table, i), "u32")
        pointers = e.let(f"getelementptr i32, ptr {d}, {index.type} {index.text}")
        v = e.vector("u32")
        full = f"@llvm.masked.gather.v{self.n}i32.v{self.n}p0"
        found = e.let(
            f"call {v} {full}(<{self.n} x ptr> align 4 {pointers}, <{self.n} x i1> splat (i1 true), {v} zeroinitializer)"
        )
        e.line(f"  store {v} {found}, ptr {self._at('%d', i)}, align 4")
        self._end(loop)

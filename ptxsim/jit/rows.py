"""What bodies ask about rows of 32-bit numbers, and of memory: vector instructions in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.jit.body import Array
from ptxsim.jit.expressions import Expressions, Operation
from ptxsim.jit.kinds import INT, Known, Several, Value
from ptxsim.jit.kinds import Array as ArrayKind
from ptxsim.lanes import LANES


def _each(header: str, sixteen: str, one: str, before: str = "") -> str:
    """IR of a function over a row of 32-bit numbers: what is done with 16 from number %i on, as long as there are so many, and with number %j."""
    return f"""\
define internal void {header} {{
entry:{before}
  %whole = and i64 %size, -16
  br label %many
many:
  %i = phi i64 [ 0, %entry ], [ %next, %vector ]
  %more = icmp ult i64 %i, %whole
  br i1 %more, label %vector, label %few
vector:
  %p = getelementptr i32, ptr %row, i64 %i{sixteen}
  %next = add i64 %i, 16
  br label %many
few:
  %j = phi i64 [ %whole, %many ], [ %after, %one ]
  %rest = icmp ult i64 %j, %size
  br i1 %rest, label %one, label %out
one:
  %s = getelementptr i32, ptr %row, i64 %j{one}
  %after = add i64 %j, 1
  br label %few
out:
  ret void
}}
"""


_RAISE = _each("@raise_row(ptr %row, ptr %other, i64 %size)", """
  %q = getelementptr i32, ptr %other, i64 %i
  %a = load <16 x i32>, ptr %p, align 4
  %b = load <16 x i32>, ptr %q, align 4
  %c = call <16 x i32> @llvm.smax.v16i32(<16 x i32> %a, <16 x i32> %b)
  store <16 x i32> %c, ptr %p, align 4""", """
  %t = getelementptr i32, ptr %other, i64 %j
  %u = load i32, ptr %s, align 4
  %v = load i32, ptr %t, align 4
  %w = call i32 @llvm.smax.i32(i32 %u, i32 %v)
  store i32 %w, ptr %s, align 4""")  # fmt: skip
_FILL = _each("@fill_row(ptr %row, i64 %size, i32 %number)", """
  store <16 x i32> %all, ptr %p, align 4""", """
  store i32 %number, ptr %s, align 4""", """
  %first = insertelement <16 x i32> poison, i32 %number, i64 0
  %all = shufflevector <16 x i32> %first, <16 x i32> poison, <16 x i32> zeroinitializer""")  # fmt: skip
_ROWS = f"""
declare <16 x i32> @llvm.smax.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.smin.v16i32(<16 x i32>, <16 x i32>)
declare i32 @llvm.vector.reduce.smin.v16i32(<16 x i32>)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
{_RAISE}{_FILL}define internal i64 @lowest_of_row(ptr %row, i64 %size) {{
entry:
  br label %many
many:
  %i = phi i64 [ 0, %entry ], [ %next, %vector ]
  %low = phi <16 x i32> [ splat (i32 2147483647), %entry ], [ %lower, %vector ]
  %next = add i64 %i, 16
  %more = icmp ule i64 %next, %size
  br i1 %more, label %vector, label %done
vector:
  %p = getelementptr i32, ptr %row, i64 %i
  %a = load <16 x i32>, ptr %p, align 4
  %lower = call <16 x i32> @llvm.smin.v16i32(<16 x i32> %low, <16 x i32> %a)
  br label %many
done:
  %first = call i32 @llvm.vector.reduce.smin.v16i32(<16 x i32> %low)
  br label %few
few:
  %j = phi i64 [ %i, %done ], [ %after, %one ]
  %least = phi i32 [ %first, %done ], [ %less, %one ]
  %rest = icmp ult i64 %j, %size
  br i1 %rest, label %one, label %out
one:
  %q = getelementptr i32, ptr %row, i64 %j
  %b = load i32, ptr %q, align 4
  %less = call i32 @llvm.smin.i32(i32 %least, i32 %b)
  %after = add i64 %j, 1
  br label %few
out:
  %found = sext i32 %least to i64
  ret i64 %found
}}
"""


def _row(at: Expressions, given: Value | Known) -> str:
    """The address of a row of 32-bit numbers."""
    wanted = (np.dtype(np.int32), 1, False)
    if isinstance(given, Known) or not isinstance(given.kind, ArrayKind):
        at.refuse("a row is expected")
    if (given.kind.dtype, len(given.kind.shape), given.kind.strided) != wanted:
        at.refuse("a row of 32-bit numbers side by side is expected")
    at.unit.declare("rows", _ROWS)
    return given.parts[0]


def _part(at: Expressions, row: Value | Known, first: Value | Known, end: Value | Known) -> tuple[str, str]:
    """Where some numbers of a row begin, and how many they are."""
    start, stop = (at.convert(each, INT).parts[0] for each in (first, end))
    return at.let(f"getelementptr i32, ptr {_row(at, row)}, i64 {start}"), at.let(f"sub i64 {stop}, {start}")


class _RaiseTo(Operation):
    """`raise_to(mine, theirs)`: each number of a row becomes the larger one of two rows."""

    def __call__(self, mine: Array, theirs: Array) -> None:
        np.maximum(mine, theirs, out=mine)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        mine, theirs = (_row(at, each) for each in arguments)
        size = at.sizes(at.value(arguments[0]))[0]
        at.do(f"call void @raise_row(ptr {mine}, ptr {theirs}, i64 {size})")
        return Value(Several(()), ())


class _LowestOf(Operation):
    """`lowest_of(row, first, end)`: the lowest number from the first one to before the last."""

    def __call__(self, row: Array, first: int, end: int) -> int:
        return int(row[first:end].min())

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        start, size = _part(at, *arguments)
        return Value(INT, (at.let(f"call i64 @lowest_of_row(ptr {start}, i64 {size})"),))


class _Fill(Operation):
    """`fill(row, first, end, number)`: numbers of a row, from the first one to before the last."""

    def __call__(self, row: Array, first: int, end: int, number: int) -> None:
        row[first:end] = number

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        start, size = _part(at, *arguments[:3])
        number = at.convert(arguments[3], INT).parts[0]
        at.do(f"call void @fill_row(ptr {start}, i64 {size}, i32 {at.let(f'trunc i64 {number} to i32')})")
        return Value(Several(()), ())


class _LowerThan(Operation):
    """`lower_than(row, first, number)`: which of the numbers from the first one on, one for each lane, are lower; as a mask."""

    def __call__(self, row: Array, first: int, number: int) -> int:
        return sum(1 << lane for lane in range(LANES) if int(row[first + lane]) < number)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        row, (first, number) = _row(at, arguments[0]), (at.convert(each, INT).parts[0] for each in arguments[1:])
        vector = f"<{LANES} x i32>"
        found = at.let(f"load {vector}, ptr {at.let(f'getelementptr i32, ptr {row}, i64 {first}')}, align 4")
        one = at.let(f"insertelement {vector} poison, i32 {at.let(f'trunc i64 {number} to i32')}, i64 0")
        given = at.let(f"shufflevector {vector} {one}, {vector} poison, <{LANES} x i32> zeroinitializer")
        word = at.let(f"bitcast <{LANES} x i1> {at.let(f'icmp slt {vector} {found}, {given}')} to i{LANES}")
        return Value(INT, (at.let(f"zext i{LANES} {word} to i64"),))


class _NewIn(Operation):
    """`new_in(mine, theirs, first)`: which of the numbers of a row from the first one on, one for each lane, are neither 0 nor what the other row
    has there; as a mask."""

    def __call__(self, mine: Array, theirs: Array, first: int) -> int:
        return sum(1 << lane for lane in range(LANES) if int(theirs[first + lane]) not in (0, int(mine[first + lane])))

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        vector, first = f"<{LANES} x i32>", at.convert(arguments[2], INT).parts[0]
        rows = [at.let(f"getelementptr i32, ptr {_row(at, each)}, i64 {first}") for each in arguments[:2]]
        mine, theirs = (at.let(f"load {vector}, ptr {row}, align 4") for row in rows)
        some, other = (
            at.let(f"icmp ne {vector} {theirs}, zeroinitializer"),
            at.let(f"icmp ne {vector} {theirs}, {mine}"),
        )
        word = at.let(f"bitcast <{LANES} x i1> {at.let(f'and <{LANES} x i1> {some}, {other}')} to i{LANES}")
        return Value(INT, (at.let(f"zext i{LANES} {word} to i64"),))


class _Fetch(Operation):
    """`fetch(place)`: bring a record, or a row's first numbers, near the processor, since they are needed soon."""

    def __call__(self, place: Any) -> None: ...

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        at.unit.declare("prefetch", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        at.do(f"call void @llvm.prefetch.p0(ptr {at.value(arguments[0]).parts[0]}, i32 1, i32 3, i32 1)")
        return Value(Several(()), ())


raise_to, lowest_of, fill, lower_than, new_in = _RaiseTo(), _LowestOf(), _Fill(), _LowerThan(), _NewIn()
fetch = _Fetch()

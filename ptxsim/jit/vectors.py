"""What bodies ask about the numbers of all lanes at once: vector instructions in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.jit.body import Array
from ptxsim.jit.expressions import Expressions, Operation
from ptxsim.jit.kinds import BOOL, INT, Known, Several, Value
from ptxsim.jit.kinds import Array as ArrayKind
from ptxsim.lanes import LANES

_VECTOR = f"<{LANES} x i64>"
_NUMBERS = "<" + ", ".join(f"i64 {lane}" for lane in range(LANES)) + ">"


class _AreInSteps(Operation):
    """`are_in_steps(numbers, lanes, start, step)`: whether each of some lanes has the number start + lane * step."""

    def __call__(self, numbers: Array, lanes: int, start: int, step: int) -> bool:
        wanted = [(start + lane * step) & 0xFFFFFFFFFFFFFFFF for lane in range(LANES)]
        return all(int(numbers[lane]) == wanted[lane] for lane in range(LANES) if lanes >> lane & 1)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, *rest = arguments
        lanes, start, step = (at.convert(each, INT).parts[0] for each in rest)
        found = _loaded(at, numbers)
        steps = at.let(f"mul {_VECTOR} {_spread(at, step)}, {_NUMBERS}")
        wanted = at.let(f"add {_VECTOR} {_spread(at, start)}, {steps}")
        differ = at.let(f"icmp ne {_VECTOR} {found}, {wanted}")
        word = at.let(
            f"and i32 {at.let(f'bitcast <{LANES} x i1> {differ} to i32')}, {at.let(f'trunc i64 {lanes} to i32')}"
        )
        return Value(BOOL, (at.let(f"icmp eq i32 {word}, 0"),))


def _place(at: Expressions, numbers: Value | Known) -> str:
    """Where the numbers of all lanes stand."""
    if isinstance(numbers, Known) or numbers.kind != ArrayKind(np.dtype(np.uint64), (LANES,)):
        at.refuse(f"the numbers of {LANES} lanes are expected")
    return numbers.parts[0]


def _loaded(at: Expressions, numbers: Value | Known) -> str:
    return at.let(f"load {_VECTOR}, ptr {_place(at, numbers)}, align 8")


def _spread(at: Expressions, number: str) -> str:
    one = at.let(f"insertelement {_VECTOR} poison, i64 {number}, i64 0")
    return at.let(f"shufflevector {_VECTOR} {one}, {_VECTOR} poison, <{LANES} x i32> zeroinitializer")


class _LanesBetween(Operation):
    """`lanes_between(numbers, lanes, first, last)`: those of some lanes whose numbers are `first` to `last`."""

    def __call__(self, numbers: Array, lanes: int, first: int, last: int) -> int:
        return sum(1 << lane for lane in range(LANES) if lanes >> lane & 1 and first <= int(numbers[lane]) <= last)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, *rest = arguments
        lanes, first, last = (at.convert(each, INT).parts[0] for each in rest)
        found = _loaded(at, numbers)
        beyond = at.let(f"sub {_VECTOR} {found}, {_spread(at, first)}")
        most = _spread(at, at.let(f"sub i64 {last}, {first}"))
        word = at.let(f"bitcast <{LANES} x i1> {at.let(f'icmp ule {_VECTOR} {beyond}, {most}')} to i{LANES}")
        return Value(INT, (at.let(f"and i64 {at.let(f'zext i{LANES} {word} to i64')}, {lanes}"),))


class _BlocksOf(Operation):
    """`blocks_of(numbers, lanes, size, shift)`: which blocks of 1 << shift numbers lanes touch that have `size` numbers each.

    The first block, those from there on as the bits of 64, and the lanes of which all are among these.
    """

    def __call__(self, numbers: Array, lanes: int, size: int, shift: int) -> tuple[int, int, int]:
        first = min(int(numbers[lane]) for lane in range(LANES) if lanes >> lane & 1) >> shift
        found, inside = 0, 0
        for lane in range(LANES):
            if lanes >> lane & 1:
                low, high = int(numbers[lane]) >> shift, int(numbers[lane]) + size - 1 >> shift
                if high - first < 64:
                    found |= 1 << low - first | 1 << high - first
                    inside |= 1 << lane
        return first, found - (found >> 63 << 64), inside

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, *rest = arguments
        lanes, size, shift = (at.convert(each, INT).parts[0] for each in rest)
        at.unit.declare("blocks", _BLOCKS)

        def reduced(how: str, vector: str) -> str:
            return at.let(f"call i64 @llvm.vector.reduce.{how}.v{LANES}i64({_VECTOR} {vector})")

        mask = at.let(f"bitcast i32 {at.let(f'trunc i64 {lanes} to i32')} to <{LANES} x i1>")
        given = _loaded(at, numbers)
        by, one = _spread(at, shift), _spread(at, "1")
        low = at.let(f"lshr {_VECTOR} {given}, {by}")
        more = at.let(f"add {_VECTOR} {given}, {_spread(at, at.let(f'sub i64 {size}, 1'))}")
        high = at.let(f"lshr {_VECTOR} {more}, {by}")
        where = at.let(f"select <{LANES} x i1> {mask}, {_VECTOR} {low}, {_VECTOR} {_spread(at, str((1 << 63) - 1))}")
        first = reduced("smin", where)
        base = _spread(at, first)
        low, high = at.let(f"sub {_VECTOR} {low}, {base}"), at.let(f"sub {_VECTOR} {high}, {base}")
        near = at.let(f"icmp ult {_VECTOR} {high}, {_spread(at, '64')}")
        inside = at.let(f"and <{LANES} x i1> {near}, {mask}")
        ends = [at.let(f"and {_VECTOR} {each}, {_spread(at, '63')}") for each in (low, high)]
        bits = [at.let(f"shl {_VECTOR} {one}, {each}") for each in ends]
        both = at.let(f"or {_VECTOR} {bits[0]}, {bits[1]}")
        found = reduced("or", at.let(f"select <{LANES} x i1> {inside}, {_VECTOR} {both}, {_VECTOR} zeroinitializer"))
        word = at.let(f"zext i32 {at.let(f'bitcast <{LANES} x i1> {inside} to i32')} to i64")
        return Value(Several((INT, INT, INT)), (first, found, word))


_BLOCKS = f"""
declare i64 @llvm.vector.reduce.smin.v{LANES}i64({_VECTOR})
declare i64 @llvm.vector.reduce.or.v{LANES}i64({_VECTOR})
"""


class _MeetOthers(Operation):
    """`meet_others(mine, lanes, size, theirs, others, sizes)`: whether of `size` numbers from mine[lane] on, of some lanes, any is among
    the `sizes` numbers from theirs[other] on, of an other lane."""

    def __call__(self, mine: Array, lanes: int, size: int, theirs: Array, others: int, sizes: int) -> bool:
        return any(
            -sizes < int(theirs[other]) - int(mine[lane]) < size
            for lane in range(LANES) if lanes >> lane & 1
            for other in range(LANES) if others >> other & 1 and other != lane
        )  # fmt: skip

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        given = []
        for number, each in enumerate(arguments):
            if number % 3:
                given.append(f"i64 {at.convert(each, INT).parts[0]}")
            else:
                given.append(f"ptr {_place(at, each)}")
        at.unit.declare("meet", _MEET)
        return Value(BOOL, (at.let(f"call i1 @meet({', '.join(given)})"),))


def _all(number: str, name: str) -> str:
    """IR of a vector of one number."""
    return f"""
  %{name}.one = insertelement {_VECTOR} poison, i64 {number}, i64 0
  %{name} = shufflevector {_VECTOR} %{name}.one, {_VECTOR} poison, <{LANES} x i32> zeroinitializer"""


_MEET = f"""
define internal i1 @meet(ptr %mine, i64 %lanes, i64 %size, ptr %theirs, i64 %others, i64 %sizes) {{
entry:
  %all = load {_VECTOR}, ptr %theirs, align 8
  %before = sub i64 %sizes, 1
  %span = add i64 %before, %size{_all("%before", "back")}{_all("%span", "room")}
  %ends = add {_VECTOR} %all, %back
  br label %next
next:
  %lane = phi i64 [ 0, %entry ], [ %after, %next ]
  %found = phi i64 [ 0, %entry ], [ %more, %next ]
  %place = getelementptr i64, ptr %mine, i64 %lane
  %start = load i64, ptr %place, align 8{_all("%start", "from")}
  %apart = sub {_VECTOR} %ends, %from
  %meets = icmp ult {_VECTOR} %apart, %room
  %word = bitcast <{LANES} x i1> %meets to i{LANES}
  %bits = zext i{LANES} %word to i64
  %own = shl i64 1, %lane
  %not = xor i64 %own, -1
  %other = and i64 %bits, %not
  %there = and i64 %lanes, %own
  %is = icmp ne i64 %there, 0
  %new = select i1 %is, i64 %other, i64 0
  %more = or i64 %found, %new
  %after = add i64 %lane, 1
  %go = icmp ult i64 %after, {LANES}
  br i1 %go, label %next, label %out
out:
  %those = and i64 %more, %others
  %some = icmp ne i64 %those, 0
  ret i1 %some
}}
"""
are_in_steps, lanes_between = _AreInSteps(), _LanesBetween()
blocks_of, meet_others = _BlocksOf(), _MeetOthers()


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


class _Fetch(Operation):
    """`fetch(place)`: bring a record, or a row's first numbers, near the processor, since they are needed soon."""

    def __call__(self, place: Any) -> None: ...

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        at.unit.declare("prefetch", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        at.do(f"call void @llvm.prefetch.p0(ptr {at.value(arguments[0]).parts[0]}, i32 1, i32 3, i32 1)")
        return Value(Several(()), ())


raise_to, lowest_of, fill, lower_than = _RaiseTo(), _LowestOf(), _Fill(), _LowerThan()
fetch = _Fetch()

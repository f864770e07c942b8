"""What bodies ask about the numbers of all lanes at once: vector instructions in compiled code."""

from __future__ import annotations

import numpy as np

from ptxsim.jit.body import Array, Numbers
from ptxsim.jit.expressions import Expressions, Operation
from ptxsim.jit.kinds import BOOL, INT, Known, Several, Value
from ptxsim.jit.kinds import Array as ArrayKind
from ptxsim.lanes import LANES

FAR = 1 << 62  # beyond every address
VECTOR = f"<{LANES} x i64>"
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
        steps = at.let(f"mul {VECTOR} {_spread(at, step)}, {_NUMBERS}")
        wanted = at.let(f"add {VECTOR} {_spread(at, start)}, {steps}")
        differ = at.let(f"icmp ne {VECTOR} {found}, {wanted}")
        word = at.let(
            f"and i32 {at.let(f'bitcast <{LANES} x i1> {differ} to i32')}, {at.let(f'trunc i64 {lanes} to i32')}"
        )
        return Value(BOOL, (at.let(f"icmp eq i32 {word}, 0"),))


class _AreMoved(Operation):
    """`are_moved(numbers, others, distance)`: whether each lane's number is the other one plus a distance."""

    def __call__(self, numbers: Array, others: Array, distance: int) -> bool:
        return all((int(numbers[lane]) - int(others[lane]) - distance) % 2**64 == 0 for lane in range(LANES))

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, others, distance = arguments
        given = at.convert(distance, INT).parts[0]
        wanted = at.let(f"add {VECTOR} {_loaded(at, others)}, {_spread(at, given)}")
        differ = at.let(f"icmp ne {VECTOR} {_loaded(at, numbers)}, {wanted}")
        word = at.let(f"bitcast <{LANES} x i1> {differ} to i{LANES}")
        return Value(BOOL, (at.let(f"icmp eq i{LANES} {word}, 0"),))


class _MostBits(Operation):
    """`most_bits(numbers)`: the most bits that any lane's number has."""

    def __call__(self, numbers: Numbers) -> int:
        return max((int(number) % 2**64).bit_count() for number in numbers)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        at.unit.declare("most bits", _MOST_BITS)
        counts = at.let(f"call {VECTOR} @llvm.ctpop.v{LANES}i64({VECTOR} {_loaded(at, arguments[0])})")
        return Value(INT, (at.let(f"call i64 @llvm.vector.reduce.umax.v{LANES}i64({VECTOR} {counts})"),))


_MOST_BITS = f"""
declare {VECTOR} @llvm.ctpop.v{LANES}i64({VECTOR})
declare i64 @llvm.vector.reduce.umax.v{LANES}i64({VECTOR})
"""


def place_of(at: Expressions, numbers: Value | Known) -> str:
    """Where the numbers of all lanes stand."""
    if isinstance(numbers, Known) or numbers.kind not in _OF_LANES:
        at.refuse(f"the numbers of {LANES} lanes are expected")
    return numbers.parts[0]


_OF_LANES = [ArrayKind(np.dtype(kind), (LANES,)) for kind in (np.uint64, np.int64)]


def _loaded(at: Expressions, numbers: Value | Known) -> str:
    return at.let(f"load {VECTOR}, ptr {place_of(at, numbers)}, align 8")


def _spread(at: Expressions, number: str) -> str:
    one = at.let(f"insertelement {VECTOR} poison, i64 {number}, i64 0")
    return at.let(f"shufflevector {VECTOR} {one}, {VECTOR} poison, <{LANES} x i32> zeroinitializer")


class _LanesBetween(Operation):
    """`lanes_between(numbers, lanes, first, last)`: those of some lanes whose numbers are `first` to `last`."""

    def __call__(self, numbers: Array, lanes: int, first: int, last: int) -> int:
        return sum(1 << lane for lane in range(LANES) if lanes >> lane & 1 and first <= int(numbers[lane]) <= last)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, *rest = arguments
        lanes, first, last = (at.convert(each, INT).parts[0] for each in rest)
        found = _loaded(at, numbers)
        beyond = at.let(f"sub {VECTOR} {found}, {_spread(at, first)}")
        most = _spread(at, at.let(f"sub i64 {last}, {first}"))
        word = at.let(f"bitcast <{LANES} x i1> {at.let(f'icmp ule {VECTOR} {beyond}, {most}')} to i{LANES}")
        return Value(INT, (at.let(f"and i64 {at.let(f'zext i{LANES} {word} to i64')}, {lanes}"),))


def all_lanes(number: str, name: str) -> str:
    """IR of a vector of one number."""
    return f"""
  %{name}.one = insertelement {VECTOR} poison, i64 {number}, i64 0
  %{name} = shufflevector {VECTOR} %{name}.one, {VECTOR} poison, <{LANES} x i32> zeroinitializer"""


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
                given.append(f"ptr {place_of(at, each)}")
        at.unit.declare("meet", _MEET)
        return Value(BOOL, (at.let(f"call i1 @meet({', '.join(given)})"),))


_MEET = f"""
define internal i1 @meet(ptr %mine, i64 %lanes, i64 %size, ptr %theirs, i64 %others, i64 %sizes) {{
entry:
  %all = load {VECTOR}, ptr %theirs, align 8
  %before = sub i64 %sizes, 1
  %span = add i64 %before, %size{all_lanes("%before", "back")}{all_lanes("%span", "room")}
  %ends = add {VECTOR} %all, %back
  br label %next
next:
  %lane = phi i64 [ 0, %entry ], [ %after, %next ]
  %found = phi i64 [ 0, %entry ], [ %more, %next ]
  %place = getelementptr i64, ptr %mine, i64 %lane
  %start = load i64, ptr %place, align 8{all_lanes("%start", "from")}
  %apart = sub {VECTOR} %ends, %from
  %meets = icmp ult {VECTOR} %apart, %room
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


class _Different(Operation):
    """`different(numbers, lanes, shift)`: how many different numbers >> shift some lanes have."""

    def __call__(self, numbers: Numbers, lanes: int, shift: int) -> int:
        return len({int(numbers[lane]) >> shift for lane in range(LANES) if lanes >> lane & 1})

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, *rest = arguments
        lanes, shift = (at.convert(each, INT).parts[0] for each in rest)
        at.unit.declare("different", _DIFFERENT)
        return Value(INT, (at.let(f"call i64 @different(ptr {place_of(at, numbers)}, i64 {lanes}, i64 {shift})"),))


# A lane counts if none before it has its number. Where all numbers agree in their upper halves, which is looked at first, the lower ones are
# compared, which takes half the instructions.
_DIFFERENT = (
    "".join(
        f"""
define internal i64 @different.{bits}(ptr %numbers, <{LANES} x i{bits}> %all, i64 %lanes, i64 %shift) {{
entry:
  %word = trunc i64 %lanes to i{LANES}
  br label %next
next:
  %lane = phi i{LANES} [ 0, %entry ], [ %after, %next ]
  %count = phi i64 [ 0, %entry ], [ %more, %next ]
  %place = getelementptr i64, ptr %numbers, i{LANES} %lane
  %number = load i64, ptr %place, align 8
  %shifted = lshr i64 %number, %shift
  %own = {narrow} %shifted{to}
  %one = insertelement <{LANES} x i{bits}> poison, i{bits} %own, i64 0
  %same = shufflevector <{LANES} x i{bits}> %one, <{LANES} x i{bits}> poison, <{LANES} x i32> zeroinitializer
  %equal = icmp eq <{LANES} x i{bits}> %all, %same
  %found = bitcast <{LANES} x i1> %equal to i{LANES}
  %bit = shl i{LANES} 1, %lane
  %below = sub i{LANES} %bit, 1
  %before = and i{LANES} %found, %below
  %there = and i{LANES} %before, %word
  %active = and i{LANES} %word, %bit
  %is.first = icmp eq i{LANES} %there, 0
  %is.active = icmp ne i{LANES} %active, 0
  %counts = and i1 %is.first, %is.active
  %as.number = zext i1 %counts to i64
  %more = add i64 %count, %as.number
  %after = add i{LANES} %lane, 1
  %go = icmp ult i{LANES} %after, {LANES}
  br i1 %go, label %next, label %out
out:
  ret i64 %more
}}
"""
        for bits, narrow, to in ((32, "trunc i64", " to i32"), (64, "add i64", ", 0"))
    )
    + f"""
define internal i64 @different(ptr %numbers, i64 %lanes, i64 %shift) {{
entry:
  %given = load {VECTOR}, ptr %numbers, align 8{all_lanes("%shift", "by")}
  %shifted = lshr {VECTOR} %given, %by
  %upper = lshr {VECTOR} %shifted, splat (i64 32)
  %one = extractelement {VECTOR} %upper, i64 0{all_lanes("%one", "same")}
  %differ = icmp ne {VECTOR} %upper, %same
  %word = bitcast <{LANES} x i1> %differ to i{LANES}
  %alike = icmp eq i{LANES} %word, 0
  br i1 %alike, label %halves, label %wholes
halves:
  %half = trunc {VECTOR} %shifted to <{LANES} x i32>
  %few = call i64 @different.32(ptr %numbers, <{LANES} x i32> %half, i64 %lanes, i64 %shift)
  ret i64 %few
wholes:
  %many = call i64 @different.64(ptr %numbers, {VECTOR} %shifted, i64 %lanes, i64 %shift)
  ret i64 %many
}}
"""
)


class _Bounds(Operation):
    """`bounds(numbers, lanes)`: the lowest and the highest number of some lanes; (FAR, -1) of none. Numbers are below FAR."""

    def __call__(self, numbers: Numbers, lanes: int) -> tuple[int, int]:
        some = [int(numbers[lane]) for lane in range(LANES) if lanes >> lane & 1]
        return min(some, default=FAR), max(some, default=-1)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, lanes = arguments
        at.unit.declare("lowest", LOWEST)
        at.unit.declare("highest", _HIGHEST)
        word = at.let(f"trunc i64 {at.convert(lanes, INT).parts[0]} to i{LANES}")
        there, found = at.let(f"bitcast i{LANES} {word} to <{LANES} x i1>"), _loaded(at, numbers)
        low, high = (
            at.let(f"select <{LANES} x i1> {there}, {VECTOR} {found}, {VECTOR} splat (i64 {other})")
            for other in (FAR, -1)
        )
        parts = tuple(
            at.let(f"call i64 @llvm.vector.reduce.{which}.v{LANES}i64({VECTOR} {each})")
            for which, each in (("smin", low), ("smax", high))
        )
        return Value(Several((INT, INT)), parts)


LOWEST = f"declare i64 @llvm.vector.reduce.smin.v{LANES}i64({VECTOR})"
_HIGHEST = f"declare i64 @llvm.vector.reduce.smax.v{LANES}i64({VECTOR})"
are_in_steps, lanes_between, are_moved, most_bits = _AreInSteps(), _LanesBetween(), _AreMoved(), _MostBits()
meet_others, different, bounds = _MeetOthers(), _Different(), _Bounds()

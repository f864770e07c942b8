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
        at.unit.declare("lowest", _LOWEST)
        at.unit.declare("blocks", _BLOCKS)
        given = f"ptr {place_of(at, numbers)}, i64 {lanes}, i64 {size}, i64 {shift}"
        found = at.let(f"call {_BLOCKS_FOUND} @blocks({given})")
        parts = tuple(at.let(f"extractvalue {_BLOCKS_FOUND} {found}, {number}") for number in range(3))
        return Value(Several((INT, INT, INT)), parts)


def _all(number: str, name: str) -> str:
    """IR of a vector of one number."""
    return f"""
  %{name}.one = insertelement {VECTOR} poison, i64 {number}, i64 0
  %{name} = shufflevector {VECTOR} %{name}.one, {VECTOR} poison, <{LANES} x i32> zeroinitializer"""


_BLOCKS_FOUND = "{i64, i64, i64}"
# Mostly all lanes are in the block of the first of them, or in one that is next to it: then there is nothing to be put together.
_BLOCKS = f"""
declare i64 @llvm.vector.reduce.or.v{LANES}i64({VECTOR})
declare i64 @llvm.cttz.i64(i64, i1)
define internal {_BLOCKS_FOUND} @blocks(ptr %numbers, i64 %lanes, i64 %size, i64 %shift) {{
entry:
  %given = load {VECTOR}, ptr %numbers, align 8
  %word = trunc i64 %lanes to i{LANES}
  %mask = bitcast i{LANES} %word to <{LANES} x i1>
  %lane = call i64 @llvm.cttz.i64(i64 %lanes, i1 true)
  %place = getelementptr i64, ptr %numbers, i64 %lane
  %number = load i64, ptr %place, align 8
  %block = lshr i64 %number, %shift
  %start = shl i64 %block, %shift
  %whole = shl i64 1, %shift
  %room = sub i64 %whole, %size{_all("%start", "starts")}{_all("%room", "rooms")}{_all("%whole", "wholes")}
  %ahead = sub {VECTOR} %given, %starts
  %next = sub {VECTOR} %ahead, %wholes
  %last = add {VECTOR} %ahead, %wholes
  %in.first = icmp ule {VECTOR} %ahead, %rooms
  %in.next = icmp ule {VECTOR} %next, %rooms
  %in.last = icmp ule {VECTOR} %last, %rooms
  %firsts = bitcast <{LANES} x i1> %in.first to i{LANES}
  %nexts = bitcast <{LANES} x i1> %in.next to i{LANES}
  %lasts = bitcast <{LANES} x i1> %in.last to i{LANES}
  %first.next = or i{LANES} %firsts, %nexts
  %first.last = or i{LANES} %firsts, %lasts
  %not.next = xor i{LANES} %first.next, -1
  %not.last = xor i{LANES} %first.last, -1
  %beyond.next = and i{LANES} %not.next, %word
  %beyond.last = and i{LANES} %not.last, %word
  %is.next = icmp eq i{LANES} %beyond.next, 0
  %is.last = icmp eq i{LANES} %beyond.last, 0
  %is.one = or i1 %is.next, %is.last
  %fits = icmp sge i64 %room, 0
  %few = and i1 %is.one, %fits
  br i1 %few, label %same, label %several
same:
  %not.first = xor i{LANES} %firsts, -1
  %others = and i{LANES} %not.first, %word
  %alone = icmp eq i{LANES} %others, 0
  %bits = select i1 %alone, i64 1, i64 3
  %before = sub i64 %block, 1
  %lowest = select i1 %is.next, i64 %block, i64 %before
  %s1 = insertvalue {_BLOCKS_FOUND} poison, i64 %lowest, 0
  %s2 = insertvalue {_BLOCKS_FOUND} %s1, i64 %bits, 1
  %s3 = insertvalue {_BLOCKS_FOUND} %s2, i64 %lanes, 2
  ret {_BLOCKS_FOUND} %s3
several:{_all("%shift", "by")}{_all("%size", "sizes")}
  %low = lshr {VECTOR} %given, %by
  %ends = add {VECTOR} %given, %sizes
  %inner = sub {VECTOR} %ends, splat (i64 1)
  %high = lshr {VECTOR} %inner, %by
  %where = select <{LANES} x i1> %mask, {VECTOR} %low, {VECTOR} splat (i64 {(1 << 63) - 1})
  %first = call i64 @llvm.vector.reduce.smin.v{LANES}i64({VECTOR} %where){_all("%first", "base")}
  %lower = sub {VECTOR} %low, %base
  %higher = sub {VECTOR} %high, %base
  %near = icmp ult {VECTOR} %higher, splat (i64 64)
  %inside = and <{LANES} x i1> %near, %mask
  %lower.bit = and {VECTOR} %lower, splat (i64 63)
  %higher.bit = and {VECTOR} %higher, splat (i64 63)
  %lower.block = shl {VECTOR} splat (i64 1), %lower.bit
  %higher.block = shl {VECTOR} splat (i64 1), %higher.bit
  %both = or {VECTOR} %lower.block, %higher.block
  %touched = select <{LANES} x i1> %inside, {VECTOR} %both, {VECTOR} zeroinitializer
  %found = call i64 @llvm.vector.reduce.or.v{LANES}i64({VECTOR} %touched)
  %inside.word = bitcast <{LANES} x i1> %inside to i{LANES}
  %those = zext i{LANES} %inside.word to i64
  %t1 = insertvalue {_BLOCKS_FOUND} poison, i64 %first, 0
  %t2 = insertvalue {_BLOCKS_FOUND} %t1, i64 %found, 1
  %t3 = insertvalue {_BLOCKS_FOUND} %t2, i64 %those, 2
  ret {_BLOCKS_FOUND} %t3
}}
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
                given.append(f"ptr {place_of(at, each)}")
        at.unit.declare("meet", _MEET)
        return Value(BOOL, (at.let(f"call i1 @meet({', '.join(given)})"),))


_MEET = f"""
define internal i1 @meet(ptr %mine, i64 %lanes, i64 %size, ptr %theirs, i64 %others, i64 %sizes) {{
entry:
  %all = load {VECTOR}, ptr %theirs, align 8
  %before = sub i64 %sizes, 1
  %span = add i64 %before, %size{_all("%before", "back")}{_all("%span", "room")}
  %ends = add {VECTOR} %all, %back
  br label %next
next:
  %lane = phi i64 [ 0, %entry ], [ %after, %next ]
  %found = phi i64 [ 0, %entry ], [ %more, %next ]
  %place = getelementptr i64, ptr %mine, i64 %lane
  %start = load i64, ptr %place, align 8{_all("%start", "from")}
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
  %given = load {VECTOR}, ptr %numbers, align 8{_all("%shift", "by")}
  %shifted = lshr {VECTOR} %given, %by
  %upper = lshr {VECTOR} %shifted, splat (i64 32)
  %one = extractelement {VECTOR} %upper, i64 0{_all("%one", "same")}
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
        at.unit.declare("lowest", _LOWEST)
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


_LOWEST = f"declare i64 @llvm.vector.reduce.smin.v{LANES}i64({VECTOR})"
_HIGHEST = f"declare i64 @llvm.vector.reduce.smax.v{LANES}i64({VECTOR})"
are_in_steps, lanes_between, are_moved, most_bits = _AreInSteps(), _LanesBetween(), _AreMoved(), _MostBits()
blocks_of, meet_others, different, bounds = _BlocksOf(), _MeetOthers(), _Different(), _Bounds()

"""Which blocks of memory lanes touch: in compiled code vector instructions, as few as the usual accesses need."""

from __future__ import annotations

from ptxsim.jit.body import Array
from ptxsim.jit.expressions import Expressions, Operation
from ptxsim.jit.kinds import INT, Known, Several, Value
from ptxsim.jit.vectors import LOWEST, VECTOR, all_lanes, place_of
from ptxsim.lanes import LANES


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
        at.unit.declare("lowest", LOWEST)
        at.unit.declare("blocks", _BLOCKS)
        given = f"ptr {place_of(at, numbers)}, i64 {lanes}, i64 {size}, i64 {shift}"
        found = at.let(f"call {_BLOCKS_FOUND} @blocks({given})")
        parts = tuple(at.let(f"extractvalue {_BLOCKS_FOUND} {found}, {number}") for number in range(3))
        return Value(Several((INT, INT, INT)), parts)


_BLOCKS_FOUND = "{i64, i64, i64}"
# Mostly aligned lanes are all in one block, or in two that differ in their last bit, which an exclusive or shows; most others are within 32
# blocks. Both are also quick where vectors have four numbers and no unsigned comparison (AVX2).
_WINDOW, _SMALL = 32, 27  # blocks; shifts below _SMALL keep them within 32 bits
_BLOCKS = f"""
declare i64 @llvm.vector.reduce.or.v{LANES}i64({VECTOR})
declare i32 @llvm.vector.reduce.or.v{LANES}i32(<{LANES} x i32>)
declare i64 @llvm.cttz.i64(i64, i1)
declare i32 @llvm.cttz.i32(i32, i1)
define internal {_BLOCKS_FOUND} @blocks(ptr %numbers, i64 %lanes, i64 %size, i64 %shift) {{
entry:
  %given = load {VECTOR}, ptr %numbers, align 8
  %word = trunc i64 %lanes to i{LANES}
  %mask = bitcast i{LANES} %word to <{LANES} x i1>
  %lane = call i64 @llvm.cttz.i64(i64 %lanes, i1 true)
  %place = getelementptr i64, ptr %numbers, i64 %lane
  %number = load i64, ptr %place, align 8
  %block = lshr i64 %number, %shift
  %inner = sub i64 %size, 1{all_lanes("%number", "numbers.first")}
  %is.full = icmp eq i{LANES} %word, -1
  br i1 %is.full, label %all, label %some
some:
  %chosen = select <{LANES} x i1> %mask, {VECTOR} %given, {VECTOR} %numbers.first
  br label %all
all:
  %own = phi {VECTOR} [ %given, %entry ], [ %chosen, %some ]
  %apart = xor {VECTOR} %own, %numbers.first
  %differ = call i64 @llvm.vector.reduce.or.v{LANES}i64({VECTOR} %apart)
  %away = lshr i64 %differ, %shift
  %whole = shl i64 1, %shift
  %places = or i64 %differ, %number
  %places.or.size = or i64 %places, %size
  %beside = and i64 %places.or.size, %inner
  %is.near = icmp ule i64 %away, 1
  %is.aligned = icmp eq i64 %beside, 0
  %fits = icmp ule i64 %size, %whole
  %is.inside = and i1 %is.aligned, %fits
  %few = and i1 %is.near, %is.inside
  br i1 %few, label %same, label %far
same:
  %even = xor i64 %away, -1
  %lowest = and i64 %block, %even
  %next = shl i64 %away, 1
  %bits = or i64 %next, 1
  %s1 = insertvalue {_BLOCKS_FOUND} poison, i64 %lowest, 0
  %s2 = insertvalue {_BLOCKS_FOUND} %s1, i64 %bits, 1
  %s3 = insertvalue {_BLOCKS_FOUND} %s2, i64 %lanes, 2
  ret {_BLOCKS_FOUND} %s3
far:
  %is.small = icmp ult i64 %shift, {_SMALL}
  br i1 %is.small, label %small, label %several
small:
  %is.group = icmp ult i64 %away, {_WINDOW}
  %group = and i64 %block, -{_WINDOW}
  %around = sub i64 %block, {_WINDOW // 2}
  %before = select i1 %is.group, i64 %group, i64 %around
  %start = shl i64 %before, %shift{all_lanes("%start", "starts")}{all_lanes("%inner", "inners")}
  %from = sub {VECTOR} %own, %starts
  %to = add {VECTOR} %from, %inners
  %reach = or {VECTOR} %from, %to
  %reached = call i64 @llvm.vector.reduce.or.v{LANES}i64({VECTOR} %reach)
  %top = add i64 %shift, {_WINDOW.bit_length() - 1}
  %over = lshr i64 %reached, %top
  %is.within = icmp eq i64 %over, 0
  br i1 %is.within, label %window, label %several
window:
  %shift.short = trunc i64 %shift to i32
  %shift.one = insertelement <{LANES} x i32> poison, i32 %shift.short, i64 0
  %shifts = shufflevector <{LANES} x i32> %shift.one, <{LANES} x i32> poison, <{LANES} x i32> zeroinitializer
  %from.short = trunc {VECTOR} %from to <{LANES} x i32>
  %to.short = trunc {VECTOR} %to to <{LANES} x i32>
  %from.number = lshr <{LANES} x i32> %from.short, %shifts
  %to.number = lshr <{LANES} x i32> %to.short, %shifts
  %from.bit = shl <{LANES} x i32> splat (i32 1), %from.number
  %to.bit = shl <{LANES} x i32> splat (i32 1), %to.number
  %all.bits = or <{LANES} x i32> %from.bit, %to.bit
  %seen = call i32 @llvm.vector.reduce.or.v{LANES}i32(<{LANES} x i32> %all.bits)
  %spare = call i32 @llvm.cttz.i32(i32 %seen, i1 true)
  %rest = lshr i32 %seen, %spare
  %ahead = zext i32 %spare to i64
  %w.first = add i64 %before, %ahead
  %w.found = zext i32 %rest to i64
  %w1 = insertvalue {_BLOCKS_FOUND} poison, i64 %w.first, 0
  %w2 = insertvalue {_BLOCKS_FOUND} %w1, i64 %w.found, 1
  %w3 = insertvalue {_BLOCKS_FOUND} %w2, i64 %lanes, 2
  ret {_BLOCKS_FOUND} %w3
several:{all_lanes("%shift", "by")}{all_lanes("%size", "sizes")}
  %low = lshr {VECTOR} %given, %by
  %ends = add {VECTOR} %given, %sizes
  %lasts = sub {VECTOR} %ends, splat (i64 1)
  %high = lshr {VECTOR} %lasts, %by
  %where = select <{LANES} x i1> %mask, {VECTOR} %low, {VECTOR} splat (i64 {(1 << 63) - 1})
  %first = call i64 @llvm.vector.reduce.smin.v{LANES}i64({VECTOR} %where){all_lanes("%first", "base")}
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

blocks_of = _BlocksOf()

"""Whether the bytes of lanes fill lines of memory: vector instructions in compiled code, as in `vectors`."""

from __future__ import annotations

from ptxsim.jit.body import Numbers
from ptxsim.jit.expressions import Expressions, Operation
from ptxsim.jit.kinds import BOOL, INT, Known, Value
from ptxsim.jit.vectors import VECTOR, place_of
from ptxsim.lanes import EVERY, LANES

LINE_BITS = 7  # lines of memory, of which what is known is kept in one place, have 128 bytes, as those of caches
LINE = 1 << LINE_BITS


class _FillLines(Operation):
    """`fill_lines(numbers, lanes, size)`: whether the `size` bytes that each lane has from its number on fill lines of LINE bytes, each
    line of lanes next to each other, the first of which is any: lane l of a line has what the first has, but for bits of l.

    Of sizes that are no powers of two from 4 to LINE they do not.
    """

    def __call__(self, numbers: Numbers, lanes: int, size: int) -> bool:
        if size not in _SIZES or (size < LINE and lanes != EVERY):
            return False
        each = LINE // size
        firsts = [int(numbers[lane & -each]) for lane in range(LANES)]
        return all(
            int(numbers[lane]) == firsts[lane] ^ lane % each * size and firsts[lane] % size == 0
            for lane in range(LANES)
            if lanes >> lane & 1
        )

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        numbers, *rest = arguments
        lanes, size = (at.convert(each, INT).parts[0] for each in rest)
        at.unit.declare("fill", _FILL)
        return Value(BOOL, (at.let(f"call i1 @fill(ptr {place_of(at, numbers)}, i64 {lanes}, i64 {size})"),))


_SIZES = tuple(4 << n for n in range(6))


def _of_size(size: int) -> str:
    """The block of `fill` for lanes of a size."""
    each = LINE // size
    firsts = ", ".join(f"i32 {lane & -each}" for lane in range(LANES))
    steps = ", ".join(f"i64 {lane % each * size}" for lane in range(LANES))
    return f"""
of.{size}:
  %firsts.{size} = shufflevector {VECTOR} %all, {VECTOR} poison, <{LANES} x i32> <{firsts}>
  %wanted.{size} = xor {VECTOR} %firsts.{size}, <{steps}>
  %differ.{size} = xor {VECTOR} %all, %wanted.{size}
  %odd.{size} = and {VECTOR} %all, splat (i64 {size - 1})
  %wrong.{size} = or {VECTOR} %differ.{size}, %odd.{size}
  %fails.{size} = icmp ne {VECTOR} %wrong.{size}, zeroinitializer
  %word.{size} = bitcast <{LANES} x i1> %fails.{size} to i{LANES}
  br label %out"""


_FILL = f"""
define internal i1 @fill(ptr %numbers, i64 %lanes, i64 %size) {{
entry:
  %given = trunc i64 %lanes to i{LANES}
  %all = load {VECTOR}, ptr %numbers, align 8
  %whole = icmp eq i64 %size, {LINE}
  %every = icmp eq i{LANES} %given, -1
  %may = or i1 %whole, %every
  br i1 %may, label %which, label %no
which:
  switch i64 %size, label %no [{" ".join(f"i64 {size}, label %of.{size}" for size in _SIZES)}]
no:
  ret i1 false{"".join(map(_of_size, _SIZES))}
out:
  %wrong = phi i{LANES} {", ".join(f"[ %word.{size}, %of.{size} ]" for size in _SIZES)}
  %those = and i{LANES} %wrong, %given
  %is = icmp eq i{LANES} %those, 0
  ret i1 %is
}}
"""

fill_lines = _FillLines()

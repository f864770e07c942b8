"""The native scheduler: turns of the warps of one CTA, divergence and reconvergence, barriers of the whole CTA.

Step by step what engine.grid, engine.interpreter.choose and engine.control do, so that turns, orders and counts agree. It
handles the common cases: every warp of the CTA alone, `bar.sync` of all threads met by all live lanes of a warp. Everything
else stops here, with the state in memory, for Python to go on with.
"""

from __future__ import annotations

from ptxsim.engine.analysis.forward_progress import LESS, PATIENCE, RENEWED
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import CONTEXT
from ptxsim.engine.compiled.runtime.scalar import Scalar
from ptxsim.machine.event import Event

# What run_cta returns.
ENDED, PAUSED, STUCK, LEFT = range(4)
BARRIERS = 16  # in the tables of barriers the warpgroups come behind these


def merge(p: str) -> str:
    """Join split s with another one that stands at the same block. The lanes of the other join s; later splits move up."""
    s = Scalar()
    s.jump("look")
    s.e.label("look")
    s.e.line("  %j = phi i32 [ 0, %entry ], [ %j.next, %next ]")
    count = s.warp("splits")
    s.branch(s.test("eq", "%j", count), "out", "compare")
    s.e.label("compare")
    same = s.test("eq", s.split_field("%j", 0), s.split_field("%s", 0))
    other = s.test("ne", "%j", "%s")
    s.branch(s.op("and", same, other, "i1"), "join", "next")
    s.e.label("next")
    s.e.line("  %j.next = add i32 %j, 1")
    s.jump("look")
    s.e.label("join")
    s.set_split("%s", 4, s.op("or", s.split_field("%s", 4), s.split_field("%j", 4)))
    a, b = s.split_field("%s", 8, "i64"), s.split_field("%j", 8, "i64")
    s.set_split("%s", 8, s.e.let(f"select i1 {s.test('slt', a, b, 'i64')}, i64 {a}, i64 {b}"), "i64")
    s.e.line(f"  call void @{p}remove_split(ptr %warp, i32 %j)")
    s.jump("out")
    s.e.label("out")
    s.e.line("  ret void")
    return f"declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n{remove_split(p)}" + s.function(
        f"internal void @{p}merge(ptr %warp, i32 %s)"
    )


def remove_split(p: str) -> str:
    s = Scalar()
    count = s.warp("splits")
    less = s.op("sub", count, 1)
    s.set_warp("splits", less)
    behind = s.e.let(f"zext i32 {s.op('sub', less, '%j')} to i64")
    after = s.op("add", "%j", 1)
    s.e.line(
        f"  call void @llvm.memmove.p0.p0.i64(ptr {s.split('%j', 0)}, ptr {s.split(after, 0)}, i64 {s.op('mul', behind, 16, 'i64')}, i1 false)"
    )
    s.e.line("  ret void")
    return s.function(f"internal void @{p}remove_split(ptr %warp, i32 %j)")


def fall_through(p: str) -> str:
    """Split s goes on at the block behind `block`."""
    s = Scalar()
    s.set_split("%s", 0, s.op("add", "%block", 1))
    s.e.line(f"  call void @{p}merge(ptr %warp, i32 %s)")
    s.e.line("  ret void")
    return s.function(f"internal void @{p}fall_through(ptr %warp, i32 %s, i32 %block)")


def diverge(p: str) -> str:
    """Lanes `taken` of split s, which has others too, go to block `target`, the rest to the one behind `block`."""
    s = Scalar()
    new = s.warp("splits")
    s.set_warp("splits", s.op("add", new, 1))
    mask = s.split_field("%s", 4)
    s.set_split(new, 0, "%target")
    s.set_split(new, 4, s.op("and", mask, "%taken"))
    s.set_split(new, 8, s.split_field("%s", 8, "i64"), "i64")
    s.set_split("%s", 4, s.op("and", mask, s.op("xor", "%taken", -1)))
    s.set_split("%s", 0, -1)  # nowhere, while the others join
    s.e.line(f"  call void @{p}merge(ptr %warp, i32 {new})")
    s.jump("find")
    s.e.label("find")
    s.e.line("  %j = phi i32 [ 0, %entry ], [ %j.next, %find ]")
    s.e.line("  %j.next = add i32 %j, 1")
    s.branch(s.test("eq", s.split_field("%j", 0), -1), "found", "find")
    s.e.label("found")
    s.e.line(f"  call void @{p}fall_through(ptr %warp, i32 %j, i32 %block)")
    s.e.line("  ret void")
    return s.function(f"internal void @{p}diverge(ptr %warp, i32 %s, i32 %taken, i32 %target, i32 %block)")


def complete(p: str) -> str:
    """End the phase of a barrier if every live warp has come."""
    s = Scalar()
    at = s.barrier("arrived", "%number")
    arrived = s.e.let(f"load i32, ptr {at}")
    wide = s.e.let(f"zext i32 {arrived} to i64")
    some = s.test("ne", arrived, 0)
    all_ = s.test("eq", wide, s.context("live_warps"), "i64")
    s.branch(s.op("and", some, all_, "i1"), "end", "out")
    s.e.label("end")
    s.e.line(f"  store i32 0, ptr {at}")
    phase = s.barrier("phases", "%number")
    s.e.line(f"  store i32 {s.op('add', s.e.let(f'load i32, ptr {phase}'), 1)}, ptr {phase}")
    s.jump("out")
    s.e.label("out")
    s.e.line("  ret void")
    return s.function(f"internal void @{p}complete(ptr %context, i32 %number)")


def leave(p: str) -> str:
    """Lanes `taken` of split s exit."""
    s = Scalar()
    stays = s.op("xor", "%taken", -1)
    live = s.op("and", s.warp("live"), stays)
    s.set_warp("live", live)
    s.branch(s.test("eq", live, 0), "gone", "others")
    s.e.label("gone")
    s.set_context("live_warps", s.op("sub", s.context("live_warps"), 1, "i64"))
    s.jump("barriers")
    s.e.label("barriers")
    s.e.line("  %b = phi i32 [ 0, %gone ], [ %b.next, %barriers ]")
    s.e.line(f"  call void @{p}complete(ptr %context, i32 %b)")
    s.e.line("  %b.next = add i32 %b, 1")
    s.branch(s.test("eq", "%b.next", 16), "others", "barriers")
    s.e.label("others")
    recorded = s.test("ne", s.context("records"), 0, "i64")
    s.branch(recorded, "record", "mask")
    s.e.label("record")
    site = s.context("site", "i32")
    s.e.line(
        f"  call void @{p}event(ptr %context, ptr %warp, i32 {site}, i32 {int(Event.EXIT)}, i32 0, i32 0, i32 0, i32 %taken, ptr null)"
    )
    s.jump("mask")
    s.e.label("mask")
    rest = s.op("and", s.split_field("%s", 4), stays)
    s.branch(s.test("eq", rest, 0), "remove", "go.on")
    s.e.label("remove")
    s.e.line(f"  call void @{p}remove_split(ptr %warp, i32 %s)")
    s.e.line("  ret void")
    s.e.label("go.on")
    s.set_split("%s", 4, rest)
    s.e.line(f"  call void @{p}fall_through(ptr %warp, i32 %s, i32 %block)")
    s.e.line("  ret void")
    return s.function(f"internal void @{p}leave(ptr %context, ptr %warp, i32 %s, i32 %taken, i32 %block)")


def choose(p: str) -> str:
    """The split to run of several: the smallest block, without patience the one that has not run for the longest time.

    It runs until it comes to where another one stands or to a block that takes patience; for one block where none is left.
    """
    s = Scalar()
    turns = s.op("add", s.warp("turns", "i64"), 1, "i64")
    s.set_warp("turns", turns, "i64")
    spent, most = s.warp("spent", "i64"), s.op("sub", PATIENCE, s.warp("lost", "i64"), "i64")
    oldest = s.test("sge", spent, most, "i64")
    count = s.warp("splits")
    s.jump("look")
    s.e.label("look")
    s.e.line("  %j = phi i32 [ 0, %entry ], [ %j.next, %take ]")
    s.e.line("  %best = phi i32 [ 0, %entry ], [ %new, %take ]")
    s.e.line("  %least = phi i64 [ 9223372036854775807, %entry ], [ %value, %take ]")
    s.e.line("  %others = phi i64 [ 9223372036854775807, %entry ], [ %rest, %take ]")
    s.branch(s.test("eq", "%j", count), "out", "take")
    s.e.label("take")
    block = s.e.let(f"sext i32 {s.split_field('%j', 0)} to i64")
    steps = s.split_field("%j", 8, "i64")
    key = s.e.let(f"select i1 {oldest}, i64 {steps}, i64 {block}")
    less = s.test("slt", key, "%least", "i64")
    s.e.line(f"  %value = select i1 {less}, i64 {key}, i64 %least")
    s.e.line(f"  %new = select i1 {less}, i32 %j, i32 %best")
    s.e.line(f"  %more = select i1 {less}, i64 %least, i64 {key}")
    s.e.line("  %rest = call i64 @llvm.smin.i64(i64 %others, i64 %more)")
    s.e.line("  %j.next = add i32 %j, 1")
    s.jump("look")
    s.e.label("out")
    s.set_split("%best", 8, turns, "i64")
    place = s.e.let(f"zext i32 {s.op('mul', s.split_field('%best', 0), 8)} to i64")
    weight = s.e.let(f"load i64, ptr {s.at(s.context('impatience', 'ptr'), place)}")
    spends = s.op("add", spent, weight, "i64")
    less = s.op("sub", most, s.op("sdiv", most, LESS, "i64"), "i64")
    less = s.e.let(f"call i64 @llvm.smax.i64(i64 {less}, i64 {RENEWED})")
    now = s.e.let(f"select i1 {oldest}, i64 {less}, i64 {most}")
    s.set_warp("lost", s.op("sub", PATIENCE, now, "i64"), "i64")
    renewed = s.op("sub", less, RENEWED, "i64")
    s.set_warp("spent", s.e.let(f"select i1 {oldest}, i64 {renewed}, i64 {spends}"), "i64")
    once = s.op("or", oldest, s.test("sge", spends, most, "i64"), "i1")
    s.set_warp("fence", s.e.let(f"select i1 {once}, i32 0, i32 {s.e.let('trunc i64 %others to i32')}"))
    s.e.line("  ret i32 %best")
    intrinsics = "".join(f"declare i64 @llvm.{name}.i64(i64, i64)\n" for name in ("smin", "smax"))
    return intrinsics + s.function(f"internal i32 @{p}choose(ptr %context, ptr %warp)")


def barrier_event(p: str, s: Scalar, event: Event, number: str, then: str) -> None:
    """Record that the warp arrives at or leaves a barrier, if somebody listens; goes on at label `then`."""
    here = f"event.{int(event)}"
    s.branch(s.test("ne", s.context("records"), 0, "i64"), here, then)
    s.e.label(here)
    room = s.e.stack_slot("[2 x i64]")
    wide = s.e.let(f"zext i32 {number} to i64")
    s.e.line(f"  store i64 {wide}, ptr {room}")
    phase = s.e.let(f"zext i32 {s.warp('phase')} to i64")
    s.e.line(f"  store i64 {phase}, ptr {s.at(room, 8)}")
    s.e.line(
        f"  call void @{p}short_event(ptr %context, ptr %warp, i32 {s.warp('own_site')}, i32 {int(event)}, i32 {s.warp('live')}, "
        f"i32 2, ptr {room})"
    )
    s.jump(then)
    s.e.label(then)


def run_warp(p: str) -> str:
    """Up to 64 blocks of a warp. Returns 1 if anything was executed, -1 for an operation left to Python."""
    s = Scalar()
    s.set_warp("left", "%turns")
    s.jump("again")
    s.e.label("again")
    left = s.warp("left")
    s.branch(s.test("eq", left, 0), "moved", "any")
    s.e.label("any")
    count = s.warp("splits")
    s.branch(s.test("eq", count, 0), "rest", "waits")
    s.e.label("rest")
    some = s.test("ult", left, "%turns")
    s.e.line(f"  ret i32 {s.e.let(f'zext i1 {some} to i32')}")
    s.e.label("moved")
    s.e.line("  ret i32 1")
    s.e.label("waits")
    waiting = s.warp("barrier")
    s.branch(s.test("eq", waiting, 0), "pick", "ready")
    s.e.label("ready")
    number = s.op("sub", waiting, 1)
    phase = s.e.let(f"load i32, ptr {s.barrier('phases', number)}")
    s.branch(s.test("eq", phase, s.warp("phase")), "rest", "released")
    s.e.label("released")
    barrier_event(p, s, Event.LEAVE, number, "resume")
    s.set_warp("barrier", 0)
    s.set_warp("left", s.op("sub", s.warp("left"), 1))
    s.set_split("0", 0, s.op("add", s.split_field("0", 0), 1))
    s.jump("again")
    s.e.label("pick")
    s.branch(s.test("eq", count, 1), "together", "several")
    s.e.label("together")
    s.set_warp("spent", 0, "i64")
    s.set_warp("fence", abi.ALONE)
    s.jump("run")
    s.e.label("several")
    chosen = s.e.let(f"call i32 @{p}choose(ptr %context, ptr %warp)")
    s.jump("run")
    s.e.label("run")
    s.e.line(f"  %s = phi i32 [ 0, %together ], [ {chosen}, %several ]")
    s.set_warp("chosen", "%s")
    s.set_warp("block", s.split_field("%s", 0))
    mask = s.split_field("%s", 4)
    s.set_warp("mask", mask)
    every = s.test("eq", mask, -1)
    pointer = s.e.let(
        f"select i1 {every}, ptr {s.at('%context', CONTEXT['full'])}, ptr {s.at('%context', CONTEXT['masked'])}"
    )
    s.branch(s.test("eq", s.e.let(f"load ptr, ptr {pointer}"), "null", "ptr"), "compile", "go")
    s.e.label("compile")
    s.e.line(f"  call void {s.context('compile', 'ptr')}()")
    s.jump("go")
    s.e.label("go")
    kernel = s.e.let(f"load ptr, ptr {pointer}")
    s.branch(s.test("eq", kernel, "null", "ptr"), "left.over", "call")
    s.e.label("call")
    status = s.e.let(f"call i32 {kernel}(ptr %context, ptr %warp)")
    s.e.line(f"  switch i32 {status}, label %left.over [")
    for number_, label in (
        (abi.NEXT, "next"),
        (abi.DIVERGE, "diverge"),
        (abi.EXIT, "exit"),
        (abi.BARRIER, "barrier"),
        (abi.WARPGROUP, "warpgroup"),
    ):
        s.e.line(f"    i32 {number_}, label %{label}")
    s.e.line("  ]")
    s.e.label("left.over")
    s.e.line("  ret i32 -1")
    s.e.label("next")
    s.set_split("%s", 0, s.warp("block"))
    s.e.line(f"  call void @{p}merge(ptr %warp, i32 %s)")
    s.jump("again")
    s.e.label("diverge")
    s.e.line(
        f"  call void @{p}diverge(ptr %warp, i32 %s, i32 {s.warp('taken')}, i32 {s.warp('target')}, i32 {s.warp('block')})"
    )
    s.jump("again")
    s.e.label("exit")
    s.e.line(f"  call void @{p}leave(ptr %context, ptr %warp, i32 %s, i32 {s.warp('taken')}, i32 {s.warp('block')})")
    s.jump("again")
    # All live lanes of the warp come to a barrier of the whole CTA; anything else is Python's.
    s.e.label("barrier")
    s.branch(s.test("eq", s.warp("mask"), s.warp("live")), "arrive", "left.over")
    s.e.label("arrive")
    number = s.warp("target")
    s.set_warp("phase", s.e.let(f"load i32, ptr {s.barrier('phases', number)}"))
    barrier_event(p, s, Event.ARRIVE, number, "arrived")
    s.set_split("%s", 0, s.warp("block"))
    s.set_warp("barrier", s.op("add", number, 1))
    at = s.barrier("arrived", number)
    s.e.line(f"  store i32 {s.op('add', s.e.let(f'load i32, ptr {at}'), 1)}, ptr {at}")
    s.e.line(f"  call void @{p}complete(ptr %context, i32 {number})")
    done = s.e.let(f"zext i32 {s.warp('op')} to i64")
    s.set_context("count", s.op("add", s.context("count"), done, "i64"))
    s.set_warp("left", s.op("sub", s.warp("left"), 1))
    s.jump("again")
    # The first warps of a warpgroup wait for the others.
    s.e.label("warpgroup")
    group = s.op("add", s.op("lshr", s.warp("index"), 2), BARRIERS)
    s.set_warp("phase", s.e.let(f"load i32, ptr {s.barrier('phases', group)}"))
    s.set_warp("barrier", s.op("add", group, 1))
    s.set_split("%s", 0, s.warp("block"))
    done = s.e.let(f"zext i32 {s.warp('op')} to i64")
    s.set_context("count", s.op("add", s.context("count"), done, "i64"))
    s.set_warp("left", s.op("sub", s.warp("left"), 1))
    s.jump("again")
    return s.function(f"internal i32 @{p}run_warp(ptr %context, ptr %warp, i32 %turns)")


def short_event(p: str) -> str:
    """A record with one or two numbers in place of addresses; the other places keep what they held."""
    s = Scalar()
    records = s.context("records", "ptr")
    place = s.op("mul", s.context("recorded"), abi.RECORD_BYTES, "i64")
    at = s.at(s.at(records, place), abi.RECORD_ADDRESSES)
    s.e.line(f"  store i64 {s.e.let('load i64, ptr %numbers')}, ptr {at}, align 1")
    s.branch(s.test("eq", "%count", 2), "second", "append")
    s.e.label("second")
    second = s.e.let(f"load i64, ptr {s.at('%numbers', 8)}")
    s.e.line(f"  store i64 {second}, ptr {s.at(at, 8)}, align 1")
    s.jump("append")
    s.e.label("append")
    s.e.line(
        f"  call void @{p}event(ptr %context, ptr %warp, i32 %site, i32 %event, i32 0, i32 0, i32 0, i32 %mask, ptr null)"
    )
    s.e.line("  ret void")
    return s.function(
        f"internal void @{p}short_event(ptr %context, ptr %warp, i32 %site, i32 %event, i32 %mask, i32 %count, ptr %numbers)"
    )


def rounds(p: str, turn: int) -> str:
    """Rounds of turns until the CTA has ended, nobody moves, or it is time to look at the limits."""
    s = Scalar()
    s.jump("round")
    s.e.label("round")
    s.set_context("moved", 0)
    s.set_context("cursor", 0)
    s.jump("next.warp")
    s.e.label("next.warp")
    cursor = s.context("cursor")
    s.branch(s.test("eq", cursor, s.context("warp_count"), "i64"), "over", "take")
    s.e.label("take")
    s.e.line(
        f"  %warp = getelementptr i8, ptr {s.context('warps', 'ptr')}, i64 {s.op('mul', cursor, s.context('stride'), 'i64')}"
    )
    s.branch(s.test("eq", s.warp("splits"), 0), "advance", "turn")
    s.e.label("turn")
    s.set_context("steps", s.op("add", s.context("steps"), 1, "i64"))
    s.branch(s.test("eq", s.context("flying"), 0, "i64"), "run", "due")
    s.e.label("due")
    s.e.line(f"  call void {s.context('due', 'ptr')}(ptr %context)")
    s.jump("run")
    s.e.label("run")
    moved = s.e.let(f"call i32 @{p}run_warp(ptr %context, ptr %warp, i32 {turn})")
    s.branch(s.test("slt", moved, 0), "left", "noted")
    s.e.label("left")
    s.e.line(f"  ret i32 {LEFT}")
    s.e.label("noted")
    wide = s.e.let(f"zext i32 {moved} to i64")
    s.set_context("moved", s.op("or", s.context("moved"), wide, "i64"))
    s.jump("advance")
    s.e.label("advance")
    s.set_context("cursor", s.op("add", s.context("cursor"), 1, "i64"))
    s.jump("next.warp")
    s.e.label("over")
    turns = s.op("add", s.context("rounds"), 1, "i64")
    s.set_context("rounds", turns)
    s.branch(s.test("eq", s.context("live_warps"), 0, "i64"), "ended", "alive")
    s.e.label("ended")
    s.e.line(f"  ret i32 {ENDED}")
    s.e.label("alive")
    s.branch(s.test("eq", s.context("moved"), 0, "i64"), "stuck", "limits")
    s.e.label("stuck")
    s.e.line(f"  ret i32 {STUCK}")
    s.e.label("limits")
    many = s.test("ugt", s.context("count"), s.context("end_count"), "i64")
    long = s.test("ugt", turns, s.context("end_rounds"), "i64")
    s.branch(s.op("or", many, long, "i1"), "paused", "round")
    s.e.label("paused")
    s.e.line(f"  ret i32 {PAUSED}")
    return s.function(f"internal i32 @{p}rounds(ptr %context)")


def text(prefix: str, turn: int) -> str:
    """The IR of the scheduler; `turn` is engine.grid.TURN."""
    parts = [merge, fall_through, diverge, complete, leave, choose, short_event, run_warp]
    return "\n".join([*(part(prefix) for part in parts), rounds(prefix, turn)])

"""cp.async in native code: each warp's copies that have not landed yet, and the groups that it has committed.

Step by step what machine.async_groups does with seed 0: a copy lands when a wait covers it, in the order of issue. All lanes
of a warp commit and wait together here; where only some do, and while a Python object holds the CTA (`copies` of the context
is null then), everything is left to the interpreter.
"""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.scalar import Scalar
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Space

RING = 128  # copies of a warp that may be under way
# A warp: how many copies it has issued, how many have landed, how many groups it has committed.
QUEUE = {"issued": 0, "landed": 8, "committed": 16, "ring": 64}
# A copy: the group it belongs to, bytes a lane, lanes, those of them that read, the instruction, and addresses.
COPY = {"group": 0, "size": 8, "mask": 12, "reading": 16, "site": 20, "to": 64, "from": 64 + 8 * LANES}
COPY_BYTES = COPY["from"] + 8 * LANES
QUEUE_BYTES = QUEUE["ring"] + RING * COPY_BYTES
NAMES = ("copy_issue", "copy_commit", "copy_wait")


class _Queue(Scalar):
    """Prints code on a warp's queue."""

    def begin(self) -> str:
        """The warp's queue; returns false to the caller where Python holds the CTA."""
        queues = self.context("copies", "ptr")
        self.branch(self.test("ne", queues, "null", "ptr"), "alone", "give.up")
        self.e.label("give.up")
        self.e.line("  ret i1 false")
        self.e.label("alone")
        index = self.e.let(f"zext i32 {self.warp('index')} to i64")
        return self.at(queues, self.op("mul", index, QUEUE_BYTES, "i64"))

    def get(self, base: str, offset: int, t: str = "i64") -> str:
        return self.e.let(f"load {t}, ptr {self.at(base, offset)}, align 4")

    def put(self, base: str, offset: int, value: str, t: str = "i64") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.at(base, offset)}, align 4")

    def copy(self, queue: str, number: str) -> str:
        place = self.op("mul", self.op("and", number, RING - 1, "i64"), COPY_BYTES, "i64")
        return self.at(queue, self.op("add", place, QUEUE["ring"], "i64"))


def issue(p: str) -> str:
    """i1 @copy_issue(context, warp, site, to, from, mask, reading, size): remember a copy; false if there is no room."""
    s = _Queue()
    queue = s.begin()
    issued = s.get(queue, QUEUE["issued"])
    room = s.test("ult", s.op("sub", issued, s.get(queue, QUEUE["landed"]), "i64"), RING, "i64")
    s.branch(room, "room", "give.up")
    s.e.label("room")
    copy = s.copy(queue, issued)
    for name, value, t in (
        ("group", s.get(queue, QUEUE["committed"]), "i64"), ("size", "%size", "i32"), ("mask", "%mask", "i32"),
        ("reading", "%reading", "i32"), ("site", "%site", "i32"), ("to", "%to", "<32 x i64>"), ("from", "%from", "<32 x i64>"),
    ):  # fmt: skip
        s.put(copy, COPY[name], value, t)
    s.put(queue, QUEUE["issued"], s.op("add", issued, 1, "i64"))
    s.e.line("  ret i1 true")
    return s.function(
        f"i1 @{p}copy_issue(ptr %context, ptr %warp, i32 %site, <32 x i64> %to, <32 x i64> %from, i32 %mask, i32 %reading, "
        "i32 %size)"
    )


def commit(p: str) -> str:
    """i1 @copy_commit(context, warp)"""
    s = _Queue()
    queue = s.begin()
    s.put(queue, QUEUE["committed"], s.op("add", s.get(queue, QUEUE["committed"]), 1, "i64"))
    s.e.line("  ret i1 true")
    return s.function(f"i1 @{p}copy_commit(ptr %context, ptr %warp)")


def land(p: str) -> str:
    """Write the data of one copy; lanes that read nothing write zeros."""
    s = _Queue()
    shared, arena = s.warp("shared", "ptr"), s.context("arena")
    size = s.e.let(f"zext i32 {s.get('%copy', COPY['size'], 'i32')} to i64")
    mask, reading = s.get("%copy", COPY["mask"], "i32"), s.get("%copy", COPY["reading"], "i32")
    s.jump("lane")
    s.e.label("lane")
    s.e.line("  %rest = phi i32 [ " + mask + ", %entry ], [ %next, %done ]")
    s.branch(s.test("eq", "%rest", 0), "out", "write")
    s.e.label("write")
    number = s.e.let("call i32 @llvm.cttz.i32(i32 %rest, i1 true)")
    s.e.line(f"  %next = and i32 %rest, {s.op('sub', '%rest', 1)}")
    skip = s.e.let(f"zext i32 {s.op('shl', number, 3)} to i64")
    to = s.at(shared, s.get(s.at("%copy", skip), COPY["to"]))
    reads = s.test("ne", s.op("and", reading, s.op("shl", 1, number)), 0)
    s.branch(reads, "take", "zero")
    s.e.label("take")
    at = s.op("add", s.get(s.at("%copy", skip), COPY["from"]), arena, "i64")
    s.e.line(
        f"  call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {s.e.let(f'inttoptr i64 {at} to ptr')}, i64 {size}, i1 false)"
    )
    s.jump("done")
    s.e.label("zero")
    s.e.line(f"  call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")
    s.jump("done")
    s.e.label("done")
    s.jump("lane")
    s.e.label("out")
    s.branch(s.test("ne", s.context("records"), 0, "i64"), "tell", "silent")
    s.e.label("tell")
    site, width = s.get("%copy", COPY["site"], "i32"), s.get("%copy", COPY["size"], "i32")
    for event in (Event.ASYNC_WRITE, Event.ASYNC_WAIT):
        s.e.line(
            f"  call void @{p}event(ptr %context, ptr %warp, i32 {site}, i32 {int(event)}, i32 {int(Space.SHARED)}, i32 {width}, "
            f"i32 0, i32 {mask}, ptr {s.at('%copy', COPY['to'])})"
        )
    s.jump("silent")
    s.e.label("silent")
    s.e.line("  ret void")
    return s.function(f"internal void @{p}copy_land(ptr %context, ptr %warp, ptr %copy)")


def wait(p: str) -> str:
    """i1 @copy_wait(context, warp, newest, all): all copies land but those of the `newest` latest groups; with `all` those
    of no group too. False, with nothing done, where Python has a word to say: nothing is committed."""
    s = _Queue()
    queue = s.begin()
    landed, issued = s.get(queue, QUEUE["landed"]), s.get(queue, QUEUE["issued"])
    committed = s.get(queue, QUEUE["committed"])
    s.branch("%all", "everything", "look")
    s.e.label("look")
    s.e.line("  %i = phi i64 [ " + landed + ", %alone ], [ %i.next, %held ]")
    s.e.line("  %loose = phi i32 [ 0, %alone ], [ %loose.next, %held ]")
    s.e.line("  %grouped = phi i32 [ 0, %alone ], [ %grouped.next, %held ]")
    s.branch(s.test("ult", "%i", issued, "i64"), "held", "judge")
    s.e.label("held")
    copy = s.copy(queue, "%i")
    mask = s.get(copy, COPY["mask"], "i32")
    is_held = s.test("ult", s.get(copy, COPY["group"]), committed, "i64")
    s.e.line(f"  %grouped.next = or i32 %grouped, {s.e.let(f'select i1 {is_held}, i32 {mask}, i32 0')}")
    s.e.line(f"  %loose.next = or i32 %loose, {s.e.let(f'select i1 {is_held}, i32 0, i32 {mask}')}")
    s.e.line("  %i.next = add i64 %i, 1")
    s.jump("look")
    s.e.label("judge")
    missing = s.op("and", "%loose", s.op("xor", "%grouped", -1))
    s.branch(s.test("eq", missing, 0), "everything", "give.up")
    s.e.label("everything")
    last = s.op("sub", committed, "%newest", "i64")
    s.jump("next")
    s.e.label("next")
    s.e.line("  %n = phi i64 [ " + landed + ", %everything ], [ %n.next, %one ]")
    s.branch(s.test("ult", "%n", issued, "i64"), "old", "out")
    s.e.label("old")
    here = s.copy(queue, "%n")
    covered = s.test("slt", s.get(here, COPY["group"]), last, "i64")
    s.branch(s.op("or", covered, "%all", "i1"), "one", "out")
    s.e.label("one")
    s.e.line(f"  call void @{p}copy_land(ptr %context, ptr %warp, ptr {here})")
    s.e.line("  %n.next = add i64 %n, 1")
    s.jump("next")
    s.e.label("out")
    s.put(queue, QUEUE["landed"], "%n")
    s.e.line("  ret i1 true")
    return s.function(f"i1 @{p}copy_wait(ptr %context, ptr %warp, i64 %newest, i1 %all)")


def text(prefix: str) -> str:
    """The IR of all of them."""
    declared = (
        "declare i32 @llvm.cttz.i32(i32, i1)\ndeclare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n"
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
        f"declare void @{prefix}event(ptr, ptr, i32, i32, i32, i32, i32, i32, ptr)\n"
    )
    return declared + "\n".join(part(prefix) for part in (land, issue, commit, wait))

"""wgmma in native code: the state of a CTA's warpgroups, and the functions that move it.

Step by step what machine.wgmma does: four warps meet and start a product, the product waits in a queue until a wait covers
it or machine.async_groups.LATEST turns have passed, and is then computed from shared memory and registers as they are. A
program gets here only if it keeps the rules (engine.analysis.wgmma_hazards), and while no Python object holds the CTA: `groups`
of the context is null otherwise, and everything is left to the interpreter.
"""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.scalar import Scalar
from ptxsim.machine.async_groups import LATEST
from ptxsim.machine.records import BARRIERS
from ptxsim.machine.wgmma import WARPS

RING = 64  # products and groups that may be under way

# A warp's groups: how many it has committed and how many are over, and for each how many products had been issued by then.
OF_WARP = {"committed": 0, "retired": 8, "before": 16, "boundaries": 24}
OF_WARP_BYTES = 24 + 8 * RING
# A product. `run` computes it; `table`, `pieces` see engine.compiled.tensor.wgmma_product; blocks and metadata of four warps.
RECORD = {
    "due": 0, "run": 8, "table": 16, "pieces_a": 24, "pieces_b": 32, "a": 40, "b": 48, "steps": 56, "keep": 64, "site": 68,
    "warps": 72, "metadata": 128,
}  # fmt: skip
RECORD_BYTES = 128 + 128 * WARPS
# A warpgroup: the product its warps gather for, how many have been issued and completed.
GROUP = {"gathering": 0, "site": 4, "keep": 8, "a": 16, "b": 24, "issued": 32, "completed": 40, "warps": 64}
GROUP["ring"] = -(-(GROUP["warps"] + WARPS * OF_WARP_BYTES) // 64) * 64
GROUP_BYTES = GROUP["ring"] + RING * RECORD_BYTES

# Tiles that have been looked at: the descriptor, which operand of which instruction, its pieces.
TILES, TILE_BYTES = 1024, 32

STARTED, WAITS, LEFT = range(3)  # what arrive returns
NAMES = ("arrive", "commit", "wait", "tile", "due")


class _Group(Scalar):
    """Prints code on the state of a warp's group."""

    def group_of_warp(self) -> tuple[str, str, str]:
        """The warp's group, its number (i64), and the warp's place in it (i64)."""
        index = self.e.let(f"zext i32 {self.warp('index')} to i64")
        number = self.op("lshr", index, WARPS.bit_length() - 1, "i64")
        place = self.op("and", index, WARPS - 1, "i64")
        return self.group(number), number, place

    def group(self, number: str) -> str:
        return self.at(self.context("groups", "ptr"), self.op("mul", number, GROUP_BYTES, "i64"))

    def get(self, base: str, offset: int, t: str = "i64") -> str:
        return self.e.let(f"load {t}, ptr {self.at(base, offset)}, align 4")

    def put(self, base: str, offset: int, value: str, t: str = "i64") -> None:
        self.e.line(f"  store {t} {value}, ptr {self.at(base, offset)}, align 4")

    def record(self, group: str, number: str) -> str:
        place = self.op("mul", self.op("and", number, RING - 1, "i64"), RECORD_BYTES, "i64")
        return self.at(group, self.op("add", place, GROUP["ring"], "i64"))

    def of_warp(self, group: str, place: str) -> str:
        return self.at(group, self.op("add", self.op("mul", place, OF_WARP_BYTES, "i64"), GROUP["warps"], "i64"))

    def boundary(self, of_warp: str, number: str) -> str:
        place = self.op("shl", self.op("and", number, RING - 1, "i64"), 3, "i64")
        return self.at(of_warp, self.op("add", place, OF_WARP["boundaries"], "i64"))

    def unless(self, condition: str, label: str, returned: str) -> None:
        """Return a value where a condition does not hold; go on at `label`."""
        self.branch(condition, label, f"{label}.not")
        self.e.label(f"{label}.not")
        self.e.line(f"  ret {returned}")
        self.e.label(label)


def tile(p: str) -> str:
    """ptr @tile(context, site, which, descriptor): the table of a tile's pieces, or null where Python must speak."""
    s = _Group()
    s.unless(s.test("ne", s.context("groups", "ptr"), "null", "ptr"), "alone", "ptr null")
    key = s.e.let(f"zext i32 {s.op('or', s.op('shl', '%site', 1), '%which')} to i64")
    mixed = s.op("mul", s.op("xor", "%descriptor", s.op("shl", key, 20, "i64"), "i64"), -7046029254386353131, "i64")
    place = s.op("mul", s.op("lshr", mixed, 64 - TILES.bit_length() + 1, "i64"), TILE_BYTES, "i64")
    entry = s.at(s.context("tiles", "ptr"), place)
    same = s.op(
        "and", s.test("eq", s.get(entry, 0), "%descriptor", "i64"), s.test("eq", s.get(entry, 8), key, "i64"), "i1"
    )
    found = s.get(entry, 16, "ptr")
    known = s.op("and", same, s.test("ne", found, "null", "ptr"), "i1")
    s.branch(known, "hit", "miss")
    s.e.label("hit")
    s.e.line(f"  ret ptr {found}")
    s.e.label("miss")
    made = s.e.let(f"call ptr {s.context('tile', 'ptr')}(i32 %site, i32 %which, i64 %descriptor)")
    s.put(entry, 0, "%descriptor")
    s.put(entry, 8, key)
    s.put(entry, 16, made, "ptr")
    s.e.line(f"  ret ptr {made}")
    return s.function(f"ptr @{p}tile(ptr %context, i32 %site, i32 %which, i64 %descriptor)")


def arrive(p: str) -> str:
    """i32 @arrive(...): a warp executes a product; the fourth one starts it. STARTED, WAITS or LEFT, with nothing done."""
    s = _Group()
    s.unless(s.test("ne", s.context("groups", "ptr"), "null", "ptr"), "alone", f"i32 {LEFT}")
    group, number, place = s.group_of_warp()
    whole = s.op("mul", s.op("add", number, 1, "i64"), WARPS, "i64")
    s.unless(s.test("ule", whole, s.context("warp_count"), "i64"), "whole", f"i32 {LEFT}")
    issued = s.get(group, GROUP["issued"])
    # Records stay until their product is computed and the warp has waited for its group.
    completed, before = s.get(group, GROUP["completed"]), s.get(s.of_warp(group, place), OF_WARP["before"])
    older = s.test("ult", before, completed, "i64")
    oldest = s.e.let(f"select i1 {older}, i64 {before}, i64 {completed}")
    under_way = s.op("sub", issued, oldest, "i64")
    s.unless(s.test("ult", under_way, RING, "i64"), "room", f"i32 {LEFT}")
    here = s.get(group, GROUP["gathering"], "i32")
    s.branch(s.test("eq", here, 0), "first", "another")
    s.e.label("first")
    for name, value, t in (("site", "%site", "i32"), ("keep", "%keep", "i32"), ("a", "%a", "i64"), ("b", "%b", "i64")):
        s.put(group, GROUP[name], value, t)
    s.jump("take")
    s.e.label("another")
    same = "true"
    for name, value, t in (("site", "%site", "i32"), ("keep", "%keep", "i32"), ("a", "%a", "i64"), ("b", "%b", "i64")):
        same = s.op("and", same, s.test("eq", s.get(group, GROUP[name], t), value, t), "i1")
    s.unless(same, "same", f"i32 {LEFT}")
    s.jump("take")
    s.e.label("take")
    record = s.record(group, issued)
    s.branch(s.test("eq", "%metadata", "null", "ptr"), "count", "sparse")
    s.e.label("sparse")
    kept = s.at(record, s.op("add", s.op("shl", place, 7, "i64"), RECORD["metadata"], "i64"))
    s.e.line(f"  store <32 x i32> {s.e.let('load <32 x i32>, ptr %metadata, align 4')}, ptr {kept}, align 4")
    s.jump("count")
    s.e.label("count")
    now = s.op("add", here, 1)
    s.branch(s.test("eq", now, WARPS), "start", "wait")
    s.e.label("wait")
    s.put(group, GROUP["gathering"], now, "i32")
    s.e.line(f"  ret i32 {WAITS}")
    s.e.label("start")
    s.put(group, GROUP["gathering"], "0", "i32")
    for name, value, t in (
        ("due", s.op("add", s.context("steps"), LATEST, "i64"), "i64"), ("run", "%run", "ptr"), ("table", "%table", "ptr"),
        ("pieces_a", "%pieces_a", "ptr"), ("pieces_b", "%pieces_b", "ptr"), ("a", "%a", "i64"), ("b", "%b", "i64"),
        ("steps", "%steps", "i64"), ("keep", "%keep", "i32"), ("site", "%site", "i32"),
    ):  # fmt: skip
        s.put(record, RECORD[name], value, t)
    first = s.op("mul", s.op("mul", number, WARPS, "i64"), s.context("stride"), "i64")
    block = s.at(s.context("warps", "ptr"), first)
    for i in range(WARPS):
        s.put(record, RECORD["warps"] + 8 * i, block, "ptr")
        block = s.at(block, s.context("stride"))
    s.put(group, GROUP["issued"], s.op("add", issued, 1, "i64"))
    s.set_context("flying", s.op("add", s.context("flying"), 1, "i64"))
    barrier = s.e.let(f"trunc i64 {s.op('add', number, BARRIERS, 'i64')} to i32")
    phase = s.phase(barrier)
    s.e.line(f"  store i32 {s.op('add', s.e.let(f'load i32, ptr {phase}'), 1)}, ptr {phase}")
    s.e.line(f"  ret i32 {STARTED}")
    return s.function(
        f"i32 @{p}arrive(ptr %context, ptr %warp, i32 %site, ptr %run, ptr %table, i64 %steps, i64 %a, i64 %b, "
        "ptr %pieces_a, ptr %pieces_b, i32 %keep, ptr %metadata)"
    )


def commit(p: str) -> str:
    """i1 @commit(context, warp): what the warp has issued and not committed becomes a group."""
    s = _Group()
    s.unless(s.test("ne", s.context("groups", "ptr"), "null", "ptr"), "alone", "i1 false")
    group, _, place = s.group_of_warp()
    mine = s.of_warp(group, place)
    committed = s.get(mine, OF_WARP["committed"])
    open_ = s.op("sub", committed, s.get(mine, OF_WARP["retired"]), "i64")
    s.unless(s.test("ult", open_, RING, "i64"), "room", "i1 false")
    s.e.line(f"  store i64 {s.get(group, GROUP['issued'])}, ptr {s.boundary(mine, committed)}")
    s.put(mine, OF_WARP["committed"], s.op("add", committed, 1, "i64"))
    s.e.line("  ret i1 true")
    return s.function(f"i1 @{p}commit(ptr %context, ptr %warp)")


def complete(p: str) -> str:
    """Complete products of group `number` below `target`, in order."""
    s = _Group()
    group = s.group("%number")
    s.jump("look")
    s.e.label("look")
    done = s.get(group, GROUP["completed"])
    s.branch(s.test("ult", done, "%target", "i64"), "take", "out")
    s.e.label("take")
    record = s.record(group, done)
    s.put(group, GROUP["completed"], s.op("add", done, 1, "i64"))
    s.set_context("flying", s.op("sub", s.context("flying"), 1, "i64"))
    run = s.get(record, RECORD["run"], "ptr")
    s.e.line(f"  call void {run}(ptr %context, ptr {record})")
    s.jump("look")
    s.e.label("out")
    s.e.line("  ret void")
    return s.function(f"internal void @{p}complete_products(ptr %context, i64 %number, i64 %target)")


def wait(p: str) -> str:
    """i1 @wait(context, warp, pending): all of the warp's groups but the last `pending` complete."""
    s = _Group()
    s.unless(s.test("ne", s.context("groups", "ptr"), "null", "ptr"), "alone", "i1 false")
    group, number, place = s.group_of_warp()
    mine = s.of_warp(group, place)
    committed, retired = s.get(mine, OF_WARP["committed"]), s.get(mine, OF_WARP["retired"])
    before = s.get(mine, OF_WARP["before"])
    open_ = s.op("sub", committed, retired, "i64")
    none = s.test("eq", open_, 0, "i64")
    last = s.e.let(f"load i64, ptr {s.boundary(mine, s.op('sub', committed, 1, 'i64'))}")
    newest = s.e.let(f"select i1 {none}, i64 {before}, i64 {last}")
    # Products in no group, and no group with products: Python has a word about that.
    loose = s.test("ugt", s.get(group, GROUP["issued"]), newest, "i64")
    missing = s.op("and", loose, s.test("eq", newest, before, "i64"), "i1")
    s.unless(s.op("xor", missing, "true", "i1"), "good", "i1 false")
    s.branch(s.test("ugt", open_, "%pending", "i64"), "retire", "out")
    s.e.label("retire")
    over = s.op("sub", committed, "%pending", "i64")
    target = s.e.let(f"load i64, ptr {s.boundary(mine, s.op('sub', over, 1, 'i64'))}")
    s.put(mine, OF_WARP["retired"], over)
    s.put(mine, OF_WARP["before"], target)
    s.e.line(f"  call void @{p}complete_products(ptr %context, i64 {number}, i64 {target})")
    s.jump("out")
    s.e.label("out")
    s.e.line("  ret i1 true")
    return s.function(f"i1 @{p}wait(ptr %context, ptr %warp, i64 %pending)")


def due(p: str) -> str:
    """void @due(context): complete what may wait no longer."""
    s = _Group()
    groups = s.op("lshr", s.context("warp_count"), WARPS.bit_length() - 1, "i64")
    s.branch(s.test("eq", groups, 0, "i64"), "out", "look")
    s.e.label("look")
    s.e.line("  %number = phi i64 [ 0, %entry ], [ %number, %run ], [ %next, %advance ]")
    group = s.group("%number")
    done = s.get(group, GROUP["completed"])
    s.branch(s.test("ult", done, s.get(group, GROUP["issued"]), "i64"), "oldest", "advance")
    s.e.label("oldest")
    time = s.get(s.record(group, done), RECORD["due"])
    s.branch(s.test("ule", time, s.context("steps"), "i64"), "run", "advance")
    s.e.label("run")
    s.e.line(f"  call void @{p}complete_products(ptr %context, i64 %number, i64 {s.op('add', done, 1, 'i64')})")
    s.jump("look")
    s.e.label("advance")
    s.e.line("  %next = add i64 %number, 1")
    s.branch(s.test("ult", "%next", groups, "i64"), "look", "out")
    s.e.label("out")
    s.e.line("  ret void")
    return s.function(f"void @{p}due(ptr %context)")


def text(prefix: str) -> str:
    """The IR of all of them."""
    return "\n".join(part(prefix) for part in (complete, tile, arrive, commit, wait, due))

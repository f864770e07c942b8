"""Native loads and stores: one helper function for each state space, element size and vector length.

Every lane is checked, at full speed: shared and local accesses against the memory's size, the others against {base, span} of
the allocation that the same instruction last touched, and if that fails against the table of allocations. What does not pass is
not done here: the helper leaves the instruction, untouched, to the interpreter (`bail`), which finds the words for the fault or
does what native code cannot.
"""

from __future__ import annotations

from functools import partial

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import Loop, spread
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.engine.compiled.runtime.abi import CONTEXT, KINDS, READ_ONLY, WARP
from ptxsim.machine.event import FLAG_MIXED, FLAG_UNCHANGED, RECORD, Event, Space
from ptxsim.machine.memory import LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_SIZE, store_order

LANE_NUMBERS = range(32)
SIGNATURE = "ptr %context, ptr %warp, <32 x i64> %address, i32 %mask, i32 %site, i32 %flags"
_KIND_OF_SPACE = {
    "global": KINDS["global"] | KINDS["const"], "const": KINDS["const"], "param": KINDS["param"],
    "generic": sum(KINDS.values()),
}  # fmt: skip
_SPACES = {name: str(int(Space[name.upper()])) for name in ("global", "const", "param", "shared", "local")}  # as IR
_ADDRESSES = RECORD.itemsize - 8 * len(LANE_NUMBERS)  # where they are in a record: at its end


class AccessHelper:
    """Writes one helper. `size` is the bytes of an element; a lane's access is `size * count` bytes."""

    def __init__(
        self, module: Module, prefix: str, name: str, what: str, space: str, size: int, count: int, events: bool, cluster: bool,
    ):  # fmt: skip
        self.module, self.prefix, self.name, self.events, self.cluster = module, prefix, name, events, cluster
        self.space, self.size, self.count = space, size, count
        # `place` checks a write and returns where the lanes' memory is; its flags carry the event's number from bit 16 up.
        self.write, self.place = what == "store", what == "place"
        self.total = size * count
        self.chunk = min(self.total, 8)
        self.chunks = self.total // self.chunk
        self.whole = f"<{32 * self.chunks} x i{8 * self.chunk}>"
        self.e = Emitter(module)
        self.address = Value(self.e, "%address", "u64")

    def text(self) -> str:
        e = self.e
        element = f"<32 x i{8 * self.size}>"
        arguments = SIGNATURE
        if self.write:
            arguments += "".join(f", {element} %value{i}" for i in range(self.count))
            self.data = self._join([Value(e, f"%value{i}", f"u{8 * self.size}") for i in range(self.count)])
            self.content = self._interleave()
        spaces = {"shared": self._shared, "cluster": self._shared, "local": self._local, "generic": self._generic}
        spaces.get(self.space, self._arena)()
        result = (
            "void"
            if self.write
            else "<32 x i64>"
            if self.place
            else ("{" + ", ".join([element] * self.count) + "}" if self.count > 1 else element)
        )
        return e.function(f"{result} @{self.name}({arguments})")

    # ---- where the lanes point ----

    def _bad(self, offset: Value, limit: str, span: str) -> str:
        """i32 of the active lanes whose offset is above `limit` (a scalar of offset's type) or misaligned; all if span is too small."""
        e = self.e
        bound = spread(self.e, limit, offset.kind)
        low = e.pure("trunc <32 x i64> %address to <32 x i32>", "u32")
        bad = (offset > bound) | ((low & self.total - 1) != 0)
        word = e.let(f"bitcast <32 x i1> {bad.text} to i32")
        small = e.let(f"icmp ult i64 {span}, {self.total}")
        return e.let(f"select i1 {small}, i32 %mask, i32 {e.let(f'and i32 {word}, %mask')}")

    def _branch(self, bad: str, good: str, otherwise: str) -> None:
        ok = self.e.let(f"icmp eq i32 {bad}, 0")
        self.e.line(f"  br i1 {ok}, label %{good}, label %{otherwise}")

    def _bail(self, label: str) -> None:
        e = self.e
        e.label(label)
        self._declare(f"declare void @{self.prefix}bail(ptr, i32) noreturn")
        e.line(f"  call void @{self.prefix}bail(ptr %context, i32 %site)")
        e.line("  unreachable")

    def _declare(self, text: str) -> None:
        self.module.declarations[text] = text

    def _shared(self, label: str = "shared") -> None:
        """Offsets are the low 32 bits, in the window of generic addresses too."""
        e = self.e
        span = e.field("%warp", WARP["shared_span"], "i64")
        start = e.let(f"trunc i64 {e.field('%warp', WARP['shared_start'], 'i64')} to i32")
        relative = self._own() - spread(self.e, start, "u32")
        limit = e.let(f"trunc i64 {e.let(f'sub i64 {span}, {self.total}')} to i32")
        bad = self._bad(relative, limit, span)
        self._branch(bad, f"{label}.ok", f"{label}.bad")
        if self.cluster and self.space != "shared":
            self._remote(f"{label}.bad", limit, span)
        else:
            self._bail(f"{label}.bad")
        e.label(f"{label}.ok")
        self._move(e.field("%warp", WARP["shared"], "ptr"), self._own(), _SPACES["shared"], label)

    def _own(self) -> Value:
        """Offsets in the shared memory of the executing CTA."""
        e = self.e
        low = e.pure("trunc <32 x i64> %address to <32 x i32>", "u32")
        if not self.cluster:
            return low
        return low - spread(e, e.let(f"trunc i64 {e.field('%warp', WARP['named'], 'i64')} to i32"), "u32")

    def _remote(self, label: str, limit: str, span: str) -> None:
        """Offsets in the shared memory of any CTA of the cluster, whose rank stands above them."""
        e = self.e
        e.label(label)
        low = e.pure("trunc <32 x i64> %address to <32 x i32>", "u32")
        which = low >> RANK_SHIFT
        start = e.let(f"trunc i64 {e.field('%warp', WARP['shared_start'], 'i64')} to i32")
        ctas = e.let(f"trunc i64 {e.field('%warp', WARP['ctas'], 'i64')} to i32")
        offset = low & (1 << RANK_SHIFT) - 1
        word = self._bad(offset - spread(e, start, "u32"), limit, span)
        strange = e.let(f"bitcast <32 x i1> {(which >= spread(e, ctas, 'u32')).text} to i32")
        word = e.let(f"or i32 {word}, {e.let(f'and i32 {strange}, %mask')}")
        self._branch(word, f"{label}.in", f"{label}.out")
        self._bail(f"{label}.out")
        e.label(f"{label}.in")
        self._move(e.field("%warp", WARP["cluster"], "ptr"), low, _SPACES["shared"], label, named=True)

    def _local(self, label: str = "local", window: int = 0) -> None:
        e = self.e
        offset = self.address - window if window else self.address
        width = e.field("%warp", WARP["local_bytes"], "i64")
        bad = self._bad(offset, e.let(f"sub i64 {width}, {self.total}"), width)
        self._branch(bad, f"{label}.ok", f"{label}.bad")
        self._bail(f"{label}.bad")
        e.label(f"{label}.ok")
        numbers = Value(e, "<" + ", ".join(f"i32 {i}" for i in LANE_NUMBERS) + ">", "u32")
        rows = spread(self.e, e.let(f"trunc i64 {width} to i32"), "u32") * numbers
        self._move(e.field("%warp", WARP["local"], "ptr"), rows + e.convert(offset, "u32"), _SPACES["local"], label)

    def _cached(self, miss: str) -> None:
        """The allocation that this instruction touched last; goes on at `hit`."""
        e = self.e
        caches = e.field("%context", CONTEXT["caches"], "ptr")
        index = e.let("zext i32 %site to i64")
        entry = e.at(caches, index, "[2 x i64]")
        base = e.let(f"load i64, ptr {entry}")
        span = e.field(entry, 8, "i64")
        relative = self.address - spread(self.e, base, "u64")
        bad = (relative > spread(self.e, span, "u64")) | ((self.address & self.total - 1) != 0)
        word = e.let(f"bitcast <32 x i1> {bad.text} to i32")
        word = e.let(f"and i32 {word}, %mask")
        # An empty entry has base 0: no address is that small.
        empty = e.let(f"icmp eq i64 {base}, 0")
        word = e.let(f"select i1 {empty}, i32 -1, i32 {word}")
        self._branch(word, "hit", miss)
        e.label("hit")
        arena = e.field("%context", CONTEXT["arena"], "i64")
        host = e.let(f"inttoptr i64 {e.let(f'add i64 {arena}, {base}')} to ptr")
        self._move(host, e.convert(relative, "u32"), self._space(base), "hit")

    def _space(self, address: str) -> str:
        """The state space (machine.event.Space) of the allocation that has an address."""
        if not self.events or self.space in _SPACES:
            return _SPACES.get(self.space, "0")
        self._declare(f"declare i32 @{self.prefix}space_of(ptr, i64)")
        return self.e.let(f"call i32 @{self.prefix}space_of(ptr %context, i64 {address})")

    def _arena(self) -> None:
        self._cached("miss")
        self._missed()

    def _missed(self) -> None:
        """Look every lane up in the table; then use whole addresses."""
        e = self.e
        e.label("miss")
        room = e.stack_slot("<32 x i64>")
        e.line(f"  store <32 x i64> %address, ptr {room}, align 64")
        name = f"{self.prefix}look_up"
        self._declare(f"declare void @{name}(ptr, ptr, i32, i64, i32, i32, i32)")
        refused = READ_ONLY if self.write or self.place else 0
        e.line(
            f"  call void @{name}(ptr %context, ptr {room}, i32 %mask, i64 {self.total}, i32 {_KIND_OF_SPACE[self.space]}, "
            f"i32 {refused}, i32 %site)"
        )
        lane = e.let("call i32 @llvm.cttz.i32(i32 %mask, i1 false)")
        self._declare("declare i32 @llvm.cttz.i32(i32, i1)")
        first = e.let(f"extractelement <32 x i64> %address, i32 {e.let(f'and i32 {lane}, 31')}")
        arena = e.let(f"inttoptr i64 {e.field('%context', CONTEXT['arena'], 'i64')} to ptr")
        self._move(arena, self.address, self._space(first), "miss")

    def _generic(self) -> None:
        e = self.e
        self._cached("window")
        e.label("window")
        local = partial(self._local, window=LOCAL_WINDOW)
        for name, window, go in (("shared", SHARED_WINDOW, self._shared), ("local", LOCAL_WINDOW, local)):
            inside = (self.address - window) < WINDOW_SIZE
            word = e.let(f"bitcast <32 x i1> {inside.text} to i32")
            outside = e.let(f"and i32 {e.let(f'xor i32 {word}, -1')}, %mask")
            self._branch(outside, f"in.{name}", f"not.{name}")
            e.label(f"in.{name}")
            go(f"window.{name}")
            e.label(f"not.{name}")
        e.line("  br label %miss")
        self._missed()

    # ---- moving the bytes ----

    def _move(self, base: str, offset: Value, space: str, label: str, named: bool = False) -> None:
        """Load or store at base + offset and return. `named`: the offset is the name of shared memory."""
        e = self.e
        flags = "%flags"
        held: list[Value] = []
        if self.events and self.write:
            held = self._there(base, offset)
            flags = self._flagged(held, self.data, FLAG_UNCHANGED, flags, "eq")
        elif self.events:
            self._event(space, offset, flags, named)
        if self.place:
            memory = spread(e, e.let(f"ptrtoint ptr {base} to i64"), "u64")
            e.line(f"  ret <32 x i64> {(memory + e.convert(offset, 'u64')).text}")
            return
        first = e.let(f"extractelement {offset.type} {offset.text}, i64 0")
        steps = Value(
            e, "<" + ", ".join(f"{element_type(offset.kind)} {i * self.total}" for i in LANE_NUMBERS) + ">", offset.kind
        )
        contiguous = offset == spread(e, first, offset.kind) + steps
        word = e.let(f"bitcast <32 x i1> {contiguous.text} to i32")
        every = e.let(f"icmp eq i32 {e.let(f'and i32 {word}, %mask')}, -1")
        at = e.let(f"getelementptr i8, ptr {base}, {element_type(offset.kind)} {first}")
        start = e.here
        e.line(f"  br i1 {every}, label %{label}.row, label %{label}.apart")
        e.label(f"{label}.apart")
        copy = self._copy(base, offset)
        if self.write:
            if self.events:
                after = self._there(base, offset)
                mixed = self._flagged(after, self.data, FLAG_MIXED, flags, "ne")
                self._event(space, offset, self._flagged(after, held, FLAG_UNCHANGED, mixed, "eq"), named)
            e.line("  ret void")
            e.label(f"{label}.row")
            e.line(f"  store {self.whole} {self.content}, ptr {at}, align {self.chunk}")
            if self.events:
                self._event(space, offset, flags, named)
            e.line("  ret void")
            return
        e.line(f"  br label %{label}.row")
        before = e.here
        e.label(f"{label}.row")
        self._return(self._chunks(e.let(f"phi ptr [ {at}, %{start} ], [ {copy}, %{before} ]")))

    def _copy(self, base: str, offset: Value, back: bool | None = None) -> str:
        """The lanes' bytes at base + offset, one lane after the other: a copy, zeros where no lane runs; a write goes
        there unless `back`, in the order of machine.memory.store_order."""
        e, out = self.e, self.write if back is None else not back
        places, spare = e.stack_slot(offset.type), e.stack_slot(f"[{self.total} x i8]")
        copy = e.stack_slot(self.whole)
        e.line(f"  store {offset.type} {offset.text}, ptr {places}, align 64")
        if out:
            e.line(f"  store {self.whole} {self.content}, ptr {copy}, align 64")
        else:
            e.line(f"  store i{8 * self.total} 0, ptr {spare}, align 64")
        loop, t = Loop(e, len(LANE_NUMBERS)), element_type(offset.kind)
        lane = e.let(f"xor i64 {loop.number}, {store_order(self.total)}") if out else loop.number
        place = e.let(f"load {t}, ptr {e.at(places, lane, t)}")
        place = e.let(f"getelementptr i8, ptr {base}, {t} {place}")
        bit = e.let(f"lshr i32 %mask, {e.let(f'trunc i64 {lane} to i32')}")
        place = e.let(f"select i1 {e.let(f'trunc i32 {bit} to i1')}, ptr {place}, ptr {spare}")
        own = e.at(copy, lane, f"[{self.total} x i8]")
        source, to = (own, place) if out else (place, own)
        word = e.let(f"load <{self.chunks} x i{8 * self.chunk}>, ptr {source}, align {self.chunk}")
        e.line(f"  store <{self.chunks} x i{8 * self.chunk}> {word}, ptr {to}, align {self.chunk}")
        loop.end()
        return copy

    def _chunks(self, at: str) -> list[Value]:
        """The chunks of all lanes, from where they lie one lane after the other."""
        e, kind = self.e, f"u{8 * self.chunk}"
        content = e.let(f"load {self.whole}, ptr {at}, align {self.chunk}")
        if self.chunks == 1:
            return [Value(e, content, kind)]
        orders = (", ".join(f"i32 {lane * self.chunks + i}" for lane in LANE_NUMBERS) for i in range(self.chunks))
        shuffle = f"shufflevector {self.whole} {content}, {self.whole} poison, <32 x i32>"
        return [Value(e, e.let(f"{shuffle} <{order}>"), kind) for order in orders]

    def _return(self, chunks: list[Value]) -> None:
        """Cut chunks into elements and return them."""
        e = self.e
        kind = f"u{8 * self.size}"
        per_chunk = self.chunk // self.size
        values = [e.convert(c >> 8 * self.size * i if i else c, kind) for c in chunks for i in range(per_chunk)]
        t = values[0].type
        if self.count == 1:
            e.line(f"  ret {t} {values[0].text}")
            return
        struct, result = "{" + ", ".join([t] * self.count) + "}", "poison"
        for i, value in enumerate(values):
            result = e.let(f"insertvalue {struct} {result}, {t} {value.text}, {i}")
        e.line(f"  ret {struct} {result}")

    def _join(self, values: list[Value]) -> list[Value]:
        """Elements to chunks, the first lowest."""
        e, kind, per_chunk = self.e, f"u{8 * self.chunk}", self.chunk // self.size
        chunks = []
        for start in range(0, self.count, per_chunk):
            word = e.convert(values[start], kind)
            for i in range(1, per_chunk):
                word = word | e.convert(values[start + i], kind) << 8 * self.size * i
            chunks.append(word)
        return chunks

    def _interleave(self) -> str:
        """The chunks of lane 0, then those of lane 1, and so on, as one vector."""
        e, n = self.e, self.chunks
        level, width = [d.text for d in self.data], 32
        element = f"i{8 * self.chunk}"
        while len(level) > 1:  # concatenate pairs
            joined = []
            for a, b in zip(level[::2], level[1::2]):
                order = ", ".join(f"i32 {i}" for i in range(2 * width))
                joined.append(
                    e.let(
                        f"shufflevector <{width} x {element}> {a}, <{width} x {element}> {b}, <{2 * width} x i32> <{order}>"
                    )
                )
            level, width = joined, 2 * width
        order = ", ".join(f"i32 {chunk * 32 + lane}" for lane in LANE_NUMBERS for chunk in range(n))
        whole = f"<{width} x {element}>"
        return e.let(f"shufflevector {whole} {level[0]}, {whole} poison, <{width} x i32> <{order}>")

    def _there(self, base: str, offset: Value) -> list[Value]:
        """What memory holds at the places of the lanes, in chunks."""
        return self._chunks(self._copy(base, offset, back=True))

    def _flagged(self, one: list[Value], other: list[Value], flag: int, flags: str, when: str) -> str:
        """Flags, with one more where all lanes have the same in both ("eq"), or some lane has not ("ne")."""
        e = self.e
        differs = e.splat(False, "pred")
        for mine, theirs in zip(one, other, strict=True):
            differs = differs | (mine != theirs)
        word = e.let(f"and i32 {e.let(f'bitcast <32 x i1> {differs.text} to i32')}, %mask")
        holds, more = e.let(f"icmp {when} i32 {word}, 0"), e.let(f"or i32 {flags}, {flag}")
        return e.let(f"select i1 {holds}, i32 {more}, i32 {flags}")

    def _event(self, space: str, offset: Value, flags: str, named: bool) -> None:
        """Record the access, with addresses as machine.port.Port names them."""
        e = self.e
        event = str(int(Event.STORE if self.write else Event.LOAD))
        if self.place:
            event, flags = e.let("lshr i32 %flags, 16"), e.let("and i32 %flags, 65535")
        addresses = e.convert(offset, "u64") if space == _SPACES["shared"] else self.address
        if self.cluster and space == _SPACES["shared"] and not named:
            addresses = addresses + spread(e, e.field("%warp", WARP["named"], "i64"), "u64")
        # Where the next record's are; if it is not wanted, the one after it has the place.
        records, count = (e.field("%context", CONTEXT[name], "i64") for name in ("records", "recorded"))
        start = e.let(f"add i64 {records}, {_ADDRESSES}")
        place = e.at(e.let(f"inttoptr i64 {start} to ptr"), count, f"[{RECORD.itemsize} x i8]")
        e.line(f"  store <32 x i64> {addresses.text}, ptr {place}, align 8")
        self._declare(f"declare void @{self.prefix}mark(ptr, ptr, i32, i32, i32, i32, i32, i32)")
        number = space if isinstance(space, str) else int(space)
        e.line(
            f"  call void @{self.prefix}mark(ptr %context, ptr %warp, i32 %site, i32 {event}, i32 {number}, "
            f"i32 {self.total}, i32 {flags}, i32 %mask)"
        )

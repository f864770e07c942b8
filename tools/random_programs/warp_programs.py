"""Random programs of a whole warp: memory, atomics, loops, matrices, carries, and what lanes tell each other."""

from __future__ import annotations

import random
from collections.abc import Callable

from random_programs.operations import MIXED, WARP, rows
from random_programs.programs import START, Program, reads

SLOT = 16  # bytes of shared memory that a thread has; those of all come first, then COUNTERS
COUNTERS = 32
VARIABLES = f"""    .shared .align 16 .b8 cells[{32 * SLOT + COUNTERS}]; .local .align 16 .b8 own[64];
    .reg .b32 %s, %v, %w, %c, %n, %e;
"""
# Registers and the type that they are loaded or stored as, with the bytes that have to be aligned.
STORED = (("r", "b8", 1), ("h", "b16", 2), ("x", "b32", 4), ("f", "f32", 4), ("q", "b64", 8), ("d", "f64", 8))
LOADED = (("R", "u8", 1), ("R", "s8", 1), ("R", "s16", 2), ("R", "u16", 2), ("H", "b16", 2), ("X", "b32", 4), ("F", "f32", 4), ("Q", "u64", 8), ("D", "f64", 8), ("Q", "s32", 4))  # fmt: skip
VECTORS = (
    ("rr", "v2.b32", 8),
    ("ffff", "v4.f32", 16),
    ("hh", "v2.b16", 4),
    ("qq", "v2.b64", 16),
    ("hhhh", "v4.b16", 8),
)
# Of a word that only one thread knows: what it gives back does not depend on the order.
ATOMICS = """
atom.add.u32 R r! | atom.add.s32 R r! | atom.min.s32 R r! | atom.max.u32 R r! | atom.and.b32 R r! | atom.or.b32 R r! | atom.xor.b32 R r! | atom.exch.b32 R r!
atom.inc.u32 R r! | atom.dec.u32 R r! | atom.cas.b32 R r! r! | atom.add.f32 F f! | atom.add.u64 Q q! | atom.max.s64 Q q! | atom.cas.b64 Q q! q! | atom.exch.b64 Q q!
atom.add.f64 D d! | atom.add.noftz.f16x2 X x! | atom.add.noftz.bf16x2 X x! | atom.add.noftz.f16 H h! | atom.add.noftz.bf16 H h! | atom.cas.b16 H h! h!
"""
# What all threads do to a few words comes to the same in any order.
REDUCTIONS = """
red.add.u32 r! | red.min.s32 r! | red.max.u32 r! | red.and.b32 r! | red.or.b32 r! | red.xor.b32 r! | red.add.u64 q! | red.min.u64 q!
"""
CARRIES = ("add", "sub", "mad.lo", "mad.hi")


class WarpProgram(Program):
    """One kernel of 32 threads that meet before and after each exchange, so that the order of lanes does not show."""

    variables = VARIABLES

    def __init__(self, rng: random.Random, name: str):
        super().__init__(rng, name, None)
        self.operations = [*rows(MIXED), *rows(WARP), *rows(WARP)]
        self.weights = [row.weight for row in self.operations]
        self.atomics, self.reductions = rows_without_weight(ATOMICS), rows_without_weight(REDUCTIONS)

    def text(self) -> str:
        rng = self.rng
        for statement in START.split("; "):
            self._say(statement)
        self._read(reads(None))
        given = {name for names in self.pool.values() for name in names}
        for register in self.pool["r"][:2]:
            self.pool["p"].append(predicate := self._new("p"))
            self._say(f"setp.lt.s32 {predicate}, {register}, 5")
        self._say("mov.u32 %c, cells")
        self._say(f"mad.lo.u32 %s, %t, {SLOT}, %c")
        self._say(f"st.shared.v2.b64 [%s], {{{self.pool['q'][0]}, {self.pool['q'][1]}}}")
        self._say("and.b32 %v, %t, 7")
        self._say("mad.lo.u32 %v, %v, 4, %c")
        self._say(f"st.shared.b32 [%v+{32 * SLOT}], {rng.randint(0, 9)}")
        self._say("bar.warp.sync -1")
        parts: list[Callable[[], None]] = [
            self._exchange, self._exchange, self._atomic, self._reduction, self._local, self._loop, self._loop, self._matrices, self._carry, self._branch,
        ]  # fmt: skip
        for _ in range(rng.randint(2, 6)):
            for _ in range(rng.randint(1, 4)):
                self._operation()
            rng.choice(parts)()
        return self._ended(given)

    def _some(self, letters: str, results: list[str] | None = None) -> str:
        """Registers as a vector, or a single one; capitals are new, and written."""
        found = [self._new(c.lower()) if c.isupper() else self._recent(c) for c in letters]
        if results is not None:
            results += found
        return found[0] if len(found) == 1 else "{" + ", ".join(found) + "}"

    def _exchange(self) -> None:
        """Each lane writes its slot, then reads what another one has there."""
        rng = self.rng
        letters, type, size = rng.choice((*STORED, *VECTORS))
        self._say(f"st.shared.{type} [%s+{size * rng.randrange(SLOT // size)}], {self._some(letters)}")
        self._say("bar.warp.sync -1")
        self._say(f"mad.lo.u32 %v, %t, {rng.choice((1, 3, 5, 31))}, {rng.randrange(32)}")
        self._say("and.b32 %v, %v, 31")
        self._say(f"mad.lo.u32 %v, %v, {SLOT}, %c")
        self._load("shared", "%v", SLOT)
        self._say("bar.warp.sync -1")

    def _load(self, space: str, at: str, room: int) -> None:
        rng, results = self.rng, list[str]()
        letters, type, size = rng.choice((*LOADED, *VECTORS))
        self._say(
            f"ld.{space}.{type} {self._some(letters.upper(), results)}, [{at}+{size * rng.randrange(room // size)}]"
        )
        self._take(results)

    def _atomic(self) -> None:
        """On what only this thread knows, in shared memory or at the end of what it writes."""
        rng, results = self.rng, list[str]()
        opcode, *operands = rng.choice(self.atomics)
        name, operation, *rest = opcode.split(".")
        space = rng.choice(("shared", "global"))
        written = [self._operand(token, 0, results) for token in operands]
        at = "[%s+8]" if space == "shared" else f"[%o+{rng.choice((48, 56))}]"
        self._say(f"{name}.{space}.{'.'.join((operation, *rest))} {', '.join([written[0], at, *written[1:]])}")
        self._take(results)

    def _reduction(self) -> None:
        """Of all lanes, on words that they share."""
        rng = self.rng
        opcode, operand = rng.choice(self.reductions)
        size = 8 if opcode.endswith("64") else 4
        self._say(f"and.b32 %v, %t, {rng.choice((0, 1, 3))}")
        self._say(f"mad.lo.u32 %v, %v, {size}, %c")
        guard = f"@{self.rng.choice(self.pool['p'])} " if rng.random() < 0.4 else ""
        self._say(f"{guard}{opcode.replace('red.', 'red.shared.')} [%v+{32 * SLOT}], {self._operand(operand, 0, [])}")
        self._say("bar.warp.sync -1")
        results = list[str]()
        self._say(f"ld.shared.b32 {self._some('R', results)}, [%c+{32 * SLOT + 4 * rng.randrange(COUNTERS // 4)}]")
        self._take(results)
        self._say("bar.warp.sync -1")

    def _local(self) -> None:
        """An array of the thread, at a place that the data say."""
        rng = self.rng
        self._say("mov.u32 %e, own")
        for n in range(0, 64, 16):
            self._say(f"st.local.v4.f32 [%e+{n}], {self._some('ffff')}")
        self._say(f"and.b32 %w, {self._recent('r')}, 48")
        self._say("add.u32 %w, %w, %e")
        letters, type, size = rng.choice((*STORED, *VECTORS))
        self._say(f"st.local.{type} [%w+{size * rng.randrange(16 // size)}], {self._some(letters)}")
        self._load("local", rng.choice(("%e", "%w")), 16)

    def _loop(self) -> None:
        """As many turns as the data say, each lane for itself, or as many for all."""
        rng = self.rng
        self.labels += 1
        label, is_divergent = f"L{self.name}_{self.labels}", rng.random() < 0.5
        self._say(f"and.b32 %n, {self._recent('r')}, 7" if is_divergent else f"mov.u32 %n, {rng.randint(1, 4)}")
        pool = {letter: list(registers) for letter, registers in self.pool.items()}
        self.lines.append(f"{label}:")
        self._say('.pragma "nounroll"')
        for _ in range(rng.randint(2, 6)):
            self._operation(is_divergent=True)
        self.pool = pool
        self._say("add.s32 %n, %n, -1")
        more = self._new("p")
        self._say(f"setp.gt.s32 {more}, %n, 0")
        self._say(f"@{more} bra {label}")
        if is_divergent:
            self._say("bar.warp.sync -1")

    def _matrices(self) -> None:
        """Rows of 16 bytes, one in each lane's slot, as fragments."""
        rng = self.rng
        count = rng.choice((1, 2, 4))
        trans = rng.choice(("", ".trans"))
        self._say("bar.warp.sync -1")
        if rng.random() < 0.4:
            self._say(
                f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%s], {{{', '.join(self._recent('x') for _ in range(count))}}}"
            )
            self._say("bar.warp.sync -1")
        registers = [self._new("x") for _ in range(count)]
        self._say(f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{', '.join(registers)}}}, [%s]")
        self._take(registers)
        self._say("bar.warp.sync -1")

    def _carry(self) -> None:
        """Sums of several words."""
        rng, kind = self.rng, self.rng.choice(("u32", "s32", "u64"))
        letter = "q" if kind == "u64" else "r"
        for n in range(last := rng.randint(1, 3)):
            op = rng.choice(CARRIES)
            base, _, part = op.partition(".")
            name = f"{base}{'c' if n else ''}" + (f".{part}" if part else "") + ("" if n + 1 == last and n else ".cc")
            count = 3 if part else 2
            results = [self._new(letter)]
            self._say(f"{name}.{kind} {results[0]}, {', '.join(self._recent(letter) for _ in range(count))}")
            self._take(results)


def rows_without_weight(table: str) -> list[tuple[str, ...]]:
    """Opcodes and operands of a table."""
    return [tuple(row.split()) for line in table.strip().splitlines() for row in line.split(" | ")]

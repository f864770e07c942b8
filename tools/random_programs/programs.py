"""Random programs as PTX, and what they are given: each thread reads 64 bytes and writes 64 bytes."""

from __future__ import annotations

import random
import re

import numpy as np

from random_programs.dead_code import without_dead
from random_programs.operations import DECLARED, IMMEDIATES, MIXED, ROUNDINGS, TOGETHER, TYPES, Operation, rows, sums_of

THREADS = 32
BYTES = 64  # of a thread, read and written
HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
START = """ld.param.u64 %a, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %y, %t, 64; add.u64 %a, %a, %y; add.u64 %o, %o, %y"""
# Where a thread's registers are read, by class: offsets in its 64 bytes.
MIXED_READS = {"f": (0, 4, 8), "d": (16, 24), "h": (32, 34), "x": (36, 40), "r": (44, 48, 52, 56), "q": (48, 56)}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 1e-40, 3e38)


class Program:
    """One kernel. `type`: sums and products of that type; None: anything."""

    def __init__(self, rng: random.Random, name: str, type: str | None):
        self.rng, self.name, self.type = rng, name, type
        self.flushes = rng.choice((0, 0, 0, 1, 0.5))  # how often .ftz is put in
        self.operations = rows(MIXED) if type is None else sums_of(type)
        self.weights = [row.weight for row in self.operations]
        self.pool: dict[str, list[str]] = {letter: [] for letter in DECLARED}
        self.lines: list[str] = []
        self.count = self.labels = 0

    def _new(self, letter: str) -> str:
        self.count += 1
        return f"%{letter}{self.count}"

    def _say(self, statement: str) -> None:
        self.lines.append(f"{statement};")

    def _recent(self, letter: str) -> str:
        pool = self.pool[letter]
        return pool[-min(len(pool), 1 + int(self.rng.expovariate(0.38)))]

    def _read(self, reads: dict[str, tuple[int, ...]]) -> None:
        for letter, offsets in reads.items():
            for offset in offsets:
                self.pool[letter].append(register := self._new(letter))
                self._say(f"ld.global.{DECLARED[letter]} {register}, [%a+{offset}]")

    def _opcode(self, row: Operation) -> str:
        rng = self.rng
        parts = {
            "{r}": rng.choice(("", "", "", "", "", ".rn", ".rz", ".rp", ".rm")), "{R}": rng.choice(ROUNDINGS),
            "{z}": ".ftz" if rng.random() < self.flushes else "", "{s}": rng.choice([""] * 12 + [".sat"]),
        }  # fmt: skip
        return re.sub(r"\{\w\}", lambda part: parts[part[0]], row.opcode)

    def _operation(self, is_divergent: bool = False) -> None:
        """One instruction; a register that is there already may be its destination."""
        rng = self.rng
        row = rng.choices(self.operations, self.weights)[0]
        together = TOGETHER.search(row.opcode) is not None
        if is_divergent and together:
            return
        opcode, written = self._opcode(row), list[str]()
        for operand in row.operands:
            letter = operand[0].lower()
            if operand[0] == "(":
                written.append("{" + ", ".join(self._recent(each) for each in re.findall(r"[a-z]", operand)) + "}")
            elif letter not in DECLARED:
                written.append(operand)
            elif operand[0].isupper():
                again = rng.random() < (0.65 if is_divergent else 0.12)
                written.append(rng.choice(self.pool[letter]) if again else self._new(letter))
            elif not operand.endswith("!") and letter in IMMEDIATES and rng.random() < 0.07:
                written.append(rng.choice(IMMEDIATES[letter]))
            else:
                written.append(self._recent(letter))
        letter, into = row.operands[0].lower(), written[0]
        guard = ""
        if into in self.pool[letter]:
            self.pool[letter].remove(into)
            if rng.random() < 0.4 and not together and letter != "p":
                guard = f"@{rng.choice(('', '!'))}{rng.choice(self.pool['p'])} "
        self.pool[letter].append(into)
        self._say(f"{guard}{opcode} {', '.join(written)}")

    def _branch(self) -> None:
        """A few instructions that only some lanes execute."""
        self.labels += 1
        end, pool = f"L{self.name}_{self.labels}", {letter: list(registers) for letter, registers in self.pool.items()}
        self._say(f"@{self.rng.choice(self.pool['p'])} bra {end}")
        for _ in range(self.rng.randint(2, 6)):
            self._operation(is_divergent=True)
        self.pool = pool
        self.lines.append(f"{end}:")

    def text(self) -> str:
        """The kernel."""
        rng = self.rng
        for statement in START.split("; "):
            self._say(statement)
        self._read(reads(self.type))
        given = {name for names in self.pool.values() for name in names}
        for register in self.pool["r"][:2]:
            self.pool["p"].append(predicate := self._new("p"))
            self._say(f"setp.lt.s32 {predicate}, {register}, 5")
        for _ in range(rng.randint(6, 18)):
            self._operation()
        if rng.random() < 0.5:
            self._branch()
            for _ in range(rng.randint(1, 8)):
                self._operation()
        stored = "fdhxrq" if self.type is None else TYPES[self.type]
        last = [(letter, name) for letter in stored for name in self.pool[letter][-4:] if name not in given]
        last = last or [(stored[0], self._recent(stored[0]))]
        for n, (letter, name) in enumerate(rng.sample(last, min(len(last), rng.randint(2, 6)))):
            self._say(f"st.global.{DECLARED[letter]} [%o+{8 * n}], {name}")
        declared = " ".join(f".reg .{type} %{letter}<{self.count + 1}>;" for letter, type in DECLARED.items())
        body = "\n".join(f"    {line}" for line in without_dead(self.lines))
        return (
            f".visible .entry {self.name}(.param .u64 in, .param .u64 out)\n{{\n    {declared}\n"
            f"    .reg .b32 %t; .reg .b64 %a, %o, %y;\n{body}\n    ret;\n}}\n"
        )


def reads(type: str | None) -> dict[str, tuple[int, ...]]:
    """Where the registers of a class come from: offsets in a thread's bytes."""
    return MIXED_READS if type is None else {TYPES[type]: (0, 8, 16, 24, 32), "r": (48, 52)}


def kinds(seed: int, count: int) -> list[str | None]:
    """Of which type the programs of a module are; every second is of all."""
    rng = random.Random(seed)
    return [rng.choice((*TYPES, "f32", "f32")) if n % 2 else None for n in range(count)]


def module(seed: int, count: int) -> str:
    """Kernels k0, k1, ... of one seed."""
    rng = random.Random(seed)
    return HEADER + "".join(Program(rng, f"k{n}", kind).text() for n, kind in enumerate(kinds(seed, count)))


def inputs(seed: int, type: str | None) -> np.ndarray:
    """What a program is given, uint32 (threads, 16): ordinary, far, and special numbers; small and large integers."""
    rng = np.random.default_rng(seed)
    small, large = rng.integers(-20, 21, (THREADS, 16)), rng.integers(-(1 << 31), 1 << 31, (THREADS, 16))
    found = np.where(rng.random((THREADS, 16)) < 0.3, large, small).astype(np.int32).view(np.uint8)
    for letter, offsets in reads(type).items():
        for offset in offsets if letter in "fdhx" else ():
            values = rng.normal(size=(THREADS, 2)) * 2.0 ** rng.integers(-3, 4, size=(THREADS, 2))
            values[-12:-6] *= 2.0 ** rng.integers(-14, 14, size=(6, 2))
            values[-6:] = np.where(rng.random((6, 2)) < 0.5, rng.choice(SPECIAL, (6, 2)), values[-6:])
            code = _codes(values, letter, type or "f16")
            found[:, offset : offset + code.shape[1]] = code
    return found.view(np.uint32)


def _codes(values: np.ndarray, letter: str, type: str) -> np.ndarray:
    """The bytes of numbers in a register of a class, (threads, bytes): one of each row, or both."""
    with np.errstate(all="ignore"):
        if letter == "d":
            return np.ascontiguousarray(values[:, :1]).view(np.uint8)
        single = values.astype(np.float32)
        if letter == "f":
            return np.ascontiguousarray(single[:, :1]).view(np.uint8)
        half = (single.view(np.uint32) >> 16).astype(np.uint16) if "bf16" in type else single.astype(np.float16)
        return np.ascontiguousarray(half[:, : 1 if letter == "h" else 2]).view(np.uint8)

"""Random programs as PTX: each thread reads 64 bytes and writes 64 bytes."""

from __future__ import annotations

import random
import re

from random_programs.dead_code import without_dead
from random_programs.operations import DECLARED, IMMEDIATES, MIXED, ROUNDINGS, TOGETHER, TYPES, Operation, rows, sums_of

START = """ld.param.u64 %a, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %y, %t, 64; add.u64 %a, %a, %y; add.u64 %o, %o, %y"""
# Where a thread's registers are read, by class: offsets in its 64 bytes.
MIXED_READS = {"f": (0, 4, 8), "d": (16, 24), "h": (32, 34), "x": (36, 40), "r": (44, 48, 52, 56), "q": (48, 56)}


class Program:
    """One kernel. `type`: sums and products of that type; None: anything that computes."""

    variables = ""

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
        opcode, results = self._opcode(row), list[str]()
        written = [self._operand(token, 0.65 if is_divergent else 0.12, results) for token in row.operands]
        letter, guard = results[0][1], ""
        if (
            len(results) == 1
            and results[0] in self.pool[letter]
            and rng.random() < 0.4
            and not together
            and letter != "p"
        ):
            guard = f"@{rng.choice(('', '!'))}{rng.choice(self.pool['p'])} "
        self._say(f"{guard}{opcode} {', '.join(written)}")
        self._take(results)

    def _operand(self, token: str, again: float, results: list[str]) -> str:
        """An operand of a row as it is written; `results` grow by the registers that it writes, of which `again` are there already."""
        rng, letter = self.rng, token[0].lower()
        if token[0] == "(":
            each = re.findall(r"[a-zA-Z]", token)
            return "{" + ", ".join(self._operand(f"{one}!", 0, results) for one in each) + "}"
        if "|" in token:
            return "|".join(self._operand(one, 0, results) for one in token.split("|"))
        if letter not in DECLARED:
            return token
        if token[0].isupper():
            results.append(rng.choice(self.pool[letter]) if rng.random() < again else self._new(letter))
            return results[-1]
        if not token.endswith("!") and letter in IMMEDIATES and rng.random() < 0.07:
            return rng.choice(IMMEDIATES[letter])
        return self._recent(letter)

    def _take(self, results: list[str]) -> None:
        """Registers that have been written are the most recent ones."""
        for register in results:
            pool = self.pool[register[1]]
            if register in pool:
                pool.remove(register)
            pool.append(register)

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
        return self._ended(given)

    def _ended(self, given: set[str]) -> str:
        """The kernel, with stores of what has been computed; `given` has been read."""
        rng = self.rng
        stored = "fdhxrq" if self.type is None else TYPES[self.type]
        last = [(letter, name) for letter in stored for name in self.pool[letter][-4:] if name not in given]
        last = last or [(stored[0], self._recent(stored[0]))]
        for n, (letter, name) in enumerate(rng.sample(last, min(len(last), rng.randint(2, 6)))):
            self._say(f"st.global.{DECLARED[letter]} [%o+{8 * n}], {name}")
        declared = " ".join(f".reg .{type} %{letter}<{self.count + 1}>;" for letter, type in DECLARED.items())
        body = "\n".join(f"    {line}" for line in without_dead(self.lines))
        return (
            f".visible .entry {self.name}(.param .u64 in, .param .u64 out)\n{{\n    {declared}\n{self.variables}"
            f"    .reg .b32 %t; .reg .b64 %a, %o, %y;\n{body}\n    ret;\n}}\n"
        )


def reads(type: str | None) -> dict[str, tuple[int, ...]]:
    """Where the registers of a class come from: offsets in a thread's bytes."""
    return MIXED_READS if type is None else {TYPES[type]: (0, 8, 16, 24, 32), "r": (48, 52)}

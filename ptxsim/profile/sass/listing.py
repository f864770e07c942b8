"""What nvdisasm prints, as instructions with their control bits; what ptxas -v says, as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Bits of the upper 64 of an instruction's 128 (sm_70 and later), as published by those who took the encoding apart: cycles until the
# warp's next instruction, the barrier that its result releases and the one that its reading releases, the barriers it waits for.
STALL, WRITE, READ, WAIT = 41, 46, 49, 52
NO_BARRIER = 7

_FUNCTION = re.compile(r"^\.text\.(\S+):$")
_LABEL = re.compile(r"^(\S+):$")
_MARK = re.compile(r'//## File "ptx", line (\d+)')
_CODE = re.compile(
    r"/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z]\w*(?:\.\w+)*)\s*(.*?)\s*;\s*/\* 0x([0-9a-f]{16}) \*/"
)
_REST = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/")
_TARGET = re.compile(r"\(([^()]+)\)")
_USED = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")
NO_PRODUCTS = ("IMAD.MOV", "IMAD.IADD", "IMAD.SHL")  # the multiplier as it copies, adds and shifts


@dataclass(slots=True)
class Instruction:
    """A machine instruction. `mark`: of the PTX instruction it comes from. `stall`: cycles to the warp's next one. `write`, `read`:
    barriers it releases, -1 for none. `waits`: a bit for each barrier it waits for. `target`: the label of a branch."""

    address: int
    guard: str
    name: str
    operands: str
    mark: int
    stall: int = 1
    write: int = -1
    read: int = -1
    waits: int = 0
    target: str = ""

    @property
    def base(self) -> str:
        """The opcode without modifiers."""
        return self.name.split(".", 1)[0]

    @property
    def multiplies(self) -> bool:
        """Whether it is a product of integers; that by one only adds."""
        return self.base == "IMAD" and not self.name.startswith(NO_PRODUCTS) and ", 0x1, " not in self.operands

    def control(self, word: int) -> None:
        """Take the control bits from the upper word."""
        self.stall, self.waits = word >> STALL & 15, word >> WAIT & 63
        self.write, self.read = (
            -1 if barrier == NO_BARRIER else barrier for barrier in (word >> WRITE & 7, word >> READ & 7)
        )


@dataclass(slots=True)
class Listing:
    """A kernel's instructions in order of addresses, the addresses of its labels, and what ptxas said."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: int = 0
    spilled: int = 0  # bytes stored and loaded, per thread, in the text of the machine code
    stack: int = 0
    shared: int = 0


def read_listing(listing: str, function: str) -> Listing:
    """The section of one function."""
    found, inside, mark = Listing(), False, 0
    for line in listing.split("\n"):
        if match := _FUNCTION.match(line):
            inside = match[1] == function
        elif not inside:
            continue
        elif match := _LABEL.match(line):
            at = found.instructions[-1].address + 16 if found.instructions else 0
            found.labels[match[1]] = at
        elif match := _MARK.search(line):
            mark = int(match[1])
        elif match := _CODE.search(line):
            address, guard, name, operands, _ = match.groups()
            made = Instruction(int(address, 16), guard or "", name, operands, mark)
            if "`(" in operands:
                named = _TARGET.search(operands)
                made.target = named[1] if named else ""
            found.instructions.append(made)
        elif (match := _REST.match(line)) and found.instructions:
            found.instructions[-1].control(int(match[1], 16))
    return found


def read_resources(said: str, function: str, into: Listing) -> None:
    """Registers, spills and shared memory of one function, from what ptxas -v says."""
    own = False
    for line in said.split("\n"):
        if "Compiling entry function" in line or "Function properties for" in line:
            own = f"'{function}'" in line or line.rstrip().endswith(f"for {function}")
        elif own and (match := _SPILLS.search(line)):
            into.stack, into.spilled = int(match[1]), int(match[2]) + int(match[3])
        elif own and (match := _USED.search(line)):
            into.registers = int(match[1])
            if shared := _SHARED.search(line):
                into.shared = int(shared[1])
            own = False

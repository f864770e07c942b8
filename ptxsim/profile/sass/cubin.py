"""Machine code that was given: a cubin made of the same PTX, by whatever assembler and options, tied to it through our own.

A cubin does not say which instruction of PTX its instructions come from. The assembler at hand does, of what it makes of the text; where
both have the same opcodes in the same order, instructions are taken for the same; of accesses, products and what else has a place of its own,
those of one opcode in their order. The rest is of the PTX instruction before it.
"""

from __future__ import annotations

import struct
from collections import Counter, deque
from difflib import SequenceMatcher
from pathlib import Path

from ptxsim.profile.sass.listing import Instruction, Listing, read_listing
from ptxsim.profile.sass.segments import ANCHORS
from ptxsim.profile.sass.tools import NoMachineCode, disassembled

LEAST = 0.95  # share of the accesses, products and the like that have to be found in the assembler's, as often
_HEADER, _SECTION = "<40xQ10xHHH", "<IIQQQQIIQQ"  # of an ELF file of 64 bits: where its sections are; one of them


def given_code(cubin: Path, function: str, assembled: Listing) -> Listing:
    """The code of a function in a cubin, with the marks of what the assembler has made of its PTX. Raises NoMachineCode."""
    try:
        data = cubin.read_bytes()
    except OSError as error:
        raise NoMachineCode(f"{cubin}: {error.strerror}") from None
    given = read_listing(disassembled(cubin), function)
    if not given.instructions:
        raise NoMachineCode(f"{cubin} has no {function}")
    same = _tie(given.instructions, assembled.instructions)
    if same < LEAST:
        raise NoMachineCode(
            f"{cubin}: {function} is other code than ptxas makes of its PTX here, or in another shape: {same:.0%} of its accesses and products alike"
        )
    given.registers = registers_in(data, function)
    given.shared, given.stack = assembled.shared, assembled.stack
    return given


def _tie(given: list[Instruction], assembled: list[Instruction]) -> float:
    """Give instructions the marks of those that are the same; returns the share of those that tie blocks to the PTX that both have as often."""
    ours, theirs = ([(i.name, bool(i.guard)) for i in code] for code in (given, assembled))
    pairs = {
        a + k: b + k
        for a, b, count in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        for k in range(count)
    }
    # What is in another order is taken one by one.
    left = deque(b for b in range(len(assembled)) if b not in set(pairs.values()))
    for a, i in enumerate(given):
        if a not in pairs and i.base in ANCHORS:
            found = next((b for b in left if assembled[b].name == i.name), None)
            if found is not None:
                left.remove(found)
                pairs[a] = found
    mark = assembled[min(pairs.values())].mark if pairs else 0
    for a, i in enumerate(given):
        i.mark = mark = assembled[pairs[a]].mark if a in pairs else mark
    # A loop that is unrolled otherwise has them another number of times: which turn each is of is then not known.
    counts, wanted = (Counter(i.mark for i in code if i.base in ANCHORS) for code in (given, assembled))
    same = sum(min(counts[mark], wanted[mark]) for mark in wanted)
    return same / max(1, counts.total(), wanted.total())


def registers_in(data: bytes, function: str) -> int:
    """Registers of a thread, as the section of a function's code in a cubin says; 0 if it does not."""
    if data[:5] != b"\x7fELF\x02":
        return 0
    begin, size, count, strings = struct.unpack_from(_HEADER, data)
    sections = [struct.unpack_from(_SECTION, data, begin + k * size) for k in range(count)]
    names = sections[strings][4]
    wanted = f".text.{function}".encode() + b"\0"
    return next((s[7] >> 24 for s in sections if data[names + s[0] :].startswith(wanted)), 0)

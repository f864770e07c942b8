"""The basic blocks of machine code, and what follows what."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxsim.closure import closure
from ptxsim.profile.sass.listing import Instruction, Listing

ENDS = ("BRA", "EXIT", "RET", "BRX", "JMP", "JMX", "KILL", "BPT")
SLOW_PATH = "$__internal"  # how the assembler's own functions are called


@dataclass(eq=False)
class Block:
    """A basic block of machine code. `covers`: PTX blocks that it is, with how often."""

    number: int
    instructions: list[Instruction]
    after: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    covers: dict[int, int] = field(default_factory=dict)
    # Of those, the ones without an anchor in it, beside others that have some.
    loose: set[int] = field(default_factory=set)
    is_cold: bool = False


def basic_blocks(listing: Listing) -> list[Block]:
    """The blocks that the kernel's start reaches, without the slow paths of arithmetic; with what follows what: a function after
    a call of it, and after its end what comes after each of its calls."""
    code = listing.instructions
    aimed = {listing.labels.get(i.target, -1) for i in code if i.target}
    blocks: list[Block] = []
    begins: dict[int, int] = {}
    for i in code:
        if not blocks or i.address in aimed or _ends(blocks[-1].instructions[-1]):
            begins[i.address] = len(blocks)
            blocks.append(Block(len(blocks), []))
        blocks[-1].instructions.append(i)
    returns: dict[int, list[int]] = {}  # by the block that a function begins with, those after its calls
    for block in blocks:
        last = block.instructions[-1]
        block.is_cold = any(i.target.startswith(SLOW_PATH) for i in block.instructions)
        if last.base in ("BRA", "JMP") and last.name != "BRA.DIV" and last.target:
            aim = begins.get(listing.labels.get(last.target, -1))
            block.after += [aim] if aim is not None else []
        if (
            last.base == "CALL"
            and not block.is_cold
            and (aim := begins.get(listing.labels.get(last.target, -1))) is not None
        ):
            block.after.append(aim)
            returns.setdefault(aim, []).append(block.number + 1)
        if last.base in ("BRX", "JMX"):
            block.after += [begins[a] for a in aimed if a in begins]
        falls = not _ends(last) or bool(last.guard) or last.name == "BRA.DIV" or ("P" in last.operands.split("`")[0])
        if falls and block.number + 1 < len(blocks):
            block.after.append(block.number + 1)
    for block in blocks:
        if block.instructions[-1].base == "RET":
            block.after += returns.get(max((n for n in returns if n <= block.number), default=0), [])
    reached = closure([0], lambda number: [n for n in blocks[number].after if not blocks[n].is_cold])
    for block in blocks:
        block.after = [n for n in dict.fromkeys(block.after) if n in reached] if block.number in reached else []
    for block in blocks:
        for next in block.after:
            blocks[next].before.append(block.number)
    return [block for block in blocks if block.number in reached]


def _ends(i: Instruction) -> bool:
    """Whether a block ends here: control may go elsewhere, or lanes may be gone."""
    return i.base in ENDS or i.base == "CALL"

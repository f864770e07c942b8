"""The machine code of a kernel as the replay takes it: the assembler's segments, and of what cannot be tied the lowering's blocks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ptxsim.closure import closure
from ptxsim.engine.program.operation import Program
from ptxsim.profile.lowering.lower import lowered
from ptxsim.profile.machine_code import BARRIERS, Kind, MachineOp, MachineProgram, Segment
from ptxsim.profile.sass.blocks import Block
from ptxsim.profile.sass.cubin import given_code
from ptxsim.profile.sass.listing import Listing, read_listing, read_resources
from ptxsim.profile.sass.marks import marked
from ptxsim.profile.sass.segments import ANCHORS, SMALL, Matching
from ptxsim.profile.sass.tools import NoMachineCode, assembled, said_of
from ptxsim.profile.sass.translate import bank_reads, translated


def listing_of(
    program: Program, text: str, function: str, target: str, cubin: Path | None = None
) -> tuple[Listing, dict[int, list[int]]]:
    """What the assembler makes of a kernel, or has made of it in a cubin, and the sites of the line marks. Raises NoMachineCode."""
    with_marks, sites = marked(text, program.ops)
    said, printed = assembled(with_marks, target)
    listing = read_listing(printed, function)
    if not listing.instructions:
        raise NoMachineCode(f"the disassembly has no {function}")
    read_resources(said, function, listing)
    if cubin is not None:
        listing = given_code(cubin, function, listing)
    called = next(
        (i.target for i in listing.instructions if i.base == "CALL" and i.target not in {"", *listing.labels}), None
    )
    if called is not None:
        raise NoMachineCode(f"it calls {called}, whose code is not followed")
    return listing, sites


def resources_of(program: Program, text: str, function: str, target: str, most: int) -> tuple[int, int]:
    """(registers, bytes of local memory) of a thread: as the assembler says where there is one, else the lowering's estimate of registers,
    `most` at most."""
    found = Listing()
    with suppress(NoMachineCode):
        read_resources(said_of(marked(text, program.ops)[0], target), function, found)
    if found.registers:
        return found.registers, found.stack
    return lowered(program, target, most).registers, 0


def machine_code(
    program: Program, listing: Listing, marks: dict[int, list[int]], lowered: MachineProgram
) -> MachineProgram:
    """The lowering's program with the assembler's segments and registers in it."""
    matching = Matching(listing, marks, program, lowered)
    chains = _chains(matching)
    special, tensor = _from_lowering(lowered)
    segments: list[Segment] = []
    place: dict[int, int] = {}
    for chain in chains:
        pattern: list[tuple[int, bool]] = []
        for block in chain:
            own = matching.pattern(block)
            if pattern and own and pattern[-1][0] == own[0][0] and block is not chain[0]:
                own = own[1:]
            pattern += own
            place[block.number] = len(segments)
        here = {number for number, _ in pattern}
        ops: list[MachineOp] = []
        before = None
        for block in chain:
            for i in block.instructions:
                made = translated(
                    i,
                    matching.site(i),
                    matching.ptx(i),
                    here,
                    special,
                    tensor,
                    matching.is_local(i),
                    matching.is_remote(i),
                )
                made[0].again = i.address in matching.pieces
                made[0].reading = (*bank_reads(i, before), *bank_reads(i, None))
                ops += made
                before = i
        segments.append(Segment(ops, pattern))
    _mark_detours(segments, lowered)
    for number, chain in enumerate(chains):
        segments[number].followers = _followers(matching, chain, place)
    heads = {segment.pattern[0][0] for segment in segments}
    firm = {number for block in matching.blocks for number in set(block.covers) - block.loose}
    silent = frozenset(
        number for number, block in enumerate(program.blocks) if block and number not in heads and number not in firm
    )
    for segment in segments:
        segment.pattern = [(number, optional) for number, optional in segment.pattern if number not in silent]
    return replace(
        lowered, slots=lowered.slots + BARRIERS, registers=listing.registers or lowered.registers, spilled=listing.spilled,
        segments=segments, silent=silent,
    )  # fmt: skip


def _from_lowering(lowered: MachineProgram) -> tuple[dict[int, list[MachineOp]], dict[int, float]]:
    """By site, what the lowering has that is more than issue and one access, and the cycles of a product."""
    special: dict[int, list[MachineOp]] = {}
    tensor: dict[int, float] = {}
    plain = (Kind.PLAIN, Kind.COPY, Kind.ACCESS, Kind.BRANCH, Kind.LOOP_BRANCH, Kind.EXIT, Kind.RETURN, Kind.SHUFFLE)
    for block in lowered.blocks:
        for op in block.ops:
            if op.unit == "tensor" and op.cost is not None:
                tensor[op.site] = op.cost
            elif op.kind not in plain:
                special.setdefault(op.site, []).append(op)
    return special, tensor


def _mark_detours(segments: list[Segment], lowered: MachineProgram) -> None:
    """Operations that may need a routine wait for it where they find out: at the check, or else at the function's approximation."""
    cycles = {op.site: (op.detour, op.detour_early) for block in lowered.blocks for op in block.ops if op.detour}
    ops = [op for segment in segments for op in segment.ops if op.site in cycles]
    checked = {op.site for op in ops if op.unit == "check"}
    for op in ops:
        if op.unit == ("check" if op.site in checked else "mufu"):
            op.detour, op.detour_early = cycles[op.site]


def _chains(matching: Matching) -> list[list[Block]]:
    """Blocks of machine code that run one after the other as one segment."""
    chain_of: dict[int, list[Block]] = {}
    chains: list[list[Block]] = []
    for block in matching.blocks:
        home = None
        for number in block.before:
            chain = chain_of.get(number)
            if chain is not None and number < block.number and _continues(matching, chain, block):
                home = chain
                break
        if home is None:
            home = []
            chains.append(home)
        home.append(block)
        chain_of[block.number] = home
    return [chain for chain in chains if any(block.covers for block in chain)]


def _followers(matching: Matching, chain: list[Block], place: dict[int, int]) -> set[int]:
    """Segments that can come after a chain, blocks that are part of none passed over."""
    inside = {block.number for block in chain[1:]}

    def begins(number: int) -> bool:
        return bool(matching.by_number[number].covers) and number in place

    starts = [n for block in chain for n in block.after if n not in inside]
    reached = closure(starts, lambda number: () if begins(number) else matching.by_number[number].after)
    return {place[number] for number in reached if begins(number)}


def _continues(matching: Matching, chain: list[Block], block: Block) -> bool:
    """Whether a block of machine code is the rest of a PTX block that a chain has begun, or of none."""
    before = chain[-1]
    if not block.covers:
        if len(before.after) > 1 and _leads(matching, block):
            return False
        begins_loop = any(number >= block.number for number in block.before)
        return not begins_loop and (len(block.instructions) <= SMALL or before.after == [block.number])
    if not any(b.covers for b in chain):
        return block.before == [before.number]
    last = max((max(b.covers) for b in chain if b.covers), default=-1)
    if min(block.covers) != last or block.covers[last] != 1:
        return False
    own = {matching.site(i) for i in block.instructions if i.base in ANCHORS and matching.ptx(i) == last}
    theirs = {matching.site(i) for b in chain for i in b.instructions if i.base in ANCHORS and matching.ptx(i) == last}
    return not own & theirs and bool(own or theirs)


def _leads(matching: Matching, block: Block) -> bool:
    """Whether a block that is tied to none begins a PTX block whose rest comes after it alone: a routine whose slow path has cut the code, as that of sqrt."""
    home = matching.home(block)
    while not block.covers:
        if len(block.after) != 1:
            return False
        next = matching.by_number[block.after[0]]
        if next.before != [block.number]:
            return False
        block = next
    return home in block.covers

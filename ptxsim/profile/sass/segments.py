"""Which part of the machine code is which blocks of the PTX: by line marks, and by what can neither be moved nor copied at will.

The assembler turns branches into predicates, unrolls, peels and duplicates. A basic block of machine code is tied to the PTX blocks
whose anchors it holds - accesses, exchanges, barriers, products, or floating-point arithmetic that is always one instruction - as often
as it holds them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from ptxsim.closure import closure
from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.program.operation import Op, Program
from ptxsim.profile.lowering.fusion import is_remote, maps_shared
from ptxsim.profile.machine_code import Kind, MachineProgram
from ptxsim.profile.sass.blocks import ENDS, Block, basic_blocks
from ptxsim.profile.sass.listing import Instruction, Listing
from ptxsim.profile.sass.ways import way_through

# Opcodes that one PTX instruction has a fixed number of; those in PINNED stay in their block.
PINNED = {
    "STG", "STS", "ST", "STL", "STSM", "ATOM", "ATOMS", "ATOMG", "RED", "REDG", "STAS", "REDAS", "LDGSTS", "SHFL", "BAR", "SYNCS", "HMMA", "IMMA", "DMMA",
    "BMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTMALDG", "UTMASTG", "UBLKCP", "UTMAREDG", "UBLKRED", "LDSM", "MATCH", "VOTE", "REDUX", "CREDUX",
    "UCGABAR_ARV", "UCGABAR_WAIT", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "UTCCP", "UTCSHIFT", "UTCBAR", "LDTM", "STTM",
}  # fmt: skip
PRODUCTS = {"HGMMA", "IGMMA", "QGMMA", "BGMMA"}  # of a warpgroup
ARITHMETIC = {"FFMA", "DFMA", "DMUL", "DADD"}  # an anchor where the PTX instruction is that and nothing else
ANCHORS = PINNED | ARITHMETIC | {"LDG", "LDS", "LD", "LDL"}
VECTORS = {"LDG", "LDS", "LD"}  # loads that the assembler may make several of, for one of a vector
# What the lowering has one of, as the assembler has.
ANCHORED = (
    Kind.ACCESS, Kind.ASYNC_COPY, Kind.SHUFFLE, Kind.PRODUCT, Kind.TENSOR_WORK, Kind.TENSOR_COMMIT, Kind.TENSOR_MOVE,
)  # fmt: skip
PLACE = re.compile(r"\[([^][]*?)\+?(-?0x[0-9a-f]+)?\]$")  # of an access: its registers, its offset
SMALL = 16  # instructions of what is run along with the block before it, though it is not always run


class Matching:
    """Ties basic blocks of machine code to blocks of PTX."""

    def __init__(self, listing: Listing, marks: Mapping[int, list[int]], program: Program, lowered: MachineProgram):
        self.program, self.graph = program, control_flow(program)
        self.block_of = {op.site: number for number, block in enumerate(program.blocks) for op in block}
        self.site_of = {mark: next((s for s in sites if s in self.block_of), sites[0]) for mark, sites in marks.items()}
        self.expected = _expected(lowered)
        self.maps_shared = maps_shared(program)
        self.products = {op.site for part in lowered.blocks for op in part.ops if op.kind == Kind.PRODUCT}
        self.product_of: dict[int, int] = {}
        self.sizes = Counter(
            op.site
            for part in lowered.blocks
            if part.unroll == 1
            for op in part.ops
            if op.kind != Kind.COPY and op.space != "spill"
        )
        self.blocks = basic_blocks(listing)
        self.pieces = {address for block in self.blocks for address in self._pieces(block)}
        self.by_number = {block.number: block for block in self.blocks}
        self._name_products()
        self._cover()

    def site(self, i: Instruction) -> int:
        """The PTX instruction that a machine instruction comes from."""
        return self.product_of.get(i.address, self.site_of.get(i.mark, 0))

    def ptx(self, i: Instruction) -> int:
        """Its block; -1 for none."""
        return self.block_of.get(self.site(i), -1)

    def home(self, block: Block) -> int:
        """The PTX block that most instructions of a block of machine code come from; -1 for none."""
        here = Counter(self.ptx(i) for i in block.instructions if self.ptx(i) >= 0)
        return max(here, key=lambda number: here[number]) if here else -1

    def _name_products(self) -> None:
        """A warpgroup's products often have the mark of the instruction after: those of a block are, in order, those of the PTX block
        that most of their marks name."""
        those_of: dict[int, list[int]] = {}
        for site in sorted(self.products):
            those_of.setdefault(self.block_of[site], []).append(site)
        for block in self.blocks:
            found = [i for i in block.instructions if i.base in PRODUCTS]
            homes = Counter(self.ptx(i) for i in found if self.ptx(i) in those_of)
            if homes:
                own = those_of[max(homes, key=lambda number: homes[number])]
                self.product_of |= {i.address: own[k % len(own)] for k, i in enumerate(found)}

    def _cover(self) -> None:
        """Find out what each block of machine code is."""
        anchors = [self._anchors(block, ANCHORS) for block in self.blocks]
        pinned = [self._anchors(block, PINNED) for block in self.blocks]
        has_anchor = {self.block_of[s] for found in anchors for s in found}
        has_pinned = {self.block_of[s] for found in pinned for s in found}
        surviving: dict[int, set[int]] = {}
        for block in self.blocks:
            for i in block.instructions:
                surviving.setdefault(self.ptx(i), set()).add(self.site(i))
        for block, own, fixed in zip(self.blocks, anchors, pinned):
            here: dict[int, set[int]] = {}
            for i in block.instructions:
                here.setdefault(self.ptx(i), set()).add(self.site(i))
            for number, sites in here.items():
                if number < 0:
                    continue
                if number in has_pinned:
                    is_covered = any(self.block_of[s] == number for s in fixed)
                elif number in has_anchor:
                    all_ = [s for s in surviving[number] if any(s in found for found in anchors)]
                    is_covered = 2 * sum(s in own for s in all_) >= max(1, len(all_))
                else:
                    is_covered = 2 * len(sites) >= len(surviving[number])
                if is_covered:
                    block.covers[number] = self._times(number, block, own)
            firm = {self.block_of[s] for s in own} & set(block.covers)
            if block.covers and not firm:
                firm = {max(block.covers, key=lambda number: len(here[number]))}
            block.loose = set(block.covers) - firm
            block.covers.update(dict.fromkeys(block.loose, 1))
        self._leave_moved()
        self._leave_ahead()
        self._leave_strays(anchors)
        self._settle_rest()
        covered = {number for block in self.blocks for number in block.covers}
        self.silent = set(range(len(self.program.blocks))) - covered

    def _leave_moved(self) -> None:
        """What a block has of a PTX block without being sure of it has only been moved there if the rest is a block of its own."""
        own: dict[int, list[set[int]]] = {}
        for block in self.blocks:
            for number in set(block.covers) - block.loose:
                own.setdefault(number, []).append(self._sites_of(block, number))
        for block in self.blocks:
            for number in sorted(block.loose):
                here = self._sites_of(block, number)
                if any(not here & sites for sites in own.get(number, ())):
                    block.loose.discard(number)
                    del block.covers[number]

    def _leave_ahead(self) -> None:
        """What a block has of a PTX block has been moved ahead, loads too, where that one's own branch ends a block that is tied to none: that one
        is the PTX block, after all that may run in between."""
        ends = {part[-1].site: number for number, part in enumerate(self.program.blocks) if part}
        rest: dict[int, list[Block]] = {}
        for block in self.blocks:
            last = block.instructions[-1]
            if not block.covers and last.base == "BRA" and self.site(last) in ends:
                rest.setdefault(ends[self.site(last)], []).append(block)
        for block in self.blocks:
            home = self.home(block)
            for number in sorted(n for n in block.covers if n in rest and n > home):
                here = self._sites_of(block, number)
                if home in block.covers and not any(here & self._sites_of(other, number) for other in rest[number]):
                    block.loose.discard(number)
                    del block.covers[number]
                    for other in rest[number]:
                        other.covers[number] = 1

    def _leave_strays(self, anchors: list[Counter[int]]) -> None:
        """A block that has no anchor, and most of it from a PTX block that it is not tied to, is not what another block has the branch of."""
        for block, own in zip(self.blocks, anchors):
            if self.home(block) not in block.covers and not any(self.block_of[s] in block.covers for s in own):
                for number in sorted(block.covers):
                    branch = self.program.blocks[number][-1].site
                    if any(
                        self.site(i) == branch
                        for b in self.blocks
                        if b is not block
                        for i in b.instructions
                        if i.base in ENDS
                    ):
                        block.loose.discard(number)
                        del block.covers[number]

    def _sites_of(self, block: Block, number: int) -> set[int]:
        """PTX instructions of a PTX block that a block of machine code has something of."""
        return {self.site(i) for i in block.instructions if self.ptx(i) == number}

    def _settle_rest(self) -> None:
        """Blocks without what is pinned are part of the PTX block that most of them comes from, if nothing else is, and loops agree."""
        places: dict[int, set[int]] = {}
        for block in self.blocks:
            for i in block.instructions:
                places.setdefault(self.site(i), set()).add(block.number)
        looped = self._in_loops()
        for block in self.blocks:
            if block.covers:
                continue
            home = self.home(block)
            if home < 0:
                continue
            sites = {self.site(i) for i in block.instructions if self.ptx(i) == home}
            alone = sum(len(places[s]) == 1 for s in sites)
            if 2 * alone >= len(sites) and (not self.graph.loop_depth[home] or block.number in looped):
                block.covers[home] = 1

    def _in_loops(self) -> set[int]:
        """Blocks of machine code that can come to themselves again."""
        numbers = ((block.number, closure(block.after, lambda n: self.by_number[n].after)) for block in self.blocks)
        return {number for number, later in numbers if number in later}

    def _anchors(self, block: Block, names: set[str]) -> Counter[int]:
        """Sites of a block's anchors, with how many there are."""
        found: Counter[int] = Counter()
        for i in block.instructions:
            site = self.site(i)
            if i.base in names and site in self.block_of and i.address not in self.pieces and self._fits(i, site):
                found[site] += 1
        return found

    def _pieces(self, block: Block) -> set[int]:
        """Addresses of the further loads where the assembler reads a vector, of which the kernel uses some elements only, in pieces: loads of
        the same PTX instruction at other places within the vector. Each reads its lines anew."""
        found: set[int] = set()
        begun: dict[tuple[int, str], list[list[int]]] = {}
        for i in block.instructions:
            site = self.site(i)
            bytes = vector_bytes(self.program.ops[site]) if i.base in VECTORS else 0
            place = PLACE.search(i.operands)
            if not bytes or not place:
                continue
            offset = int(place[2] or "0", 16)
            vectors = begun.setdefault((site, place[1]), [])
            own = next((v for v in vectors if offset not in v and max(offset, *v) - min(offset, *v) < bytes), None)
            if own is None:
                vectors.append([offset])
            else:
                own.append(offset)
                found.add(i.address)
        return found

    def _fits(self, i: Instruction, site: int) -> bool:
        """Whether an access can be that of the PTX instruction: marks of what the assembler has moved or made are not always its own."""
        op = self.program.ops[site]
        if i.base in ("LDL", "STL") and not self.is_local(i):
            return False
        if i.base == "LDGSTS":
            return op.completes_by is not None
        if i.base in PRODUCTS:
            return site in self.products
        if i.base in ARITHMETIC:
            return self.sizes[site] <= 1
        return not i.base.startswith("LD") or (
            op.completes_by is None and not any(access.writes for access in op.accesses)
        )

    def is_local(self, i: Instruction) -> bool:
        """Whether the PTX instruction may access local memory: an access to it that comes from others is a register's."""
        return any(access.space in ("local", None) for access in self.program.ops[self.site(i)].accesses)

    def is_remote(self, i: Instruction) -> bool:
        """Whether an access goes to shared memory of the cluster, as far as can be told."""
        return is_remote(self.program.ops[self.site(i)], self.maps_shared)

    def _times(self, number: int, block: Block, own: Counter[int]) -> int:
        """How often a block of machine code holds a PTX block: what most of its anchors say, or of all its instructions."""
        if not self.graph.loop_depth[number]:
            return 1
        said = Counter(
            max(1, round(count / self.expected.get(site, 1)))
            for site, count in own.items()
            if self.block_of[site] == number
        )
        if not said:
            here = [i for i in block.instructions if self.ptx(i) == number]
            counts = Counter(self.site(i) for i in here)
            # A product with a sum, with carries or of double width, may be one instruction or several: there are as many as products.
            products = Counter(self.site(i) for i in here if i.multiplies)
            for site in products:
                counts[site] = products[site] if self.sizes[site] == 1 else counts[site]
            said = Counter(
                max(1, round(count / self.sizes[site])) for site, count in counts.items() if self.sizes.get(site)
            )
        return max(said, key=lambda times: (said[times], times)) if said else 1

    def pattern(self, block: Block) -> list[tuple[int, bool]]:
        """The PTX blocks that a block of machine code is, in the order they run; True: it need not run."""
        numbers = sorted(block.covers)
        way = way_through(self.graph, block.covers, self.silent)
        pattern = [(n, not self._always(n, way[0])) for n in way]
        k = 0
        while k < len(numbers) and not way:
            times, group = block.covers[numbers[k]], [numbers[k]]
            while k + 1 < len(numbers) and times > 1 and block.covers[numbers[k + 1]] == times:
                k += 1
                group.append(numbers[k])
            k += 1
            for _ in range(times):
                pattern += [(n, not self._always(n, group[0])) for n in group]
        head = next((k for k, (_, optional) in enumerate(pattern) if not optional), 0)
        if pattern and pattern[head][1]:
            pattern[0] = (pattern[0][0], False)
        first = pattern[0][0] if pattern else -1
        return [
            (
                n,
                optional
                or (n != first and (n in block.loose or not self._always(n, first) or self._guarded(n, block))),
            )
            for n, optional in pattern
        ]

    def _guarded(self, number: int, block: Block) -> bool:
        """Whether a turn of a loop that a block of machine code holds is all under a predicate of the assembler's: it runs if no other copy does."""
        found = [i for i in block.instructions if i.base in ANCHORS and self.ptx(i) == number]
        return (
            self.graph.loop_depth[number] > 0
            and bool(found)
            and all(i.guard and self.program.ops[self.site(i)].guard is None for i in found)
        )

    def _always(self, number: int, first: int) -> bool:
        """Whether a PTX block runs whenever `first` has."""
        return number == first or number in self.graph.postdominators[first]


def vector_bytes(op: Op) -> int:
    """Bytes that a lane reads or writes as a vector; 0 of other operations."""
    kind, count = op.words.get("type"), str(op.words.get("vec") or "")
    return kind.bits // 8 * int(count[1:]) if kind is not None and count else 0


def _expected(lowered: MachineProgram) -> dict[int, int]:
    """Anchors that one execution of a site is, as the lowering has it."""
    found: Counter[int] = Counter()
    for block in lowered.blocks:
        if block.unroll == 1:
            found.update(
                op.site for op in block.ops if (op.kind in ANCHORED or op.unit == "tensor") and op.space != "spill"
            )
    return dict(found)

"""Short branches that the assembler turns into predicates."""

from __future__ import annotations

from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering.fusion import Fusion
from ptxsim.profile.lowering.machine_code import Kind, MachineBlock

SHORT_BRANCH = 7  # instructions a branch may skip to become predication


class Predication(Fusion):
    """Puts the blocks behind short forward branches into the ones before."""

    def predicate(self, blocks: list[MachineBlock]) -> None:
        """Short forward branches over one block become predicates: the branch goes, the block runs as part of this one.

        What comes behind, if nobody else goes there, is part of it too.
        """
        full = [number for number, source in enumerate(self.program.blocks) if source]
        taken: set[int] = set()
        for place, number in enumerate(full):
            if number in taken:
                continue
            rest = full[place + 1 :]
            while len(rest) >= 2 and self._short_branch(blocks, number, *rest[:2]):
                inside, behind = rest[:2]
                self._absorb(blocks, number, inside)
                taken.add(inside)
                rest = rest[1:]
                if not self._entered_from(behind, {number, inside, *blocks[number].absorbed}):
                    break
                blocks[number].ops += blocks[behind].ops
                blocks[behind].ops = []
                blocks[number].absorbed += (behind,)
                taken.add(behind)
                rest = rest[1:]

    def _last(self, blocks: list[MachineBlock], number: int) -> Op | None:
        """The operation a block ends with, the blocks it has absorbed counted in."""
        source = self.program.blocks[(number, *blocks[number].absorbed)[-1]]
        return source[-1] if source else None

    def _short_branch(self, blocks: list[MachineBlock], number: int, inside: int, behind: int) -> bool:
        last, inner = self._last(blocks, number), blocks[inside]
        if last is None or last.control != "bra" or last.guard is None or not inside < last.targets[0] <= behind:
            return False
        if len(self.flow.predecessors[inside]) != 1 or any(op.control for op in self.program.blocks[inside]):
            return False
        return len(inner.ops) <= SHORT_BRANCH and all(
            op.kind in (Kind.PLAIN, Kind.COPY, Kind.ACCESS) for op in inner.ops
        )

    def _entered_from(self, block: int, known: set[int]) -> bool:
        """Whether a block is reached from these blocks alone, through empty ones or not."""
        queue, seen = [block], set()
        while queue:
            for before in self.flow.predecessors[queue.pop()]:
                if before in known or before in seen:
                    continue
                if self.program.blocks[before] or before >= block:
                    return False
                seen.add(before)
                queue.append(before)
        return True

    def _absorb(self, blocks: list[MachineBlock], number: int, inside: int) -> None:
        block, inner = blocks[number], blocks[inside]
        last = self._last(blocks, number)
        guard = self.guard(last)  # type: ignore[arg-type]
        block.ops = [op for op in block.ops if op.site != last.site]  # type: ignore[union-attr]
        for machine in inner.ops:
            machine.predicates = (*machine.predicates, *guard)
            machine.reads = tuple(dict.fromkeys([*machine.reads, *machine.writes]))
        block.ops += inner.ops
        block.absorbed += (inside,)
        inner.ops = []

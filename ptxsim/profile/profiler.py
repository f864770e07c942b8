"""From a traced run to Cycles: which SM to replay, with what share of L2 and DRAM, and what the result means."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.diagnostic import lines_of
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind
from ptxsim.profile.accuracy import Bar, bar_of, bound_by
from ptxsim.profile.advice import suggestions
from ptxsim.profile.cycles import Cycles, LineStalls
from ptxsim.profile.figures import dealt_clusters, figures_of
from ptxsim.profile.lowering.learned import OFF
from ptxsim.profile.lowering.lower import lowered
from ptxsim.profile.lowering.pressure import MOST
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.machine_code import MachineProgram, Pipe
from ptxsim.profile.model.encode import STALLS, Code, encode
from ptxsim.profile.model.entries import BLOCK, TENSOR
from ptxsim.profile.model.jobs import dealt
from ptxsim.profile.model.occupancy import Occupancy, estimated, occupancy
from ptxsim.profile.model.sharing import lost_from_l2
from ptxsim.profile.model.trace import Tracer
from ptxsim.profile.roofline import operations, products, roofline
from ptxsim.profile.sass.machine import listing_of, machine_code
from ptxsim.profile.sass.tools import NoMachineCode
from ptxsim.profile.sms import Sms, longest_warps
from ptxsim.profile.timeline import Timeline
from ptxsim.types import Target

if TYPE_CHECKING:
    from ptxsim.profile.replay.state import Machine

WAVES = 2  # of CTAs that an SM holds at a time: as many as a sample has of each SM
LONGER = 1.1  # times as many instructions as the longest warp of the busiest SM
FIRST = 0  # the SM of a sample that is replayed: no other has more CTAs
MANY, EVERY_OF_MANY = 4, 33  # of a grid of more than MANY times as many, each so-manieth SM is enough


class Profile:
    """The cycle model of one launch: gives the observer, and the Cycles when the run is over."""

    def __init__(
        self, program: Program, target: Target, grid: tuple[int, int, int], block: tuple[int, int, int],
        cluster: tuple[int, int, int], shared_bytes: int, sms: int = 1, registers: int | None = None,
        every: int = 1, text: str = "", function: str = "", most: int = MOST, gpu: str | None = None, cubin: Path | None = None,
    ):  # fmt: skip
        """registers: of a thread, as the assembler says; else the estimate of the lowering, `most` at most. every: only each Nth SM is listened to.
        text, function: what the assembler is given, where there is one. gpu: the machine, if not the target's own. cubin: machine code of the text, to be
        taken in place of what the assembler makes of it."""
        self.text, self.function, self.cubin = text, function, cubin
        self.no_assembly = ""
        self.written, self.program = program, merged(program)
        self.target = target
        self.threads = int(np.prod(block))
        self.ctas = int(np.prod(grid))
        self.cluster = int(np.prod(cluster))
        self.figures = dealt_clusters(figures_of(target.number, gpu), self.cluster)
        self.shared_bytes, self.sms = shared_bytes, sms
        self.tracer = Tracer(self.program, self.ctas, self.cluster, self.figures, every)
        self.registers, self.most = registers, most
        self.share = 1.0  # of the CTAs of its SM that a replayed one stands for
        self._machine: MachineProgram | None = None

    @property
    def machine(self) -> MachineProgram:
        """The kernel's machine code."""
        if self._machine is None:
            self._machine = lowered(self.written, self.target.name, self.most)
            try:
                listing, marks = listing_of(self.program, self.text, self.function, self.target.name, self.cubin)
                self._machine = machine_code(self.program, listing, marks, self._machine)
            except NoMachineCode as reason:
                self.no_assembly = str(reason)
        return self._machine

    @cached_property
    def code(self) -> Code:
        """The same as arrays."""
        return encode(self.machine, self.program.ops, self.figures)

    def take_sample(self) -> set[int]:
        """The CTAs that have to run: of each SM that is listened to a few waves, from all over its part of the grid."""
        sms, most = self.figures.sms, WAVES * self._held().ctas
        every = self.tracer.modulus if self.ctas <= MANY * most * sms else EVERY_OF_MANY
        busiest = -(-self.ctas // sms)
        self.share = max(1.0, busiest / most)
        self.tracer.modulus, self.tracer.replayed = every, FIRST
        # From equal parts, and of all remainders: CTAs are alike at a distance, that of their row in the grid.
        parts = np.arange(min(most, busiest))
        begins = parts * busiest // len(parts)
        chosen = begins + (parts - begins) % min(len(parts), busiest // len(parts))
        ctas = (np.arange(0, sms, every)[:, None] + chosen * sms).ravel()
        return {int(cta) for cta in ctas if cta < self.ctas}

    def _held(self) -> Occupancy:
        registers = self.registers or self.machine.registers
        if self.registers is None and self.no_assembly:
            return estimated(self.figures, self.threads, registers, self.shared_bytes, OFF)
        return occupancy(self.figures, self.threads, registers, self.shared_bytes)

    def cycles(self) -> Cycles:
        """Replay the busiest of the SMs that were kept. L2 is warm, unless the kernel touches more than it holds."""
        figures, held = self.figures, self._held()
        trace = self.tracer.trace(max(1, held.ctas) * figures.sms)
        cold = lost_from_l2(trace, figures, self.share)
        if self.cluster == 1 and self.share == 1:
            trace = dealt(trace, self.program, held.ctas * figures.sms)
        work = np.zeros(figures.sms)
        np.add.at(work, np.arange(self.ctas) % figures.sms, trace.work)
        kept = np.arange(0, figures.sms, trace.modulus)
        sms = Sms(
            self.program, self.code, self.machine.slots, figures, trace, self.ctas, self.threads, self.shared_bytes, held.ctas, cold
        )  # fmt: skip
        # Of those with as much to do the one that reads most: data of its CTAs may be what all read, which others have to fetch besides.
        order = kept[np.lexsort((-sms.read.by_sm, -work[kept]))][: max(1, self.sms)]
        busy = [int(sm) for sm in order if work[sm] > 0] or [int(order[0])]
        longest = longest_warps(trace, self.program, figures.sms)
        if longest.max() > LONGER * longest[busy].max():  # one with less to do in all may take longer
            busy.append(int(longest.argmax()))
        if self.tracer.replayed is not None:
            busy = [self.tracer.replayed]
        if flags := sms.flags():
            active, m, sm = sms.replay_all(flags)
        else:
            active, m, sm = max(((*sms.replay_one(sm), sm) for sm in busy), key=lambda result: result[0])
        scale = work.max() / work[kept].max() if work[kept].any() else 1.0
        if self.tracer.replayed is not None and work[sm]:  # it may have had less to do than the others of the sample
            scale = (work[kept].mean() if self.share > 1 else work[kept].max()) / work[sm]
        return self._result(held, sm, active * scale * self.share, m)

    def _result(self, held: Occupancy, sm: int, active: float, m: Machine) -> Cycles:
        from ptxsim.profile.replay.state import Count, Total

        figures, stalls = self.figures, m.stalls
        cycles, issued = max(1, round(active)), int(m.counts[Count.ISSUED])
        by_reason = {name: float(stalls[:, i].sum()) for i, name in enumerate(STALLS) if i and stalls[:, i].sum()}
        pipes = {
            pipe.name.lower(): float(m.busy[pipe]) / cycles / (1 if pipe == Pipe.LSU else 4)
            for pipe in Pipe
            if pipe not in (Pipe.NONE, Pipe.CBU) and m.busy[pipe]
        }
        kind = bound_by(cycles, pipes, by_reason)
        wide = Bar(kind, 0, figures.error, 1 / (1 + figures.error), 1 + figures.error)
        bar = wide if figures.error else bar_of(kind, not self.no_assembly, figures.name)
        memory = {total.name.lower(): float(m.totals[total]) for total in Total}
        result = Cycles(
            cycles, bar.mean, figures.clock_mhz, figures.name, held, sm, len(range(sm, self.ctas, figures.sms)),
            self.ctas / (figures.sms * held.ctas), issued, issued / (4 * cycles), pipes,
            dict(sorted(by_reason.items(), key=lambda kv: -kv[1])), self._lines(stalls), memory, [],
            Timeline(m.spans[: m.counts[Count.SPANS]], m.work[: m.counts[Count.WORK]], m.waits[: m.counts[Count.WAITS]], sm, self.program),
            self, self._unknown(), m.counts[Count.CODED] / max(1, issued), self.no_assembly, self.machine.spilled,
            roofline(figures, self.target.number, self._operations(m), memory, cycles),
        )  # fmt: skip
        result.bound_by, result.judged = kind, bar.launches
        result.low, result.high = round(cycles * bar.low), round(cycles * bar.high)
        result.suggestions = suggestions(result)
        return result

    def _operations(self, m: Machine) -> dict[str, float]:
        """Floating-point and matrix operations of the replayed SM, by type."""
        entries, blocks = m.entries, self.program.blocks
        executed = np.bincount(entries["site"][entries["code"] == BLOCK], minlength=len(blocks))
        work = entries[entries["code"] == TENSOR]
        return operations(blocks, executed, self.target.name) | products(self.program.ops, work["site"], work["first"])

    def _unknown(self) -> list[str]:
        """Instructions whose cost is not known, with their lines, in the order of the text."""
        lines: dict[str, list[int]] = {}
        for site in sorted(self.machine.unknown):
            op = self.program.ops[site]
            lines.setdefault(op.opcode, []).append(op.line)
        return [f"{opcode} ({lines_of(where)})" for opcode, where in lines.items()]

    def _lines(self, stalls: np.ndarray) -> list[LineStalls]:
        """Stalls by PTX line, those that waited longest first."""
        lines: dict[int, LineStalls] = {}
        sites = np.flatnonzero(stalls[:-1].sum(axis=1))
        for site, (issued, *waited) in zip(
            sites.tolist(), stalls[sites].tolist()
        ):  # one by one, numpy's numbers take long
            op = self.program.ops[site]
            row = lines.setdefault(op.line, LineStalls(op.line, op.opcode, 0, {}, _memory(op)))
            row.issued += int(issued)
            for reason, cycles in zip(STALLS[1:], waited):
                if cycles:
                    row.stalls[reason] = row.stalls.get(reason, 0.0) + cycles
        return sorted(lines.values(), key=lambda row: -row.waited)


def _memory(op: Op) -> str:
    """What an instruction does in memory, as `LineStalls` has it."""
    if any(access.kind is AccessKind.ATOMIC for access in op.accesses):
        return "atomic"
    return "local" if any(access.space == "local" for access in op.accesses) else ""

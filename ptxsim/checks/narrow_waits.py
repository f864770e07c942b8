"""Waits for mbarriers that say .acquire.cta, where copies of another CTA arrive: by the memory model they do not acquire what those bring.

An H200 gives such programs the data, and CUTLASS and the manual's examples leave the scope out, whose default it is: so that is silent, and who has
written it is told by a note. PTX ISA, "mbarrier.test_wait, mbarrier.try_wait"; "Memory Consistency Model".
"""

from __future__ import annotations

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program, fact
from ptxsim.isa.facts import Mechanism, Role
from ptxsim.lanes import word_mask
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_CORE, ODD_PHASE, Event, Observer, Space
from ptxsim.machine.memory import RANK_SHIFT


@fact
def narrow_waits(program: Program) -> frozenset[int]:
    """Sites of waits for mbarriers that say .acquire.cta."""
    return frozenset(
        op.site
        for op in program.ops
        if op.synchronises is not None
        and (op.synchronises.mechanism, op.synchronises.role) == (Mechanism.MBARRIER, Role.WAIT)
        and (op.words.get("sem"), op.words.get("scope")) == ("acquire", "cta")
    )


class NarrowWaitChecker(Observer):
    """Finds the waits for phases in which copies of other CTAs have arrived."""

    events = frozenset({Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT})
    spaces = frozenset({Space.SHARED})

    def __init__(self, program: Program, homes: Homes):
        self.waits = np.array(sorted(narrow_waits(program)))
        self.numbers, self.ctas = homes.numbers(), homes.size
        # By cluster, and by mbarrier with the parity of its phase: the site of a copy. By the sites of a wait and a copy: how often.
        self.sent: dict[tuple[int, int], int] = {}
        self.problems: dict[tuple[int, int], int] = {}

    def consume(self, records: np.ndarray) -> None:
        arrives = records["event"] == Event.MBARRIER_ARRIVE
        copies = arrives & (records["flags"] & (FLAG_ASYNC_PROXY | FLAG_CORE) == FLAG_ASYNC_PROXY)
        for record in records[copies | ~arrives & np.isin(records["site"], self.waits)]:
            cluster, rank = divmod(int(self.numbers[record["cta"]]), self.ctas)
            site = int(record["site"])
            for address in np.unique(record["addresses"][word_mask(record["mask"])]).tolist():
                if record["event"] == Event.MBARRIER_WAIT:
                    copy = self.sent.get((cluster, address))
                    if copy is not None:
                        self.problems[site, copy] = self.problems.get((site, copy), 0) + 1
                elif (address & (1 << ODD_PHASE) - 1) >> RANK_SHIFT != rank:
                    self.sent[cluster, address] = site

    def findings(self, program: Program) -> list[Finding]:
        """One for each wait and copy."""
        return [
            Finding(
                "missing-wait",
                f"{program.ops[wait].opcode} acquires in the scope of its CTA what another CTA copies: by the memory model that does not make the data known",
                level="note", count=times, labels=(Label.at(program.ops[copy], "copied here, by another CTA"),),
                notes=("an H200 gives such programs the data",), help="write .acquire.cluster",
            ).at(program.ops[wait])
            for (wait, copy), times in self.problems.items()
        ]  # fmt: skip

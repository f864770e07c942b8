"""Machine instructions as the cycle model sees them: which unit, how long, which registers. No encodings, no values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Pipe(IntEnum):
    """Where an instruction executes within a sub-core. Names follow the profiler's pipes."""

    NONE = 0  # only an issue slot
    ALU = 1
    FMA = 2  # either half of the FMA pipe
    FMA_HEAVY = 3  # the half that multiplies integers
    FP64 = 4
    XU = 5
    TENSOR = 6
    LSU = 7
    UNIFORM = 8
    ADU = 9
    CBU = 10


class Kind(IntEnum):
    """What the replay does besides issuing."""

    PLAIN = 0
    COPY = 1  # no instruction: the destination is ready when the source is
    ACCESS = 2  # one recorded memory access (none recorded: predicated off)
    BARRIER = 3  # arrives, and waits if the record says so
    MBARRIER_ARRIVE = 4
    MBARRIER_WAIT = 5
    ASYNC_COPY = 6  # cp.async: an access whose data goes to shared memory
    ASYNC_COMMIT = 7
    ASYNC_WAIT = 8
    BULK = 9  # TMA: starts a copy
    BULK_COMMIT = 10
    BULK_WAIT = 11
    WGMMA = 12
    WGMMA_COMMIT = 13
    WGMMA_WAIT = 14
    BRANCH = 15
    EXIT = 16
    FENCE = 17
    SHUFFLE = 18  # goes through the shared-memory pipe, without an access
    CHECK = 19  # a branch to a slow path that is not taken; nothing is scheduled across it
    LOOP_BRANCH = 20  # a taken backward branch; left out in copies of an unrolled body


@dataclass(slots=True)
class MachineOp:
    """One machine instruction. `unit` names a row of the figures; registers are slots of the program or made up ones.

    `site` is the PTX instruction it comes from. `latency` and `cost` override the unit's. `amount`: groups a wait leaves open; the
    64-byte line of a constant.
    """

    unit: str
    writes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    site: int = 0
    kind: Kind = Kind.PLAIN
    latency: float | None = None
    cost: float | None = None
    amount: int = 0
    space: str = ""  # of an access: what may alias with what
    stores: bool = False
    predicates: tuple[int, ...] = ()  # reads as a guard
    control: bool = False  # part of a loop's counting, which unrolling leaves out


@dataclass(slots=True)
class MachineBlock:
    """Machine code of one PTX block. `absorbed`: PTX blocks after a short branch that run predicated as part of it."""

    ops: list[MachineOp] = field(default_factory=list)
    absorbed: tuple[int, ...] = ()
    unroll: int = 1


@dataclass(slots=True)
class MachineProgram:
    """Machine code of a kernel, by PTX block; `registers` is the estimate per thread, `code_bytes` the size."""

    blocks: list[MachineBlock]
    slots: int
    registers: int
    variants: dict[int, list[int]] = field(default_factory=dict)  # block -> its unrolled copies, largest first
    unknown: frozenset[int] = frozenset()  # sites of PTX instructions whose cost is not known

    @property
    def code_bytes(self) -> int:
        return 16 * sum(op.kind != Kind.COPY for block in self.blocks for op in block.ops)

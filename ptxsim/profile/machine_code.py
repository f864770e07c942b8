"""Machine instructions as the cycle model sees them: which unit, how long, which registers. No encodings, no values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

BARRIERS = 6  # that a warp has for what takes unknown time (registers of their own in the replay, after all others)


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
    TENSOR_MEMORY = 11  # to registers and back


# Lines of 64 bytes of constants that are told apart: of the kernel's parameters, and of the other banks.
BANK_LINES = 32
ASYNC_STORE = 2  # amount of an access to shared memory of the cluster that tells an mbarrier there


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
    PRODUCT = 12
    PRODUCT_COMMIT = 13
    PRODUCT_WAIT = 14
    BRANCH = 15
    EXIT = 16
    FENCE = 17
    SHUFFLE = 18  # goes through the shared-memory pipe, without an access
    CHECK = 19  # a branch to a slow path that is not taken; nothing is scheduled across it
    LOOP_BRANCH = 20  # a taken backward branch; left out in copies of an unrolled body
    INVALIDATE = 21  # L1 holds nothing afterwards: what an acquire of the GPU's scope does
    TENSOR_WORK = 22  # what the SM's tensor core does by itself: as recorded
    TENSOR_COMMIT = 23  # mbarriers hear of the end of the warp's work there
    TENSOR_MOVE = 24  # between registers and tensor memory
    TENSOR_WAIT = 25  # for those moves
    RETURN = 26  # from a function to where it was called


@dataclass(slots=True)
class MachineOp:
    """One machine instruction. `unit` names a row of the figures; registers are slots of the program or made up ones.

    `site` is the PTX instruction it comes from. `latency` and `cost` override the unit's. `amount`: groups a wait leaves open; the
    64-byte line of a constant; 1 for an atomic on shared memory of the cluster, ASYNC_STORE for what tells an mbarrier there.
    """

    unit: str
    writes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    site: int = 0
    kind: Kind = Kind.PLAIN
    latency: float | None = None
    cost: float | None = None
    amount: int = 0
    bytes: int = (
        0  # that a lane reads or writes in shared memory, where that may be more than PTX has in one instruction
    )
    space: str = ""  # of an access: what may alias with what
    place: tuple[int, int] | None = None  # of a weak one: how far from its base, the first of `reads`, and bytes
    stores: bool = False
    predicates: tuple[int, ...] = ()  # reads as a guard
    kept: tuple[
        int, ...
    ] = ()  # of what it reads: values that stay where it does not write, in the place of what it writes
    control: bool = False  # part of a loop's counting, which unrolling leaves out
    # Of the assembler's own code: what the hardware goes by instead of registers (profile.sass).
    stall: int = 0  # cycles to the warp's next instruction; 0: not the assembler's code
    waits: int = 0  # a bit for each of the warp's barriers that have to be free
    write_barrier: int = -1  # freed when the result is there
    read_barrier: int = -1  # freed when the operands have been read
    address: int = -1  # in the code, in bytes
    constant: int = 0  # the 64-byte line of constants that it reads, from 1 on
    # Registers it reads from the banks of even and of odd ones, after the warp's instruction before, and after another warp's.
    reading: tuple[int, int, int, int] = (0, 0, 0, 0)
    guarded: bool = False  # runs under a predicate
    moved: bool = False  # stands before the block whose access it makes
    again: bool = False  # reads more of the vectors of which the access before it, of the same site, has read elements
    converges: bool = False  # lanes of the warp meet again here
    detour: float = 0.0  # cycles more for the warp where the operands need a routine
    detour_early: float = 0.0  # and where that returns at once


def go_before(op: MachineOp, live: set[int]) -> None:
    """Let what is live after an operation be what is live before it."""
    live.difference_update(op.writes)
    live.update(op.reads, op.predicates)


@dataclass(slots=True)
class MachineBlock:
    """Machine code of one PTX block. `absorbed`: PTX blocks after a short branch that run predicated as part of it."""

    ops: list[MachineOp] = field(default_factory=list)
    absorbed: tuple[int, ...] = ()
    unroll: int = 1


@dataclass(slots=True)
class Segment:
    """Machine code that runs in one go, and what of the PTX that is: executions of blocks in a row, of which those marked True may
    be missing. `followers`: the segments that can come after it, if known."""

    ops: list[MachineOp]
    pattern: list[tuple[int, bool]]
    followers: set[int] = field(default_factory=set)


@dataclass(slots=True)
class MachineProgram:
    """Machine code of a kernel, by PTX block; `registers` is the estimate per thread, `code_bytes` the size.

    `segments`: the assembler's own code, where there is some; PTX blocks that begin none of them and are not `silent` run as
    the lowering made them.
    """

    blocks: list[MachineBlock]
    slots: int
    registers: int
    variants: dict[int, list[int]] = field(default_factory=dict)  # block -> its unrolled copies, largest first
    unknown: frozenset[int] = frozenset()  # sites of PTX instructions whose cost is not known
    segments: list[Segment] = field(default_factory=list)
    spilled: int = 0  # bytes of a thread's registers that are stored and loaded again, in the text of the code
    silent: frozenset[int] = frozenset()  # PTX blocks whose instructions are all part of segments of others
    successors: Sequence[Sequence[int]] = ()  # of each PTX block

    @property
    def code_bytes(self) -> int:
        return 16 * sum(op.kind != Kind.COPY for block in self.blocks for op in block.ops)

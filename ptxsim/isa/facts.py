"""What an instruction is, said once: the facts that a definition carries beside its syntax and its effect.

Engines, checks, bank counts, the cycle model and reports ask these facts; none of them looks at opcode text. `Words` are the
modifiers of a bound statement: slot names to words, types or flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ptxsim.isa.formula import operators

PAIR = "cta_group::2"  # the word for what two CTAs of a cluster do together
Word = Any  # the value of a modifier: a word, a type, whether a literal stands there, or None
Words = Mapping[str, Word]


class Scope(Enum):
    """Which threads execute the instruction together."""

    LANE = auto()
    WARP = auto()
    WARPGROUP = auto()
    CTA = auto()
    CLUSTER = auto()


class Control(Enum):
    """Where an instruction of control flow sends its lanes."""

    BRANCH = auto()
    TABLE = auto()  # a branch by an index
    CALL = auto()
    RETURN = auto()
    EXIT = auto()

    @property
    def comes_back(self) -> bool:
        """Whether the lanes go on after it: of all, a call alone."""
        return self is Control.CALL

    @property
    def leaves(self) -> bool:
        """Whether the lanes leave the function."""
        return self is Control.RETURN or self is Control.EXIT


class AccessKind(Enum):
    READ = auto()
    WRITE = auto()
    ATOMIC = auto()  # reads and writes in one


class Proxy(Enum):
    """The proxy an access goes through. PTX ISA, "Memory Consistency Model: Proxies"."""

    GENERIC = auto()
    ASYNC = auto()
    TENSORMAP = auto()
    ALIAS = auto()


@dataclass(frozen=True, slots=True)
class Access:
    """One access of an instruction to memory.

    `space` is None for a generic address; `remote` means .shared::cluster. `order` and `scope` are the PTX words.
    `compares`: memory is written only where it holds the operand after the address. `read_only`: memory that no thread writes as long
    as the kernel runs (.nc). `neutral`: an update by this number leaves memory as it is.
    """

    kind: AccessKind
    space: str | None
    order: str = "weak"
    scope: str | None = None
    proxy: Proxy = Proxy.GENERIC
    remote: bool = False
    compares: bool = False
    neutral: int | None = None
    read_only: bool = False

    @property
    def reads(self) -> bool:
        return self.kind is not AccessKind.WRITE

    @property
    def writes(self) -> bool:
        return self.kind is not AccessKind.READ


def access(kind: AccessKind, space: object, order: object = None, scope: object = None) -> Access:
    """An access by the words of an instruction: its state space (None is generic), memory order and scope."""
    name, _, part = str(space or "").partition("::")
    return Access(kind, name or None, str(order or "weak"), str(scope) if scope else None, remote=part == "cluster")


class Mechanism(Enum):
    """By what threads, or asynchronous operations and threads, are ordered."""

    WARP = auto()  # the members of a warp-wide .sync instruction
    BARRIER = auto()  # the sixteen barriers of a CTA
    CLUSTER_BARRIER = auto()
    FENCE = auto()
    MBARRIER = auto()
    CP_ASYNC_GROUP = auto()
    BULK_GROUP = auto()
    PRODUCT_GROUP = auto()
    TENSOR_MEMORY = auto()  # allocations of tensor memory, waits for loads and stores, fences


# The instructions with which a thread waits until what it has started is complete, in their order.
WAITS = {
    Mechanism.MBARRIER: ("mbarrier.try_wait",),
    Mechanism.CP_ASYNC_GROUP: ("cp.async.commit_group", "cp.async.wait_group"),
    Mechanism.BULK_GROUP: ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group"),
    Mechanism.PRODUCT_GROUP: ("wgmma.commit_group", "wgmma.wait_group"),
}

# Statements after which nothing of a mechanism is under way; of copies, after which their sources are free.
WAIT_FOR_ALL = {
    Mechanism.CP_ASYNC_GROUP: "cp.async.wait_all;",
    Mechanism.BULK_GROUP: "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
    Mechanism.PRODUCT_GROUP: "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
}
WARP_BARRIER, CTA_BARRIER = "bar.warp.sync 0xffffffff;", "bar.sync 0;"
PROXY_FENCE = "fence.proxy.async;"
IN_CUDA = {CTA_BARRIER: "__syncthreads();", WARP_BARRIER: "__syncwarp();"}  # what CUDA C++ has a word for


class Role(Enum):
    """What an instruction does in a mechanism."""

    SYNC = auto()  # arrive and wait
    ARRIVE = auto()
    WAIT = auto()
    COMMIT = auto()
    FENCE = auto()
    INIT = auto()
    END = auto()  # of an mbarrier: mbarrier.inval
    COUNT = auto()  # changes or reads the counts of an mbarrier without an arrival


@dataclass(frozen=True, slots=True)
class Synchronisation:
    mechanism: Mechanism
    role: Role


@dataclass(frozen=True, slots=True)
class Fence:
    """What a fence orders: accesses of other proxies than the generic one, of threads within a scope, or initialisations of mbarriers.

    `order`: sc, acq_rel, acquire or release; None where its form has no word for it. `scope`: cta, cluster, gpu or sys.
    """

    proxy: Proxy
    scope: str
    order: str | None = None
    of_mbarriers: bool = False

    @property
    def is_thread_fence(self) -> bool:
        """Whether it orders what threads do through the generic proxy."""
        return self.proxy is Proxy.GENERIC and not self.of_mbarriers


def always(_words: Words) -> bool:
    return True


def _none(_words: Words) -> tuple[Access, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts of a definition.

    family: the one identity, by default the first word of the name.
    accesses: the accesses to memory, by the words of the statement.
    synchronises: what it orders; fence: of fences, by their words. completes_by: what an asynchronous instruction's completion is waited for with; its
    destinations and sources belong to it until then.
    product: (words, target, numerics) -> machine.product.Product, of instructions that multiply matrices.
    cost: the row of the cycle model that it costs (profile.figures.UNITS, profile.lowering.emulated.SEQUENCES), also by its
    words; None where its family has a lowering of its own in profile.lowering. What has neither is reported as unknown.
    fidelity: (words, recorded) -> exact, modeled, bounded or None, where the form's availability does not say it; `recorded` is whether
    recordings of the target judge it.
    reads_lanes: a lane's result depends on registers of other lanes, whatever way those went.
    names_lanes: the result says which lanes of the member mask do something, or whether one does.
    uniform: all member lanes get the same result, whatever their sources.
    copies: the result is one of the sources as it is, which may be another lane's.
    opaque: its fragments are the instruction's own: registers with them may be used only as what they are (wmma).
    by_lanes: each lane names places in memory of its own.
    later: what its lanes do completes on mbarriers later (machine.copies.lane_work).
    detour: of the operands, which lanes' are outside of what the machine's short code takes, so that their warp calls a routine: 2, or 1 where
    it returns at once; 0 of others.
    control: where it sends its lanes, of branches, calls and returns: the engine itself gives them their effect.
    straight: ends no block though it uses the machine. Native code has a lowering for it, which takes the slow path for a fault, for
    members that are not all there, and where an update depends on what a generic address turns out to be. There the interpreter
    executes the rest of the block too, which costs time and changes nothing.
    formula: the result of one lane, where a short expression says it (isa.formula): signs, extrema and comparisons are abs(a),
    min(a, b), compare(a, b), a choice by c is select(a, b, c), a change of type is convert(a). Rounding, saturation and the half of a product are not in it.
    factors: of what ends with a product: the effect that returns the two factors as well.
    branches: by its words, whether ptxas makes branches of it, over which it fuses nothing.
    folds: whether ptxas makes a constant of constants, by its words (instructions.folding).
    votes: by its words, what it lets lanes vote on (machine.barriers.cta), of what gives them the result as they come out of a barrier.
    missing: why it is not modeled, where it is not.
    """

    family: str = ""
    scope: Scope = Scope.LANE
    accesses: Callable[[Words], tuple[Access, ...]] = _none
    synchronises: Synchronisation | None = None
    fence: Callable[[Words], Fence] | None = None
    completes_by: Mechanism | None = None
    product: Callable[[Words, str, str], object] | None = None
    cost: str | Callable[[Words], str | None] | None = None
    fidelity: Callable[[Words, bool], str | None] | None = None
    reads_lanes: bool = False
    names_lanes: bool = False
    uniform: bool = False
    copies: bool = False
    opaque: bool = False
    by_lanes: bool = False
    later: bool = False
    detour: Callable[..., Any] | None = None
    control: Control | None = None
    straight: bool = False
    formula: str = ""
    factors: Callable[..., Any] | None = None
    branches: Callable[[Words], bool] | None = None
    folds: Callable[[Words], bool] | None = None
    votes: Callable[[Words], int] | None = None
    missing: str = ""

    @property
    def operators(self) -> tuple[str, ...]:
        """What the formula is made with; nothing where there is none, or where it only copies."""
        return operators(self.formula)


# Why forms are not modeled.
UNPUBLISHED = "no public text says how its results are rounded, and what becomes of NaN and of overflow"
IMAGES = "textures and surfaces are not modeled"
SEVERAL_GPUS = "memory of several GPUs is not modeled"
NOTHING = "the assembler takes it and emits nothing, so that its result is not defined"
ASSEMBLER = "the assembler takes it, and no public source says what it means"


def warp_facts(family: str, **more: Any) -> Facts:
    """Of an instruction at which the member lanes of a warp wait for each other."""
    meeting = Synchronisation(Mechanism.WARP, Role.SYNC)
    return Facts(family=family, scope=Scope.WARP, synchronises=meeting, **more)

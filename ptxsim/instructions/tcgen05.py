"""Allocation of tensor memory, and the order of what is done with it. PTX ISA, "TensorCore 5th Generation Instructions".

Loads, stores and copies are in tcgen05_move, products in tcgen05_mma.
"""

from __future__ import annotations

from ptxsim.isa.facts import AccessKind, Facts, Mechanism, Role, Scope, Synchronisation, Word, access
from ptxsim.isa.operand import Either, Imm, Reg, Value
from ptxsim.isa.registry import Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Wait
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory import cells as memory
from ptxsim.machine.tensor_memory import core, move

FAMILY = "8.6 sm_100f sm_110f"
GROUP: Options = {"cta_group": "cta_group::1 cta_group::2"}


def ctas_of(group: str) -> int:
    """How many CTAs the word is of."""
    return int(group[-1])


# ---- allocation ------------------------------------------------------------------------------------------------------

COLUMNS = Either((Imm(choices=(32, 64, 128, 256, 512)), Reg("u32")))
ALLOCATES = Facts(
    family="tensor_memory_allocate", scope=Scope.WARP, accesses=lambda _words: (access(AccessKind.WRITE, "shared"),),
    synchronises=Synchronisation(Mechanism.TENSOR_MEMORY, Role.INIT),
)  # fmt: skip
FREES = Facts(
    family="tensor_memory_free", scope=Scope.WARP, synchronises=Synchronisation(Mechanism.TENSOR_MEMORY, Role.END)
)


@instruction(
    "tcgen05.alloc.cta_group.sync.aligned{.space}.b32 [a], columns", name="tcgen05.alloc", space="shared::cta",
    operands={"columns": COLUMNS}, writes="", requires=FAMILY, facts=ALLOCATES, **GROUP,
)  # fmt: skip
def allocate(m: Port, a: LaneValue, columns: LaneValue, *, cta_group: str) -> Wait | None:
    return memory.allocate(m, a, columns, ctas_of(cta_group))


@instruction(
    "tcgen05.dealloc.cta_group.sync.aligned.b32 a, columns", name="tcgen05.dealloc", requires=FAMILY, writes="", facts=FREES,
    operands={"a": Value("u32"), "columns": COLUMNS}, **GROUP,
)  # fmt: skip
def deallocate(m: Port, a: LaneValue, columns: LaneValue, *, cta_group: str) -> None:
    move.deallocate(m, a, columns, ctas_of(cta_group))


@instruction(
    "tcgen05.relinquish_alloc_permit.cta_group.sync.aligned", name="tcgen05.relinquish_alloc_permit", requires=FAMILY,
    facts=FREES, **GROUP,
)  # fmt: skip
def relinquish(m: Port, *, cta_group: str) -> None:
    memory.relinquish(m, ctas_of(cta_group))


# ---- order -----------------------------------------------------------------------------------------------------------

FENCES = Facts(family="tensor_memory_fence", synchronises=Synchronisation(Mechanism.TENSOR_MEMORY, Role.FENCE))
COMMITS = Facts(family="tensor_commit", synchronises=Synchronisation(Mechanism.MBARRIER, Role.ARRIVE))
WAITS = Facts(
    family="tensor_memory_wait", scope=Scope.WARP, synchronises=Synchronisation(Mechanism.TENSOR_MEMORY, Role.WAIT)
)


@instruction("tcgen05.wait::ld.sync.aligned", name="tcgen05.wait::ld", requires=FAMILY, facts=WAITS)
def wait_for_loads(m: Port) -> None:
    move.wait(m, stores=False)


@instruction("tcgen05.wait::st.sync.aligned", name="tcgen05.wait::st", requires=FAMILY, facts=WAITS)
def wait_for_stores(m: Port) -> None:
    move.wait(m, stores=True)


for number, name in enumerate(("tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync")):

    @instruction(name, name=name, requires=FAMILY, facts=FENCES, implies={"after": number})
    def fence(m: Port, *, after: Word) -> None:
        """Orders of tensor memory and of other synchronisation meet here: only checks need to know of it."""
        m.emit(Event.TENSOR_FENCE, addresses=[after])


COMMIT: Options = {
    "name": "tcgen05.commit", "space": "shared::cluster", "requires": FAMILY, "writes": "", "facts": COMMITS, **GROUP,
}  # fmt: skip


@instruction("tcgen05.commit.cta_group.mbarrier::arrive::one{.space}.b64 [a]", **COMMIT)
@instruction(
    "tcgen05.commit.cta_group.mbarrier::arrive::one{.space}.multicast::cluster.b64 [a], mask",
    operands={"mask": Reg("u16")}, **COMMIT,
)  # fmt: skip
def commit(m: Port, a: LaneValue, mask: LaneValue = None, *, space: Word, cta_group: str) -> None:
    memory.group_of(m, ctas_of(cta_group))
    core.commit(m, space, a, mask)

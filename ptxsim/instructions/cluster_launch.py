"""clusterlaunchcontrol: a running cluster takes over the work of one that has not begun. PTX ISA, "Parallel Synchronization and
Communication Instructions: clusterlaunchcontrol".

The 16 bytes of an answer are opaque to programs; here they are the index of the first CTA of the cluster that is cancelled, and 1, or
four zeros. All of it takes the slow path.
"""

from __future__ import annotations

import numpy as np

from ptxsim.instructions.async_store import post
from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Proxy, Word, Words
from ptxsim.isa.operand import Pred, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LANES, LaneValue, cast
from ptxsim.machine.fault import first_lane
from ptxsim.machine.memory import RANK_SHIFT, check_alignment, pack
from ptxsim.machine.port import Port
from ptxsim.types import TYPES

ANSWER: Kinds = {"a": Value("b128"), "d": Reg("b32"), "p": Pred()}
CANCEL = "clusterlaunchcontrol.try_cancel.async"
QUERY = "clusterlaunchcontrol.query_cancel"
BYTES = 16  # of an answer


def accesses(_words: Words) -> tuple[Access, ...]:
    return (Access(AccessKind.WRITE, "shared", proxy=Proxy.ASYNC),)


def trust(_words: Words, _recorded: bool) -> str:
    return "modeled"


CANCELS = Facts(family="cluster_cancel", accesses=accesses, completes_by=Mechanism.MBARRIER, fidelity=trust)
ANSWERS = Facts(family="cluster_answer", fidelity=trust)
TRY: Options = {"name": CANCEL, "space": "shared::cta", "facts": CANCELS, "writes": ""}


def ask(m: Port, a: LaneValue) -> np.ndarray:
    """The answer of each executing lane, as memory.pack has it."""
    check_alignment(a, m.mask, BYTES, "answer")
    if m.cta.knows_of_no_more:
        m.report(
            "cancel-after-failure", "a cluster is to be cancelled, and the CTA has seen that there is none", first_lane(m.mask),
            "end the loop where query_cancel.is_canceled is false",
        )  # fmt: skip
    words = np.zeros((4, LANES), np.uint32)
    for lane in np.flatnonzero(m.mask):
        first = m.machine.cancel_cluster()
        if first is not None:
            words[:, lane] = *first, 1
    return pack(list(words), TYPES["u32"])


@instruction(
    f"{CANCEL}{{.space}}.mbarrier::complete_tx::bytes.b128 [a], [mbar]", requires="8.6 sm_100", **TRY
)  # fmt: skip
def try_cancel(m: Port, a: LaneValue, mbar: LaneValue, *, space: Word) -> None:
    post(m, space, a, mbar, ask(m, a), BYTES, by_proxy=True)


@instruction(
    f"{CANCEL}{{.space}}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [a], [mbar]",
    requires="8.6 sm_100f sm_110f sm_120f", **TRY,
)  # fmt: skip
def try_cancel_for_all(m: Port, a: LaneValue, mbar: LaneValue) -> None:
    """Every CTA of the cluster gets the answer, at the same place in its shared memory."""
    data = ask(m, a)
    for rank in range(len(m.cta.cluster.ctas)):
        post(m, "shared::cluster", of_cta(a, rank), of_cta(mbar, rank), data, BYTES, by_proxy=True)


def of_cta(address: LaneValue, rank: int) -> LaneValue:
    """The same place in the shared memory of another CTA of the cluster."""
    offset: np.ndarray = address.astype(np.uint64) & np.uint64((1 << RANK_SHIFT) - 1)
    return offset + np.uint64(rank << RANK_SHIFT)


# ---- what an answer says -----------------------------------------------------------------------------------------------


def halves(a: LaneValue) -> list[LaneValue]:
    """The four words of an answer."""
    return [cast(word >> shift & 0xFFFFFFFF, "u32") for word in a for shift in (0, 32)]


@instruction(
    f"{QUERY}.is_canceled.pred.b128 p, a", name=f"{QUERY}.is_canceled", operands=ANSWER, writes="p",
    requires="8.6 sm_100", facts=ANSWERS,
)  # fmt: skip
def is_cancelled(m: Port, a: LaneValue) -> LaneValue:
    found = halves(a)[3] != 0
    m.cta.knows_of_no_more |= bool((m.mask & ~found).any())
    return found


@instruction(
    f"{QUERY}.get_first_ctaid.v4.b32.b128 d, a", name=f"{QUERY}.get_first_ctaid", requires="8.6 sm_100", facts=ANSWERS,
    operands={**ANSWER, "d": Vec(4, Reg("b32", sink=True))},
)  # fmt: skip
def first_cta(a: LaneValue) -> list[LaneValue]:
    return halves(a)


def coordinate(number: int) -> None:
    """Declare the query of one coordinate."""
    name = f"{QUERY}.get_first_ctaid::{'xyz'[number]}"

    @instruction(f"{name}.b32.b128 d, a", name=name, operands=ANSWER, requires="8.6 sm_100", facts=ANSWERS)
    def query(a: LaneValue) -> LaneValue:
        return halves(a)[number]


for number in range(3):
    coordinate(number)

"""What the instruction at a site means for order: bits, from the facts of its definition."""

from __future__ import annotations

from ptxsim.checks.ignored_waits import ignored_waits
from ptxsim.checks.order.dataflow.flags import followed_reads, taken_from_shared
from ptxsim.checks.order.dataflow.tickets import decided
from ptxsim.checks.order.dataflow.unused import strong_updates
from ptxsim.engine.program.operand import Constant
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Mechanism, Proxy, Role, Scope
from ptxsim.machine import event
from ptxsim.types import ScalarType

STRONG, ACQUIRES, RELEASES, ARRIVES = 1, 2, 4, 8  # ARRIVES: at a barrier without waiting there
SCOPE = 4  # where the two bits of the scope begin
TOGETHER = 64  # the lanes of the warp access memory for each other
WARPGROUP = 128  # a product of a warpgroup
CP_ASYNC = 256
UPDATES_SHARED, UPDATES_GLOBAL = 512, 1024  # writes strongly, and may do so there
REDUCES = 16384  # a copy that adds to its destination, in any order
INITIALIZES = 32768  # an mbarrier
COVERS = 8192  # a fence that stands in one order with all others of its kind
FRAGMENTS = 4096  # of wmma: a lane has the same elements in every access of the warp to a matrix
IGNORED = 131072  # a wait for an mbarrier whose result nothing looks at
BY_PROXY = 65536  # accesses global memory through the async proxy
UNORDERED = 524288  # a fence of the device or wider that stands in no such order
READ_ONLY = 262144  # takes global memory for constant as long as the kernel runs
DECIDED = 1048576  # a store that the result of an atomic decides about
TENSORS = 2097152  # allocates, frees or orders tensor memory
LATER = 2048  # writes later, and completes on an mbarrier then
SIZE = 22  # where the three bits of the size of a strong access begin: 1 + log2 of the bytes of an element, 0 where it is not known
PART = 33554432  # a strong access to part of a word, which counts as one of the word
VOTES = 134217728  # at a barrier whose threads hand each other a predicate
COUNTS = VOTES  # of what is FOLLOWED or TAKEN: an atomic that says who is the last one, and what that one reads
LOOKS = 67108864  # an atomic that leaves memory as it is
ENDS = LOOKS  # of what INITIALIZES, as its counterpart is told of: the mbarrier ends
FOLLOWED = 268435456  # a strong read of a flag
CARRIES = 1073741824  # a strong store of what a strong load has brought from its place, changed; or a sum of an atomic
TAKEN = 536870912  # a strong read of data, which is taken to be there (see followed)

WORD = 4  # bytes

_SCOPES = {
    "cta": event.Scope.CTA, "cluster": event.Scope.CLUSTER, "gpu": event.Scope.GPU, "gl": event.Scope.GPU,
    "sys": event.Scope.SYS,
}  # fmt: skip


@fact
def site_bits(program: Program) -> tuple[int, ...]:
    """The bits of every operation."""
    ignored, stores = ignored_waits(program), decided(program, AccessKind.WRITE)
    flags, data, counted = followed_reads(program)
    updates = strong_updates(program)
    bits = [
        _bits(op) | IGNORED * (op.site in ignored) | DECIDED * (op.site in stores) | FOLLOWED * (op.site in flags) | TAKEN * (op.site in data) | COUNTS * (op.site in counted) | CARRIES * (op.site in updates)
        for op in program.ops
    ]  # fmt: skip
    weak = taken_from_shared(program)
    bits = [b & ~(STRONG | 3 << SCOPE | 7 << SIZE) if site in weak else b for site, b in enumerate(bits)]
    if any(map(_swaps_words, program.ops)):
        bits = [_of_word(b) for b in bits]
    widest = max((b >> SCOPE & 3 for b in bits if b & COVERS), default=0)
    # Fences of one order must be in each other's scope: narrower ones count where there are no others.
    narrow = COVERS if widest >= event.Scope.GPU else 0
    return tuple(b & ~narrow if b >> SCOPE & 3 < event.Scope.GPU else b for b in bits)


def _bits(op: Op) -> int:
    facts = op.facts
    bits = WARPGROUP if facts.scope is Scope.WARPGROUP else TOGETHER if facts.scope is Scope.WARP and op.accesses else 0
    if facts.completes_by is Mechanism.CP_ASYNC_GROUP:
        bits |= CP_ASYNC
    if facts.opaque and op.accesses:
        bits |= FRAGMENTS
    bits |= READ_ONLY * any(access.read_only for access in op.accesses)
    if facts.completes_by is Mechanism.MBARRIER and any(access.writes for access in op.accesses):
        bits |= LATER  # products on tensor memory only read: their commits arrive for all that was read until then
    for access in op.accesses:
        is_copy = access.proxy is Proxy.ASYNC and access.space == "global"
        if access.kind is AccessKind.ATOMIC and (access.proxy is Proxy.ASYNC or bits & LATER):
            bits |= REDUCES
            if is_copy:  # "each reduction has .relaxed.gpu semantics"
                bits |= STRONG | UPDATES_GLOBAL | _scope("gpu") | _size(op)
        bits |= BY_PROXY * is_copy
        if access.order != "weak":
            default = "sys" if access.order == "volatile" else "gpu"
            bits |= STRONG | _scope(access.scope or default) | _size(op)
            bits |= ACQUIRES * (access.order in ("acquire", "acq_rel")) | RELEASES * (
                access.order in ("release", "acq_rel")
            )
            bits |= LOOKS * (access.neutral is not None and access.neutral in _constants(op))
            if access.kind is not AccessKind.READ:
                bits |= UPDATES_GLOBAL * (access.space != "shared") | UPDATES_SHARED * (access.space != "global")
    if facts.synchronises is not None:
        bits |= _synchronisation(op, facts.synchronises.mechanism, facts.synchronises.role)
    return bits


def _synchronisation(op: Op, mechanism: Mechanism, role: Role) -> int:
    words = op.words
    if mechanism is Mechanism.TENSOR_MEMORY:
        return TENSORS
    if mechanism is Mechanism.BARRIER:
        return ARRIVES * (role is Role.ARRIVE) | VOTES * bool(op.destinations)
    if (fence := op.fence) is not None:
        is_sc = fence.is_thread_fence and fence.order == "sc"
        is_loose = fence.is_thread_fence and not is_sc and _SCOPES[fence.scope] >= event.Scope.GPU
        kind = COVERS * is_sc | UNORDERED * is_loose | (_scope(fence.scope) if is_sc else 0)
        return ACQUIRES * (fence.order != "release") | RELEASES * (fence.order != "acquire") | kind
    if mechanism is Mechanism.MBARRIER and role in (Role.INIT, Role.END):
        return INITIALIZES | ENDS * (role is Role.END)
    if mechanism is Mechanism.MBARRIER and role in (Role.ARRIVE, Role.WAIT):
        # Without the words it is .cta, which all take for mbarriers of other CTAs too: the cluster.
        order = 0 if words.get("sem") == "relaxed" else RELEASES if role is Role.ARRIVE else ACQUIRES
        return STRONG | order | _scope(words.get("scope") or "cluster")
    return 0


def _constants(op: Op) -> list[int]:
    return [source.value for source in op.sources if isinstance(source, Constant)]


def size_of(bits: int) -> int:
    """The bytes of an element of a strong access; 0 where that is not known."""
    return 1 << (bits >> SIZE & 7) >> 1


def _swaps_words(op: Op) -> bool:
    """Whether it may stand for an atomic operation on part of a word, as libcu++ has them: by a loop around compare-and-swap."""
    return size_of(_size(op)) == WORD and any(access.compares for access in op.accesses)


def _of_word(bits: int) -> int:
    """A strong access to part of a word is in order with such an operation on it, though by the memory model their sizes differ."""
    return bits & ~(7 << SIZE) | WORD.bit_length() << SIZE | PART if 0 < size_of(bits) < WORD else bits


def _size(op: Op) -> int:
    """Of vectors, the size of an element; packed values are left open: whether they are one access is not said."""
    kind = op.words.get("type")
    return (kind.bits // 8).bit_length() << SIZE if isinstance(kind, ScalarType) and kind.lanes == 1 else 0


def _scope(name: str) -> int:
    return int(_SCOPES[str(name)]) << SCOPE

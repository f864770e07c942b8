"""What the lowering knows of a program before it starts: who defines and reads a register, edges, loops, uniformity."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ptxsim.engine.program.operand import Address, Register, Special, Vector
from ptxsim.engine.program.operation import Op, Program
from ptxsim.types import ScalarType

UNIFORM_SPECIALS = (
    "%ctaid",
    "%nctaid",
    "%ntid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%cluster",
    "%nclusterid",
    "%is_explicit",
    "%total",
    "%dynamic",
)


def registers_of(operand) -> list[int]:
    """Slots an operand mentions."""
    match operand:
        case Register():
            return [] if operand.sink or operand.slot < 0 else [operand.slot]
        case Vector():
            return [slot for element in operand.elements for slot in registers_of(element)]
        case Address():
            found = registers_of(operand.base) if isinstance(operand.base, Register) else []
            return found + [slot for part in operand.extra for slot in registers_of(part)]
    return []


def specials_of(op: Op) -> list[str]:
    """Special registers an operation reads."""
    return [s.name for s in op.sources if isinstance(s, Special)]


@dataclass(slots=True)
class Flow:
    """Facts by operation site, block number and register slot."""

    program: Program
    reads: dict[int, list[int]] = field(default_factory=dict)
    writes: dict[int, list[int]] = field(default_factory=dict)
    readers: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    definers: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    block_of: dict[int, int] = field(default_factory=dict)
    successors: list[list[int]] = field(default_factory=list)
    predecessors: list[list[int]] = field(default_factory=list)
    live: set[int] = field(default_factory=set)  # operations somebody needs
    uniform: set[int] = field(default_factory=set)  # slots that hold one value per warp, whatever the data
    loop_depth: list[int] = field(default_factory=list)
    dominators: list[set[int]] = field(default_factory=list)
    types: list[ScalarType] = field(default_factory=list)  # of registers, those that renaming made included


def analyze(program: Program) -> Flow:
    flow = Flow(program, types=list(program.slots))
    for number, block in enumerate(program.blocks):
        for op in block:
            flow.block_of[op.site] = number
            reads = [slot for source in op.sources for slot in registers_of(source)]
            if op.guard is not None:
                reads.append(op.guard[0])
            if op.call is not None:
                reads += [p.slot for p in op.call.arguments if p.slot is not None]
            writes = [slot for d in op.destinations for slot in registers_of(d)]
            if op.call is not None:
                writes += [p.slot for p in op.call.returns if p.slot is not None]
            flow.reads[op.site], flow.writes[op.site] = reads, writes
        _rename(flow, block)
        for op in block:
            for slot in set(flow.reads[op.site]):
                flow.readers[slot].append(op.site)
            for slot in set(flow.writes[op.site]):
                flow.definers[slot].append(op.site)
    _edges(flow)
    _dominators(flow)
    _liveness(flow)
    _uniformity(flow)
    return flow


def _rename(flow: Flow, block: list[Op]) -> None:
    """Give every value of a register but the block's last one a register of its own: reuse of names is no dependence."""
    left = Counter(slot for op in block for slot in set(flow.writes[op.site]))
    names: dict[int, int] = {}
    for op in block:
        reads, writes = flow.reads[op.site], flow.writes[op.site]
        now = [names.get(slot, slot) for slot in reads]
        if op.guard is not None:  # lanes that are off keep the old value
            now += [names.get(slot, slot) for slot in writes if slot not in reads]
        for slot in set(writes):
            left[slot] -= 1
            if left[slot]:
                names[slot] = len(flow.types)
                flow.types.append(flow.types[slot])
            else:
                names.pop(slot, None)
        flow.reads[op.site] = now
        flow.writes[op.site] = [names.get(slot, slot) for slot in writes]


def _edges(flow: Flow) -> None:
    blocks = flow.program.blocks
    for number, block in enumerate(blocks):
        last = block[-1] if block else None
        follows: list[int] = []
        if last is None or last.control not in ("bra", "brx.idx", "ret", "exit") or last.guard is not None:
            follows.append(number + 1)
        if last is not None and last.control in ("bra", "brx.idx"):
            follows += [t for t in last.targets if t not in follows]
        flow.successors.append([f for f in follows if f < len(blocks)])
    flow.predecessors = [[] for _ in blocks]
    for number, follows in enumerate(flow.successors):
        for follow in follows:
            flow.predecessors[follow].append(number)


def _dominators(flow: Flow) -> None:
    count = len(flow.program.blocks)
    everything = set(range(count))
    dominators = [{0}] + [everything] * (count - 1)
    changed = True
    while changed:
        changed = False
        for number in range(1, count):
            before = [dominators[p] for p in flow.predecessors[number]]
            found = (set.intersection(*before) if before else set()) | {number}
            if found != dominators[number]:
                dominators[number], changed = found, True
    flow.dominators = dominators
    flow.loop_depth = [0] * count
    for tail in range(count):
        for head in flow.successors[tail]:
            if head in dominators[tail]:
                for number in loop_body(flow, head, tail):
                    flow.loop_depth[number] += 1


def loop_body(flow: Flow, head: int, tail: int) -> set[int]:
    """Blocks of the natural loop of a back edge."""
    body, queue = {head, tail}, [tail]
    while queue:
        number = queue.pop()
        if number == head:
            continue
        for before in flow.predecessors[number]:
            if before not in body:
                body.add(before)
                queue.append(before)
    return body


def has_effect(op: Op) -> bool:
    """Whether an operation matters beyond its destinations."""
    if op.control is not None or not op.destinations:
        return True
    name = op.opcode.partition(".")[0]
    if name in (
        "ld",
        "ldu",
        "shfl",
        "vote",
        "match",
        "redux",
        "activemask",
        "ldmatrix",
        "movmatrix",
        "mma",
        "wmma",
        "elect",
    ):
        return "volatile" in op.opcode or name in ("shfl", "vote", "match", "elect")
    return op.definition.uses_machine and name not in ("mov", "cvta", "isspacep", "mapa", "getctarank", "createpolicy")


def _liveness(flow: Flow) -> None:
    ops = flow.program.ops
    queue = [op.site for op in ops if op.site in flow.block_of and has_effect(op)]
    flow.live = set(queue)
    while queue:
        for slot in flow.reads[queue.pop()]:
            for definer in flow.definers[slot]:
                if definer not in flow.live:
                    flow.live.add(definer)
                    queue.append(definer)


def _uniformity(flow: Flow) -> None:
    """Slots that depend on constants, parameters and CTA indices alone."""
    varying: set[int] = set()
    changed = True
    while changed:
        changed = False
        for op in flow.program.ops:
            if op.site not in flow.block_of:
                continue
            writes = [w for w in flow.writes[op.site] if w not in varying]
            if writes and (_varies(op) or any(r in varying for r in flow.reads[op.site])):
                varying.update(writes)
                changed = True
    flow.uniform = {slot for slot in flow.definers if slot not in varying}


def _varies(op: Op) -> bool:
    name, _, rest = op.opcode.partition(".")
    if name in ("ld", "ldu"):
        return not rest.startswith(("param", "const"))
    if (
        name in ("shfl", "atom", "ldmatrix", "mma", "wmma", "wgmma", "match", "elect", "call", "tex")
        or op.call is not None
    ):
        return True
    return any(not s.startswith(UNIFORM_SPECIALS) for s in specials_of(op))

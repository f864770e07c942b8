"""Which strong reads are of flags, and which of data, by what becomes of their values.

A flag decides how its thread goes on: a loop looks at it until it is set, or an atomic's result is compared with a number (the last
CTA). Data that no loop waits for goes into other memory: who reads it takes it to be there. An address that has been read is a flag, too, of what stands
there (the node under the top of a stack).
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxsim.checks.order.dataflow.tickets import decided
from ptxsim.engine.analysis.control_flow import ControlFlow, control_flow
from ptxsim.engine.analysis.def_use import DefUse, def_use, slots_of, writes
from ptxsim.engine.program.operand import Address, Constant
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind
from ptxsim.types import ScalarType


def followed_reads(program: Program) -> tuple[set[int], set[int], set[int]]:
    """The sites of reads of flags, and of data; none of either where the program has not both. And those among them of counts by which one knows that it
    is the last, and of what the last one reads: that is to hold what all have added."""
    blocks = [op for block in program.blocks for op in block]
    reads = [op for op in blocks if _is_strong(op, "reads") and op.destinations]
    loads = [op for op in reads if _only_reads(op) and op.accesses[0].order not in ("acquire", "acq_rel")]
    if not loads:
        return set(), set(), set()
    flow, graph = def_use(program), control_flow(program)
    if not any(_is_strong(op, "writes") and not _is_asked(flow, op) for op in blocks):
        return set(), set(), set()
    awaited, flags, data = set[int](), set[int](), set[int]()
    told = decided(program, AccessKind.READ) | decided(program, AccessKind.ATOMIC)
    for op in reads:
        values, tests = _made_of(program, flow, op)
        if _ends_a_loop(program, flow, graph, op, values):
            awaited.add(op.site)
            if op.accesses[0].kind is AccessKind.READ or _writes_constants(op):
                flags.add(op.site)
        elif op.accesses[0].kind is AccessKind.ATOMIC and not op.accesses[0].compares and tests:
            flags.add(op.site)  # of the last one
    for op in loads:
        if op.site not in awaited and is_stored(program, flow, op) and not _is_looked_over(flow, graph, op, awaited):
            data.add(op.site)
    if not flags & awaited:  # what the last one reads, it reads as the last one
        data &= told
    if not flags or not data:
        flags, data = set(), set()
    for pointer, read in _led_to(program, flow, reads, [op for op in loads if op.site not in awaited]):
        flags.add(pointer)
        data.add(read)
    counts = {site for site in flags if _counts(program.ops[site])}
    return flags, data, counts | (data & told if counts else set())


def _led_to(program: Program, flow: DefUse, reads: list[Op], loads: list[Op]) -> Iterator[tuple[int, int]]:
    """Sites of reads that bring the address of a load, and those of such loads, whose values go into memory. A number that an atomic has counted promises nothing."""
    places = {op.site: _places_of(flow, op) for op in loads if is_stored(program, flow, op)}
    for pointer in reads if places else ():
        if pointer.accesses[0].kind is not AccessKind.READ and _writes_constants(pointer):
            continue
        values, _ = _made_of(program, flow, pointer)
        for site, slots in places.items():
            if site != pointer.site and not values.isdisjoint(slots):
                yield pointer.site, site


def taken_from_shared(program: Program) -> set[int]:
    """The sites of strong reads of shared memory that bring data, and no flag: no loop waits for what goes into other memory by arithmetic.

    `volatile` was meant to make a warp's exchange through shared memory right while its lanes ran in lock step (CUDA Programming Guide,
    "Independent Thread Scheduling": code that relies on it needs __syncwarp()): such a read is right only where something orders it.
    """
    ops = [op for block in program.blocks for op in block if op.destinations and _is_strong(op, "reads", "shared")]
    loads = [op for op in ops if op.accesses[0].kind is AccessKind.READ and op.accesses[0].order != "acquire"]
    if not loads:
        return set()
    flow, graph = def_use(program), control_flow(program)
    awaited = {op.site for op in ops if _ends_a_loop(program, flow, graph, op, _made_of(program, flow, op)[0])}
    return {
        op.site for op in loads
        if op.site not in awaited and is_stored(program, flow, op, compared=False) and not _is_looked_over(flow, graph, op, awaited)
    }  # fmt: skip


def _is_strong(op: Op, what: str, space: str = "global") -> bool:
    return any(access.order != "weak" and access.space == space and getattr(access, what) for access in op.accesses)


def _is_asked(flow: DefUse, op: Op) -> bool:
    """Whether anything reads what an operation brings: compilers write atom for red."""
    return any(flow.readers[slot] for slot in flow.writes[op.site])


def _is_plain(op: Op) -> bool:
    """Whether an operation makes values of values, of other lanes too."""
    return not op.accesses and op.call is None and not op.leads_away


def _made_of(program: Program, flow: DefUse, op: Op) -> tuple[set[int], bool]:
    """The values that are made of what an operation brings, and whether one of them is tested for being equal to another."""
    values = flow.made_of(flow.writes[op.site], _is_plain)
    readers = [program.ops[site] for slot in values for site in flow.readers[slot]]
    return values, any(
        _is_plain(each) and each.family == "setp" and each.words["cmp"] in ("eq", "ne") for each in readers
    )


def _ends_a_loop(program: Program, flow: DefUse, graph: ControlFlow, op: Op, values: set[int]) -> bool:
    """Whether a loop around an operation ends as one of some values says."""
    for body in graph.loops_around(flow.block_of[op.site]):
        for number in body:
            last = program.blocks[number][-1]
            if not body.issuperset(graph.successors[number]) and not values.isdisjoint(flow.reads[last.site]):
                return True
    return False


def _is_looked_over(flow: DefUse, graph: ControlFlow, op: Op, awaited: set[int]) -> bool:
    """Whether a load stands between two looks of a loop that ends as they say (a seqlock): what it brings is dropped if it was too early."""
    for body in graph.loops_around(flow.block_of[op.site]):
        looks = [site for site in awaited if flow.block_of[site] in body]
        if looks and min(looks) < op.site < max(looks):
            return True
    return False


def is_stored(program: Program, flow: DefUse, op: Op, compared: bool = True) -> bool:
    """Whether what an operation brings goes into memory by arithmetic alone, which no comparison is; compared: by compare-and-swap, too, which
    looks again."""
    values = set(flow.writes[op.site])
    rest = list(values)
    while rest:
        for site in flow.readers[rest.pop()]:
            each = program.ops[site]
            if any(access.compares for access in each.accesses) and not compared:
                continue
            if any(access.writes for access in each.accesses):
                if not _only_places(flow, each, values):
                    return True
            elif _is_plain(each) and not _makes_predicates(program, each):
                new = set(flow.writes[site]) - values
                values |= new
                rest += new
    return False


def _places_of(flow: DefUse, op: Op) -> set[int]:
    """The values that the addresses of an operation are made of."""
    found, at = set[int](), 0
    for source in op.sources:
        slots = flow.reads[op.site][at : at + len(slots_of([source]))]
        at += len(slots)
        if isinstance(source, Address):
            found.update(slots)
    return found


def _only_places(flow: DefUse, op: Op, values: set[int]) -> bool:
    """Whether some values are addresses of an operation, and nothing else in it."""
    at = 0
    for source in op.sources:
        slots = flow.reads[op.site][at : at + len(slots_of([source]))]
        at += len(slots)
        if not isinstance(source, Address) and not values.isdisjoint(slots):
            return False
    return True


def _makes_predicates(program: Program, op: Op) -> bool:
    return all(program.slots[slot].kind == "predicate" for slot in writes(op))


def _only_reads(op: Op) -> bool:
    """Whether an operation leaves memory as it is: an atomic that adds 0 does, and one that takes the larger of 0 and what has no sign."""
    access, kind = op.accesses[0], op.words.get("type")
    is_largest = op.words.get("op") == "max" and isinstance(kind, ScalarType) and kind.is_integer and not kind.is_signed
    neutral = 0 if is_largest else access.neutral
    looks = neutral is not None and any(isinstance(each, Constant) and each.value == neutral for each in op.sources)
    return access.kind is AccessKind.READ or (looks and bool(op.destinations))


def _counts(op: Op) -> bool:
    return op.accesses[0].kind is AccessKind.ATOMIC and str(op.words.get("op")) in ("add", "inc", "dec")


def _writes_constants(op: Op) -> bool:
    """Whether an atomic puts constants there, or changes by them: a lock is taken so, not a place of data."""
    return all(isinstance(source, Address | Constant) for source in op.sources)

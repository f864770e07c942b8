"""The control-flow graph of a program: edges between blocks, dominators, loops. A call's callee is no successor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from ptxsim.closure import closure
from ptxsim.engine.program.operation import Op, Program, fact


class ControlFlow:
    """The graph of one program, by block number. Blocks that functions begin with are its entries."""

    def __init__(self, program: Program):
        self.program = program
        count = len(program.blocks)
        self.successors = [self._following(number) for number in range(count)]
        self.predecessors: list[list[int]] = [[] for _ in range(count)]
        for number, targets in enumerate(self.successors):
            for target in targets:
                self.predecessors[target].append(number)
        self.entries = sorted({0, *(function.entry for function in program.functions.values())}) if count else []

    def _following(self, number: int) -> list[int]:
        block = self.program.blocks[number]
        last = block[-1] if block else None
        targets = list(dict.fromkeys(last.targets)) if last is not None and last.control else []
        ends = last is not None and last.guard is None and last.leads_away
        if not ends and number + 1 < len(self.program.blocks) and number + 1 not in targets:
            targets.append(number + 1)
        return targets

    @cached_property
    def through_calls(self) -> list[list[int]]:
        """The successors with a function's first block after a call of it, and after the function's ends what comes after its calls."""
        found = [list(targets) for targets in self.successors]
        functions = self.program.functions
        for number, block in enumerate(self.program.blocks):
            call = block[-1].call if block else None
            if call is None:
                continue
            names = self.program.called_by_address if call.name is None else {call.name}
            for entry in (functions[name].entry for name in sorted(names & functions.keys())):
                found[number].append(entry)
                for end in closure([entry], self.successors.__getitem__):
                    if any(op.leaves_function for op in self.program.blocks[end][-1:]):
                        found[end] += self.successors[number]
        return [list(dict.fromkeys(targets)) for targets in found]

    @cached_property
    def joins(self) -> frozenset[int]:
        """Blocks that more than falling through leads to: targets of branches, and where functions begin."""
        targets = {target for op in self.program.ops for target in op.targets}
        return frozenset(targets | {function.entry for function in self.program.functions.values()})

    @cached_property
    def dominators(self) -> list[set[int]]:
        """For each block, the blocks that every path from the program's start passes, itself included."""
        return _dominators(range(len(self.successors)), self.predecessors, {0})

    @cached_property
    def postdominators(self) -> list[set[int]]:
        """For each block, the blocks that every path to an end passes, itself included."""
        count = len(self.successors)
        ends = {n for n in range(count) if self._may_end(n)}
        return _dominators(range(count - 1, -1, -1), self.successors, ends)

    def _may_end(self, number: int) -> bool:
        last = self.program.blocks[number][-1:]
        return not self.successors[number] or any(op.leaves_function for op in last)

    def between(self, number: int) -> set[int]:
        """Blocks that only some lanes may execute after a branch that ends a block: those before all paths have joined."""
        joined = self.postdominators[number] - {number}

        def inside(block: int) -> set[int]:
            return set(self.successors[block]) - joined

        return closure(inside(number), inside)

    @cached_property
    def back_edges(self) -> list[tuple[int, int]]:
        """(head, tail) of the edges that lead back to a block on the path to them, in depth-first order from the entries."""
        found: list[tuple[int, int]] = []
        seen: set[int] = set()
        for entry in self.entries:
            path: list[tuple[int, Iterator[int]]] = [(entry, iter(self.successors[entry]))]
            on_path = {entry}
            seen.add(entry)
            while path:
                number, rest = path[-1]
                target = next(rest, None)
                if target is None:
                    path.pop()
                    on_path.discard(number)
                elif target in on_path:
                    found.append((target, number))
                elif target not in seen:
                    path.append((target, iter(self.successors[target])))
                    on_path.add(target)
                    seen.add(target)
        return found

    def loop_body(self, head: int, tail: int) -> set[int]:
        """The blocks of the natural loop of a back edge: those that come to its tail without passing its head."""
        return closure({head, tail}, lambda number: () if number == head else self.predecessors[number])

    @cached_property
    def loops(self) -> dict[int, set[int]]:
        """The blocks of each loop by its head, whatever ways lead back to that."""
        found: dict[int, set[int]] = {}
        for head, tail in self.back_edges:
            found.setdefault(head, set()).update(self.loop_body(head, tail))
        return found

    def loops_around(self, block: int) -> Iterator[set[int]]:
        """The bodies of the loops that a block is in."""
        bodies = (self.loop_body(head, tail) for head, tail in self.back_edges)
        return (body for body in bodies if block in body)

    @cached_property
    def loop_depth(self) -> list[int]:
        """How many loops each block is in."""
        depth = [0] * len(self.successors)
        for head, tail in self.back_edges:
            if head in self.dominators[tail]:
                for number in self.loop_body(head, tail):
                    depth[number] += 1
        return depth


def _dominators(order: range, before: list[list[int]], roots: set[int]) -> list[set[int]]:
    """For each block, what every path from the roots to it passes; `before`: the blocks a path comes from."""
    found = [{n} if n in roots else set(order) for n in sorted(order)]
    changed = True
    while changed:
        changed = False
        for number in order:
            if number in roots:
                continue
            known = [found[p] for p in before[number]]
            new = (set.intersection(*known) if known else set()) | {number}
            if new != found[number]:
                found[number], changed = new, True
    return found


def flow_back(successors: list[list[int]], before: Callable[[int, set[int]], set[int]]) -> list[set[int]]:
    """What is wanted after each block: what is before its followers. `before` makes what is before a block of what is after it."""
    entering: list[set[int]] = [set() for _ in successors]
    changed = True
    while changed:
        changed = False
        for number in range(len(successors) - 1, -1, -1):
            new = before(number, set().union(*(entering[s] for s in successors[number])))
            if new != entering[number]:
                entering[number], changed = new, True
    return [set().union(*(entering[s] for s in followers)) for followers in successors]


@fact
def control_flow(program: Program) -> ControlFlow:
    """The control-flow graph of a program."""
    return ControlFlow(program)


@fact
def block_of(program: Program) -> tuple[int, ...]:
    """The number of the block of every operation, by its site."""
    found = [0] * len(program.ops)
    for number, ops in enumerate(program.blocks):
        for op in ops:
            found[op.site] = number
    return tuple(found)


def leads(program: Program, start: Op, goal: Callable[[Op], bool], ends: Callable[[Op], bool]) -> bool:
    """Whether a way leads from after one operation to one of some others, past none that ends it."""
    graph, first = control_flow(program), block_of(program)[start.site]
    block = program.blocks[first]
    rest, seen = [(first, block[block.index(start) + 1 :])], set[int]()
    while rest:
        number, ops = rest.pop()
        for op in ops:
            if goal(op):
                return True
            if ends(op):
                break
        else:
            later = set(graph.successors[number]) - seen
            seen |= later
            rest += [(each, program.blocks[each]) for each in later]
    return False

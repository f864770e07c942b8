"""Ways through a program's graph: in which order a block of machine code runs the PTX blocks that it is."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ptxsim.engine.analysis.control_flow import ControlFlow

SOON = 8  # steps for each block of a way


def way_through(graph: ControlFlow, covers: Mapping[int, int], silent: Set[int]) -> list[int]:
    """The way that passes each of these blocks as often as it is said, and beside them only `silent` ones, which are no code: a loop that is left in
    its middle runs its head once more than the rest, wherever in the text the rest is. Empty where there is no such way, or it is not soon found."""
    first = next((n for n in covers if all(n in graph.dominators[other] for other in covers)), None)
    begins = sorted(covers, key=lambda n: (n != first, n))
    return next((way for n in begins if (way := _from(n, graph, covers, silent))), [])


def _from(first: int, graph: ControlFlow, covers: Mapping[int, int], silent: Set[int]) -> list[int]:
    """That way, if it can begin with a block."""
    left, whole = dict(covers), sum(covers.values())
    left[first] -= 1
    way, rest = [first], [_next(graph, first, left, silent)]
    for _ in range(SOON * whole):
        if len(way) == whole or not way:
            break
        if rest[-1]:
            way.append(rest[-1].pop())
            left[way[-1]] -= 1
            rest.append(_next(graph, way[-1], left, silent))
        else:
            rest.pop()
            left[way.pop()] += 1
    return way if len(way) == whole else []


def _next(graph: ControlFlow, number: int, left: Mapping[int, int], silent: Set[int]) -> list[int]:
    """Blocks after one of which some are left, those of the innermost loop last."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = list(graph.successors[number])
    while stack:
        n = stack.pop()
        if left.get(n):
            found.add(n)
        elif n in silent and n not in seen:
            seen.add(n)
            stack += graph.successors[n]
    return sorted(found, key=lambda n: (graph.loop_depth[n], -n))

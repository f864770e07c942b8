"""What a stream is given or a graph's node does, graphs of such steps, and their capture. CUDA Runtime API, "Graph Management"."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum

Work = Callable[[], int | None]  # what is done; an error's number, or CudaError


class Kind(IntEnum):
    """cudaGraphNodeType."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    HOST = 3
    GRAPH = 4
    EMPTY = 5
    WAIT_EVENT = 6
    RECORD_EVENT = 7
    ALLOCATE = 10
    FREE = 11


@dataclass(frozen=True)
class Step:
    """One thing that is done. given: the bytes of its parameters, where a node can say them. graph: whose steps it does, if it is a
    graph in a graph."""

    kind: Kind
    work: Work
    given: Callable[[], bytes] | None = None
    graph: Graph | None = None

    @classmethod
    def of(cls, graph: Graph, handle: int) -> Step:
        """What a graph does that is one node of another; its parameter is its handle."""
        return cls(Kind.GRAPH, graph.run, lambda: struct.pack("<Q", handle), graph)


@dataclass(frozen=True)
class Node:
    """A step of a graph, after those of the nodes with these handles."""

    step: Step
    after: frozenset[int] = frozenset()
    is_enabled: bool = True


@dataclass
class Graph:
    """Nodes by handle, in the order in which they were made. copies: of a clone, its handles by those of the original. objects: references
    to user objects, by their handles."""

    nodes: dict[int, Node] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)
    objects: dict[int, int] = field(default_factory=dict)

    def order(self) -> list[int] | None:
        """Handles, each after those it depends on; None for a cycle."""
        done: dict[int, None] = {}
        left = list(self.nodes)
        while left:
            ready = [handle for handle in left if self.nodes[handle].after <= done.keys()]
            if not ready:
                return None
            done |= dict.fromkeys(ready)
            left = [handle for handle in left if handle not in done]
        return list(done)

    def before(self, handles: Iterable[int]) -> set[int]:
        """These nodes and all that they wait for."""
        found: set[int] = set()
        left = list(handles)
        while left:
            handle = left.pop()
            if handle not in found:
                found.add(handle)
                left += self.nodes[handle].after
        return found

    def copy(self, handle: Callable[[], int] | None = None, keep: Callable[[Graph], int] | None = None) -> Graph:
        """The same nodes, with copies of the graphs that are nodes. handle: what gives each node one of its own; keep: what gives one to
        each graph."""
        names = {each: handle() if handle else each for each in self.nodes}

        def copied(step: Step) -> Step:
            if step.graph is None:
                return step
            graph = step.graph.copy(handle, keep)
            return Step.of(graph, keep(graph)) if keep else replace(step, work=graph.run, graph=graph)

        nodes = {
            names[each]: replace(node, step=copied(node.step), after=frozenset(map(names.__getitem__, node.after)))
            for each, node in self.nodes.items()
        }
        return Graph(nodes, names if handle else {}, dict(self.objects))

    def run(self) -> int | None:
        """Do all of it; the first error ends it."""
        steps = (self.nodes[handle] for handle in self.order() or ())
        return next(filter(None, (node.step.work() for node in steps if node.is_enabled)), None)


@dataclass
class Capture:
    """A graph that is made of what streams are given."""

    origin: int  # the stream where it began
    handle: int  # of the graph
    graph: Graph
    ends: dict[int, frozenset[int]]  # of each stream that takes part, the nodes that its next one waits for
    is_valid: bool = True  # nothing was asked that cannot be of a graph
    events: dict[int, frozenset[int]] = field(default_factory=dict)  # recorded in it: who waits for one joins

    def add(self, stream: int, handle: int, step: Step) -> None:
        self.graph.nodes[handle] = Node(step, self.ends[stream])
        self.ends[stream] = frozenset([handle])

"""Which thread last stored an element of an output, and which elements any has, by a repetition of the launch that is watched."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ptxsim.diagnostic import Label
from ptxsim.engine.program.operation import Op
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.session.inspect.operands import names_in
from ptxsim.session.inspect.touches import STORES, elements_of, flat
from ptxsim.session.launch import Launch
from ptxsim.session.views import box, written
from ptxsim.source import Source
from ptxsim.types import TYPES

WINDOW = 1 << 22  # elements of an array that are remembered: 20 bytes each
_SHOWN = 4  # lines that are named
_MOST_WRITTEN = 1 << 16  # elements that may take several ranges
Thread = tuple[int, int, int]  # CTA, warp, lane


class Stores(Observer):
    """Remembers, for every element of some buffers, the last instruction and thread that stored to it."""

    events = STORES
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, buffers: dict[str, tuple[int, int, int]]):
        """buffers: name -> (address, elements, bytes of an element)."""
        self.buffers = buffers
        self.sites = {name: np.zeros(count, np.int32) for name, (_, count, _) in buffers.items()}  # + 1; 0 is nobody
        self.threads = {name: np.zeros((count, 4), np.int32) for name, (_, count, _) in buffers.items()}
        # The first element that two threads have stored, atomics apart, and these two.
        self.twice: dict[str, tuple[int, Thread, Thread]] = {}

    def consume(self, records: np.ndarray) -> None:
        records = records[records["space"] == Space.GLOBAL]
        row, lane, address, width = flat(records)
        for name, (start, count, size) in self.buffers.items():
            element, hit = elements_of(address, width, start, count, size)
            # Row-major, so in the order of the run: where two records store to one element, the later one stays.
            access, part = np.nonzero(hit)
            which = row[access]
            threads = np.stack([records["cta"][which], records["warp"][which], lane[access], part], axis=1)
            self._look_twice(name, element[hit], threads.astype(np.int32), records["event"][which] == Event.STORE)
            self.sites[name][element[hit]] = records["site"][which] + 1
            self.threads[name][element[hit]] = threads

    def _look_twice(self, name: str, element: np.ndarray, threads: np.ndarray, is_store: np.ndarray) -> None:
        """Elements (n,) that threads (n, 4) store to, in the order of the run, before they are remembered."""
        order = np.flatnonzero(is_store)
        order = order[np.argsort(element[order], kind="stable")]
        element, threads = element[order], threads[order]
        before, is_known = self.threads[name][element], self.sites[name][element] > 0
        again = np.flatnonzero(element[1:] == element[:-1]) + 1
        before[again], is_known[again] = threads[again - 1], True
        twice = np.flatnonzero(is_known & (before[:, :3] != threads[:, :3]).any(axis=1))
        if len(twice) and (name not in self.twice or element[twice[0]] < self.twice[name][0]):
            first, second = (tuple(each[twice[0], :3].tolist()) for each in (before, threads))
            self.twice[name] = int(element[twice[0]]), first, second


Arrays = dict[str, tuple[str, np.ndarray]]  # name in expectations -> (parameter, array)


class Writers:
    """Name the last store to each element, by one more run of the launch when that is first asked.

    again: the launch on fresh data, and its arrays. source: the text of the program. A call takes the name of an array and an index, and says
    "stored at line 118 from %f2 by CTA 0 warp 2 lane 5". Of an array of more than WINDOW elements, so many are known as from the
    element that is asked for first; None is said of the others.
    """

    def __init__(self, again: Callable[[], tuple[Launch, Arrays]], source: Source):
        self._again, self._source = again, source
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._first: dict[str, int] = {}  # the element at which each buffer begins
        self._sizes: dict[str, int] = {}  # bytes of an element
        self._asked: list[tuple[str, tuple[int, ...], bool]] = []  # and whether any thread stores it

    def __call__(self, name: str, index: tuple[int, ...]) -> str | None:
        if self._shapes is None:
            self._shapes = self._watch(name, index)
        if name not in self._first:
            return None
        place = int(np.ravel_multi_index(index, self._shapes[name])) - self._first[name]
        if not 0 <= place < len(self._stores.sites[name]):
            return None
        site = int(self._stores.sites[name][place]) - 1
        self._asked.append((name, index, site >= 0))
        if site < 0:
            return "never stored"
        cta, warp, lane, part = self._stores.threads[name][place].tolist()
        op = self._ops[site]
        register = _register(op, part * self._sizes[name]) if op.family == "store" else ""
        return f"stored at {self._source.place(op.line)}{register} by {_thread((cta, warp, lane))}"

    def _watch(self, asked: str, index: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Run the launch; the shapes of its arrays, which may be as large as a run may need and are not held while it runs."""
        launch, arrays = self._again()
        kept = {name: (parameter, array.shape, array.dtype.itemsize) for name, (parameter, array) in arrays.items()}
        del arrays
        buffers = {}
        for name, (parameter, shape, size) in kept.items():
            placed = launch.arguments.buffers.get(parameter) or launch.arguments.buffers.get(f"{parameter}.array")
            if placed is not None:
                count = math.prod(shape)
                is_long = name == asked and count > WINDOW
                self._sizes[name] = size
                self._first[name] = first = int(np.ravel_multi_index(index, shape)) if is_long else 0
                buffers[name] = placed[1].address + first * size, min(WINDOW, count - first), size
        self._ops, self._stores = launch.program.ops, Stores(buffers)
        launch.run_grid([self._stores])
        return {name: shape for name, (_, shape, _) in kept.items()}

    # ---- what no thread stores to ----

    @property
    def misses_first(self) -> bool:
        """Whether no thread stores to the element that was asked for first."""
        return bool(self._asked) and not self._asked[0][2]

    @property
    def _unstored(self) -> tuple[str, tuple[int, ...]] | None:
        return next(((name, index) for name, index, is_stored in self._asked if not is_stored), None)

    def _stored_instead(self) -> list[tuple[int, str]]:
        """Where the first element that was asked for is one that no thread stores to: what is stored to its array.

        By lines of the author's text, the first such line with the elements that it stored last. Nothing where all elements are stored to.
        """
        if self._unstored is None:
            return []
        sites = self._stores.sites[self._unstored[0]]
        places: dict[str, tuple[int, list[np.ndarray]]] = {}
        for site in np.unique(sites[sites > 0]).tolist():
            line = self._ops[site - 1].line
            origin = self._source.origin(line)
            key = f"{origin.file}:{origin.line}" if origin else str(line)
            places.setdefault(key, (line, []))[1].append(np.flatnonzero(sites == site))
        return [
            (line, self._elements(self._unstored[0], np.sort(np.concatenate(found)))) for line, found in places.values()
        ]

    def labels(self, file: Source) -> Iterator[Label]:
        """The same as labels of a finding about a file: that of the program, or the one that it was made from."""
        for line, elements in self._stored_instead():
            origin = self._source.origin(line)
            text = f"stores {elements}"
            if file is self._source:
                yield Label(line, text)
            elif origin is not None and self._source.original(origin.file) is file:
                yield Label(origin.line, text, origin.column)

    def told(self) -> list[str]:
        """Sentences about the first element that was asked for and that no thread stores to; none where all are stored to."""
        if self._unstored is None:
            return []
        name, index = self._unstored
        lines = [self._source.place(line) for line, _ in self._stored_instead()]
        if not lines:
            return [f"no thread of this launch stores to {name}{self._window(name)}"]
        everything = self._elements(name, np.flatnonzero(self._stores.sites[name])) + self._window(name)
        more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        said = [
            f"{name}[{','.join(map(str, index))}]: {nobody_stores(everything)}, at {', '.join(lines[:_SHOWN])}{more}"
        ]
        if name in self._stores.twice:
            element, *threads = self._stores.twice[name]
            by = ", then ".join(map(_thread, threads))
            said.append(f"{self._elements(name, np.array([element]))} is stored by several threads: {by}")
        return said

    def _elements(self, name: str, places: np.ndarray) -> str:
        """Elements of an array, by their numbers from where its buffer begins."""
        shape = self._shape(name)
        indices = np.stack(np.unravel_index(places + self._first[name], shape), axis=1)
        if _MOST_WRITTEN < len(places) < math.prod(shape):
            slices = box(indices, shape)
            return name + slices if slices else f"{len(places)} elements of {name}"
        return written(name, indices, shape)

    def _window(self, name: str) -> str:
        """Which part of an array is known, where that is not all of it."""
        first, count = self._first[name], len(self._stores.sites[name])
        return f" (of {name}.flat[{first}:{first + count}])" if count < math.prod(self._shape(name)) else ""

    def _shape(self, name: str) -> tuple[int, ...]:
        assert self._shapes is not None
        return self._shapes[name]


def nobody_stores(stored: str) -> str:
    """Said of an element that is not among `stored`, what of its array is."""
    return f"no thread of this launch stores to it; stored is {stored}"


def _register(op: Op, offset: int) -> str:
    """ " from %r3": the register of a store that holds the byte at an offset; an element may be a part of one, or several."""
    registers = list(names_in(list(op.bound.operands.values())[-1]))
    type = TYPES.get(str(op.bound.modifiers.get("type")))
    number = offset // type.bytes if type else len(registers)
    return f" from {registers[number]}" if number < len(registers) else ""


def _thread(thread: Thread) -> str:
    cta, warp, lane = thread
    return f"CTA {cta} warp {warp} lane {lane}"

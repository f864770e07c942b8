"""Which thread last stored an element of an output, by a repetition of the launch that is watched."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.session.inspect.operands import names_in
from ptxsim.session.launch import Launch
from ptxsim.source import Source

WINDOW = 1 << 22  # elements of an array that are remembered: 20 bytes each
_STORES = frozenset({Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.ASYNC_WRITE})


class Stores(Observer):
    """Remembers, for every element of some buffers, the last instruction and thread that stored to it."""

    events = _STORES
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, buffers: dict[str, tuple[int, int, int]]):
        """buffers: name -> (address, elements, bytes of an element)."""
        self.buffers = buffers
        self.sites = {name: np.zeros(count, np.int32) for name, (_, count, _) in buffers.items()}  # + 1; 0 is nobody
        self.threads = {name: np.zeros((count, 4), np.int32) for name, (_, count, _) in buffers.items()}

    def consume(self, records: np.ndarray) -> None:
        records = records[records["space"] == Space.GLOBAL]
        lanes = np.arange(LANES, dtype=np.uint32)
        active = (records["mask"][:, None] >> lanes & 1).astype(bool)
        row, lane = np.nonzero(active)
        address = records["addresses"][row, lane].astype(np.int64)
        width = records["width"][row].astype(np.int64)
        for name, (start, count, size) in self.buffers.items():
            offsets = np.arange(0, int(width.max(initial=0)), size)
            element = (address[:, None] + offsets - start) // size
            hit = (offsets < width[:, None]) & (element >= 0) & (element < count)
            # Row-major, so in the order of the run: where two records store to one element, the later one stays.
            access, part = np.nonzero(hit)
            which = row[access]
            self.sites[name][element[hit]] = records["site"][which] + 1
            self.threads[name][element[hit]] = np.stack(
                [records["cta"][which], records["warp"][which], lane[access], part], axis=1
            )


def find_writers(
    launch: Launch, arrays: dict[str, tuple[str, np.ndarray]], source: Source
) -> Callable[[str, tuple[int, ...]], str | None]:
    """Name the last store to each element, by one more run of the launch when that is first asked.

    arrays: name in expectations -> (parameter, array); source: the text of the program. The result takes such a name and an index, and says
    "stored at line 118 from %f2 by CTA 0 warp 2 lane 5". Of an array of more than WINDOW elements, so many are known as from the
    element that is asked for first; None is said of the others.
    """
    kept = {
        name: (parameter, array.shape, array.size, array.dtype.itemsize) for name, (parameter, array) in arrays.items()
    }
    del arrays  # and the launch, once it has run: they may be as large as a run may need
    program, waiting = launch.program, [launch]
    del launch
    run: list[tuple[Stores, dict[str, int]]] = []

    def watched(launch: Launch, asked: str, flat: int) -> tuple[Stores, dict[str, int]]:
        """What one run shows, and the element at which each buffer begins."""
        buffers, first = {}, {}
        for name, (parameter, _, count, size) in kept.items():
            placed = launch.arguments.buffers.get(parameter) or launch.arguments.buffers.get(f"{parameter}.array")
            if placed is not None:
                first[name] = flat if name == asked and count > WINDOW else 0
                buffers[name] = placed[1].address + first[name] * size, min(WINDOW, count - first[name]), size
        stores = Stores(buffers)
        launch.run_grid([stores])
        return stores, first

    def who(name: str, index: tuple[int, ...]) -> str | None:
        if name not in kept:
            return None
        flat = int(np.ravel_multi_index(index, kept[name][1]))
        if not run:
            run.append(watched(waiting.pop(), name, flat))
        stores, first = run[0]
        if name not in first or not 0 <= (place := flat - first[name]) < len(stores.sites[name]):
            return None
        site = int(stores.sites[name][place]) - 1
        if site < 0:
            return "never stored"
        cta, warp, lane, part = stores.threads[name][place].tolist()
        op = program.ops[site]
        registers = list(names_in(list(op.bound.operands.values())[-1]))
        register = f" from {registers[part]}" if op.family == "store" and part < len(registers) else ""
        return f"stored at {source.place(op.line)}{register} by CTA {cta} warp {warp} lane {lane}"

    return who

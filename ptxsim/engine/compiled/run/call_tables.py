"""What native code asks about the calls of a program (engine.compiled.runtime.calls)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from ptxsim.engine.compiled.runtime.abi import WarpLayout
from ptxsim.engine.compiled.runtime.calls import CONSTANT, FRAME, REGISTER, Calls, Edge, End, Move, Path
from ptxsim.engine.program.call_paths import call_paths
from ptxsim.engine.program.operation import CallSite, FunctionCode, Passed, Program
from ptxsim.lanes import LANES

HALF = 8  # bytes of a register of 128 bits that lie side by side for all lanes


class CallTables:
    """The tables of a program whose calls are native, and memory that they point to."""

    def __init__(self, program: Program, layout: WarpLayout):
        self.program, self.layout = program, layout
        paths = call_paths(program)
        assert paths is not None
        edges, rows = (Edge * len(paths.edges))(), (Path * (len(paths.frames) + 1))()
        entered = np.zeros((len(rows), len(edges)), np.int64)
        self._memory: list[object] = [edges, rows, entered]
        for (caller, site, name), number in paths.entered.items():
            frame, edge = paths.frames[number], paths.edges[site, name]
            entered[caller, edge] = number
            rows[number] = Path(caller, edge, frame.return_block)
            if not edges[edge].moves:
                edges[edge] = self._edge(frame.callee, frame.code, frame.site)
        places = (ctypes.addressof(edges), len(edges), ctypes.addressof(rows), entered.ctypes.data)
        self.record = Calls(*places)

    def _edge(self, callee: FunctionCode, caller: FunctionCode, site: CallSite) -> Edge:
        arguments = [m for a, b in zip(site.arguments, callee.parameters) for m in self._moves(a, 0, b, caller.frame)]
        results = [m for a, b in zip(callee.returns, site.returns) for m in self._moves(a, caller.frame, b, 0)]
        moves = (Move * (len(arguments) + len(results) + 1))(*arguments, *results)
        self._memory.append(moves)
        return Edge(callee.entry, caller.frame, ctypes.addressof(moves), len(arguments), len(results))

    def _moves(self, source: Passed, start: int, target: Passed, end: int) -> Iterator[Move]:
        """How a value gets from one place to another one. `start`, `end`: where their frames begin, after the caller's."""
        size = min(source.size, target.size)
        step = HALF if self._is_long(source) or self._is_long(target) else max(size, 1)
        for part in range(0, size, step):
            ends = self._end(source, start, part), self._end(target, end, part)
            yield Move(ends, min(step, size - part))

    def _is_long(self, passed: Passed) -> bool:
        return passed.slot is not None and self.program.slots[passed.slot].bits == 128

    def _end(self, passed: Passed, frame: int, part: int) -> End:
        """One end of a move, of bytes from `part` on."""
        if passed.slot is not None:
            place, width = self.layout.registers[passed.slot], self.program.slots[passed.slot].bytes
            if self._is_long(passed):
                return End(REGISTER, place + part * LANES, HALF)
            return End(REGISTER, place + part, width)
        if passed.constant is not None:
            return End(CONSTANT, passed.constant >> 8 * part, 0)
        return End(FRAME, frame + (passed.offset or 0) + part, 0)

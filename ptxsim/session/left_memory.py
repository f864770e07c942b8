"""Global memory that no instruction of a launch can write, as its program shows: reads of it need no order."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.analysis.written_parameters import written_parameters
from ptxsim.engine.program.operation import Program
from ptxsim.machine.memory import PARAMETERS, GlobalMemory


def left_memory(program: Program, memory: GlobalMemory) -> np.ndarray:
    """(first, end) of allocations that the kernel's parameters name, by pointers or tensor maps, and that it writes through none of them.

    An address that comes from elsewhere (a table in memory, an integer) may lead there all the same: the order of accesses is looked at
    again then, with nothing left out. memory: with the parameters in place.
    """
    written, block = written_parameters(program), memory.holder(PARAMETERS)
    if written is None or block is None:
        return np.zeros((0, 2), np.int64)
    data = memory.view(block)
    words = data[: len(data) & ~7].view(np.uint64)  # a tensor map begins with the address of its array
    named = memory.find(words, 1)
    kept = {memory.allocations[n].address: memory.allocations[n] for n in set(named.tolist()) if n >= 0}
    for byte in written:
        if byte % 8 == 0 and byte // 8 < len(words) and named[byte // 8] >= 0:
            kept.pop(memory.allocations[named[byte // 8]].address, None)
    return np.array([(each.address, each.address + each.size) for each in kept.values()], np.int64).reshape(-1, 2)

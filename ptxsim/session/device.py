"""A device: memory and modules that outlive launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ptxsim.arrays import dtype_of, type_name
from ptxsim.diagnostic import problem
from ptxsim.given import a_number
from ptxsim.machine.memory import ARENA, FIRST, GlobalMemory
from ptxsim.session.cache import Known
from ptxsim.session.module import Kernel, Module, known_target
from ptxsim.session.module_memory import ModuleMemory
from ptxsim.session.run import Run
from ptxsim.source import Source

MEMORY = 64 << 30  # bytes of addresses; what is not touched takes up none of the host's memory


class Device:
    """Memory that outlives launches, and the modules loaded into it.

    Pointers are numbers that no address of the process can be, and stay valid until they are freed. Launches run to their
    end one after the other, so work on any stream is in order. `memory` is how many bytes there are.
    """

    def __init__(self, target: str, memory: int = MEMORY):
        self.target = known_target(target, Source(""))
        self.memory = GlobalMemory(memory + (FIRST - ARENA))
        self._loaded: dict[Known, Module] = {}  # by `launch`

    def __repr__(self) -> str:
        return (
            f"Device({self.target.name!r}: {self.memory.allocated} bytes in {len(self.memory.allocations)} allocations)"
        )

    def malloc(self, size: int) -> int:
        """A pointer to `size` bytes. Raises MemoryError where there are not so many."""
        return self.memory.allocate("device memory", max(a_number("the size", size), 1)).address

    def free(self, pointer: int | np.ndarray) -> None:
        """Give back what `malloc` or `array` gave. Raises PtxError for anything else."""
        address = (
            self.memory.address_of(pointer) if isinstance(pointer, np.ndarray) else a_number("the pointer", pointer)
        )
        for allocation in self.memory.allocations:
            if allocation.address == address and allocation.kind == "global":
                self.memory.free(allocation)
                return
        given = "an array in host memory" if address is None else f"{address:#x}, where no allocation begins"
        raise problem("bad-directive", f"free of {given}", "free what malloc or array gave, and only once")

    def array(self, values: ArrayLike) -> np.ndarray:
        """A copy of an array in device memory: numpy reads and writes it there, and a launch is passed its address."""
        host = np.asarray(values)
        found = self.view(self.malloc(host.nbytes), host.shape, host.dtype)
        found[...] = host
        return found

    def pointer(self, array: np.ndarray) -> int:
        """The device address of an array that `array` or `view` gave. Raises PtxError for one in host memory."""
        address = self.memory.address_of(array)
        if address is None:
            raise problem(
                "bad-directive", "the array is not one piece of device memory", "copy it there: device.array(x)"
            )
        return address

    def view(self, pointer: int, shape: int | tuple[int, ...], dtype: DTypeLike | str = np.uint8) -> np.ndarray:
        """Device memory from a pointer on as an array. Raises PtxError where it does not lie in one allocation."""
        kind = dtype_of(type_name(dtype))
        pointer = a_number("the pointer", pointer)
        sizes = [a_number("a size", size) for size in (shape if isinstance(shape, Sequence) else (shape,))]
        size = math.prod(sizes) * kind.itemsize
        holder = self.memory.holder(pointer)
        if holder is None or min(sizes, default=0) < 0 or pointer + size > holder.address + holder.size:
            where = self.memory.describe(pointer)
            raise problem("out-of-bounds", f"view of {size} bytes at {pointer:#x}: {where}")
        start = pointer - holder.address
        return self.memory.view(holder)[start : start + size].view(kind).reshape(sizes)

    def module(self, module: Module | str | Path) -> Module:
        """Load a module, or the module in a file; its variables lie in device memory from now on."""
        given = module if isinstance(module, Module) else Module.from_file(module)
        return Module(given.source, home=ModuleMemory(self.memory, self.target, given.known))

    def launch(self, kernel: Kernel, *positional: Any, **named: Any) -> Run:
        """Run a kernel here: `Kernel.launch` of a kernel whose module is loaded, if need be, first."""
        home, known = kernel.module.home, kernel.module.known
        if home is None or home.memory is not self.memory:
            if known not in self._loaded:
                self._loaded[known] = self.module(kernel.module)
            kernel = self._loaded[known].kernel(kernel.name)
        return kernel.launch(*positional, **named)

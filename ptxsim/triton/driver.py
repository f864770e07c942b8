"""The driver: what Triton asks of a GPU. It keeps Triton's own compiler for NVIDIA, but for the last step: PTX is what is loaded.

Triton names no interface for out-of-tree drivers beyond `DriverBase`; what else is used of one in 3.6 to 3.9 is here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from ptxsim.cuda.runtime.properties import values
from ptxsim.machine.state import max_shared_bytes
from ptxsim.profile.lowering.spills import most_registers
from ptxsim.profile.sass.machine import resources_of
from ptxsim.programs.collector import Collector
from ptxsim.programs.comparisons import ask
from ptxsim.session.device import Device
from ptxsim.session.module import Kernel, Module
from ptxsim.triton.cublas import install as install_cublas
from ptxsim.triton.launcher import Launcher, profile_scratch
from ptxsim.triton.proton import Proton
from ptxsim.triton.storages import Storages
from ptxsim.triton.timing import Clock, Interface
from ptxsim.types import parse_target

DEFAULT = parse_target("sm_90")
WARP, MOST_THREADS = 32, 1024
# Of devices: Triton keeps what it has compiled by them, and another driver may have another target.
_numbers = itertools.count()


def stages(backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None) -> Any:  # fmt: skip
    """Triton's hook (`knobs.runtime.add_stages_inspection_hook`) that replaces the assembler: a kernel's binary is its PTX.

    Without arguments it is asked what makes kernels of it differ from others in the caches.
    """
    if stages is None:
        return "ptxsim", "ptxsim"
    stages["cubin"] = lambda text, metadata: text.encode() if isinstance(text, str) else text
    return None


def _trial(*given: Any, **more: Any) -> Any:
    """A trial of the autotuner's, by the driver that is active: autotuners keep what they take times with longer than a driver lasts."""
    driver = triton.runtime.driver.active
    trial = driver.clock.trial if isinstance(driver, PtxsimDriver) else driver.get_benchmarker()
    return trial(*given, **more)


class Utils:
    """What Triton calls of its C extension."""

    def __init__(self, device: Device):
        self.device = device

    def load_binary(self, name: str, ptx: bytes, shared: int, device: int) -> tuple[Module, Kernel, int, int, int]:
        """(module, function, registers, spills, the most threads): what a kernel's PTX is once it is loaded."""
        text, target = bytes(ptx).decode(), self.device.target.name
        module = self.device.module(Module.from_text(text, f"{name}.ptx"))
        kernel = module.kernel(name)
        most = most_registers(kernel.function.directives)
        registers, local = resources_of(kernel.program(target), text, name, target, most)
        return (
            module,
            kernel,
            registers,
            local // 4,
            MOST_THREADS,
        )  # spills, as Triton counts them: words of local memory

    def unload_module(self, module: Module) -> None:
        """Triton has no more use for it."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        target = self.device.target
        found = values(target)
        return {
            "max_shared_mem": max_shared_bytes(target), "multiprocessor_count": int(found["multiProcessorCount"]),
            "max_num_regs": int(found["regsPerBlock"]), "warpSize": WARP, "sm_clock_rate": int(found["clockRate"]),
            "mem_clock_rate": int(found["memoryClockRate"]), "mem_bus_width": int(found["memoryBusWidth"]),
        }  # fmt: skip


class PtxsimDriver(DriverBase):  # type: ignore[misc]  # Triton has no types
    """One simulated GPU for Triton. Launches go to the collector."""

    def __init__(self, collector: Collector | None = None):
        self.collector = collector or Collector.from_environment()
        ask(self.collector.answers)
        number = (self.collector.target or DEFAULT).number
        # Code for sm_90a runs on no other machine, and Triton makes such code from sm_90 on.
        self.device = Device(f"sm_{number}a" if number >= 90 else f"sm_{number}")
        self.storages = Storages(self.device)
        self.clock = Clock(self.collector, self.storages)
        self.proton = Proton(self.clock)
        self.utils = Utils(self.device)
        self.number = next(_numbers)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Within it this is Triton's driver."""
        before = triton.runtime.driver._active, knobs.runtime.add_stages_inspection_hook
        undo = self.install()
        try:
            yield
        finally:
            undo()
            triton.runtime.driver.set_active(before[0])
            knobs.runtime.add_stages_inspection_hook = before[1]

    def install(self) -> Callable[[], None]:
        """Make this Triton's driver; what is returned takes back what was done to the modules of others."""
        triton.runtime.driver.set_active(self)
        knobs.runtime.add_stages_inspection_hook = stages
        undone = [self.clock.install(), self.storages.install(), self.proton.install(), install_cublas()]

        def undo() -> None:
            for one in undone:
                one()

        return undo

    @classmethod
    def is_active(cls) -> bool:
        return True

    def launcher_cls(self, source: Any, metadata: Any) -> Launcher:
        """What launches a compiled kernel."""
        return Launcher(self.collector, self.storages, self.clock, self.proton, source, metadata)

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.device.target.number, WARP)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return divmod(self.device.target.number, 10)

    def get_current_device(self) -> int:
        return self.number

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.empty(0).device  # as other tensors say (cuda_is_cpu)

    def get_device_interface(self) -> Interface:
        return Interface(self.clock)

    def get_benchmarker(self) -> Callable[..., Any]:
        """What the autotuner takes times with: predicted ones."""
        return _trial

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1)

    def clear_cache(self, cache: Any) -> None:
        """Predicted times begin with empty caches anyway."""

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        return profile_scratch(size)

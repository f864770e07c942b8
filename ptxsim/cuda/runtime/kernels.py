"""What the host may know of a kernel: its limits, its registers, how many of its blocks the device holds."""

from __future__ import annotations

from ptxsim.cuda.runtime.properties import values
from ptxsim.cuda.runtime.state import Runtime
from ptxsim.isa.variable_layout import size_of
from ptxsim.machine.state import max_shared_bytes, shared_start
from ptxsim.profile.figures import figures_of
from ptxsim.profile.model.occupancy import occupancy
from ptxsim.session.module import Kernel

STATIC_LIMIT = 48 << 10  # bytes of shared memory without cudaFuncSetAttribute


def kernel_at(runtime: Runtime, host: int | None) -> Kernel:
    """The kernel that the host knows by an address. Raises CudaError."""
    binary, name = runtime.binaries.function(host)
    return runtime.loaded(binary).kernel(name)


def _numbers(kernel: Kernel, directive: str) -> list[int]:
    """The numbers of a performance directive, if the kernel has it."""
    found = (d for d in kernel.function.directives if d.name == directive)
    return [int(a) for d in found for a in d.arguments if a.isdigit()]


def most_threads(kernel: Kernel) -> int:
    """Threads that a block may have, by its performance directives."""
    most = 1
    for number in _numbers(kernel, "reqntid") or _numbers(kernel, "maxntid") or [1024]:
        most *= number
    return most


def cluster_required(kernel: Kernel) -> tuple[int, int, int] | None:
    """The cluster that .reqnctapercluster demands."""
    match _numbers(kernel, "reqnctapercluster"):
        case []:
            return None
        case [x, *more]:
            y, z = (*more, 1, 1)[:2]
            return x, y, z
    return None


def static_shared(runtime: Runtime, kernel: Kernel) -> int:
    """Bytes of its variables in shared memory."""
    linkage = kernel.code(runtime.target.name).decoded.linkage
    return linkage.dynamic_shared_start - shared_start(runtime.target)


def local_bytes(runtime: Runtime, kernel: Kernel) -> int:
    """Bytes of local memory that the variables of its functions take, as PTX has them: the assembler may keep small ones in registers."""
    return sum(f.frame for f in kernel.code(runtime.target.name).decoded.program.functions.values())


def constant_bytes(runtime: Runtime, kernel: Kernel) -> int:
    """Bytes of its module's variables in constant memory."""
    variables = kernel.code(runtime.target.name).decoded.linkage.variables
    return sum(size_of(variable) for variable in variables if variable.space == "const")


def dynamic_limit(runtime: Runtime, host: int | None, kernel: Kernel) -> int:
    """Bytes of dynamic shared memory that a launch may ask for; cudaFuncSetAttribute changes it."""
    return runtime.shared_limits.get(host or 0, max(STATIC_LIMIT - static_shared(runtime, kernel), 0))


def registers(runtime: Runtime, host: int, kernel: Kernel) -> int:
    """Registers of a thread, by the cycle model's lowering."""
    from ptxsim.profile.lowering.lower import registers_of

    if host not in runtime.registers:
        runtime.registers[host] = registers_of(kernel.program(runtime.target.name), runtime.target.name)
    return runtime.registers[host]


def blocks_per_sm(runtime: Runtime, host: int | None, threads: int, shared: int) -> int:
    """Blocks that one SM holds at a time; shared: dynamic bytes of a block."""
    kernel = kernel_at(runtime, host)
    if not 0 < threads <= most_threads(kernel):
        return 0
    shared += static_shared(runtime, kernel)
    if shared > max_shared_bytes(runtime.target):
        return 0
    return occupancy(figures_of(runtime.target.number), threads, registers(runtime, host or 0, kernel), shared).ctas


def blocks_held(runtime: Runtime, host: int | None, block: tuple[int, int, int], shared: int) -> int:
    """The same of the whole device."""
    per_sm = blocks_per_sm(runtime, host, block[0] * block[1] * block[2], shared)
    return per_sm * int(values(runtime.target)["multiProcessorCount"])

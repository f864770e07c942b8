"""Functions that the driver links in: vprintf, __assertfail, malloc and free; those that launch kernels say that they are not modeled. Their pointers are generic addresses.

CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory Allocation and Operations".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ptxsim.diagnostic import ASSERTION
from ptxsim.engine.call_arguments import fetch, local_bytes, place
from ptxsim.engine.program.operation import CallSite
from ptxsim.machine.cta import Warp
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.heap import Heap
from ptxsim.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxsim.machine.printf import format_vprintf
from ptxsim.machine.state import Machine

MOST_BYTES = 4096  # of a text that a kernel hands on


def print_formatted(site: CallSite, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    pattern, values = words(site, 0, warp, machine), words(site, 1, warp, machine)
    for lane in np.flatnonzero(mask).tolist():
        data = generic_bytes(machine, warp, lane, int(values[lane])).tobytes() if values[lane] else b""
        text = c_string(machine, warp, lane, int(pattern[lane]))
        machine.print_to(format_vprintf(text, data, partial(c_string, machine, warp, lane)))
    answer(site, np.zeros(len(mask), np.uint32), warp, mask, machine)


def fail(site: CallSite, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    lane = first_lane(mask)
    condition, file = (
        c_string(machine, warp, lane, int(words(site, i, warp, machine)[lane])).decode(errors="replace") for i in (0, 1)
    )
    line = int(fetch(site.arguments[2], warp, machine)[lane].view("<u4")[0])
    raise Fault("trap", f"device-side assert triggered: {condition} ({file}:{line})", lane, case=ASSERTION)


def allocate(site: CallSite, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    """Null where the heap has no room: no fault. Lanes are served in order."""
    sizes, found = words(site, 0, warp, machine), np.zeros(len(mask), np.uint64)
    for lane in np.flatnonzero(mask).tolist():
        found[lane] = heap_of(machine).allocate(int(sizes[lane]), (warp.cta.linear, warp.index, lane))
    answer(site, found, warp, mask, machine)


def release(site: CallSite, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    addresses = words(site, 0, warp, machine)
    for lane in np.flatnonzero(mask).tolist():
        if not heap_of(machine).release(int(addresses[lane]), (warp.cta.linear, warp.index, lane)):
            raise Fault(
                "out-of-bounds", f"free of {int(addresses[lane]):#x}, where no block of malloc begins", int(lane),
                "free what malloc of this launch gave, and only once",
            )  # fmt: skip


def launch(site: CallSite, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    """What device code asks for to launch a kernel: CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"."""
    help = "let the host launch what this kernel launches"
    raise Fault(
        "not-modeled", "kernels that launch kernels (dynamic parallelism) are not modeled", first_lane(mask), help
    )


BUILTINS: dict[str, Callable[[CallSite, Warp, np.ndarray, Machine], None]] = {
    "vprintf": print_formatted, "__assertfail": fail, "malloc": allocate, "free": release,
    "__cudaCDP2GetParameterBufferV2": launch, "__cudaCDP2GetParameterBuffer": launch, "cudaGetParameterBufferV2": launch,
    "cudaGetParameterBuffer": launch,
}  # fmt: skip


def heap_of(machine: Machine) -> Heap:
    """The heap; device memory has one for every module that calls malloc or free."""
    assert machine.memory.heap is not None
    return machine.memory.heap


def words(site: CallSite, index: int, warp: Warp, machine: Machine) -> np.ndarray:
    """An argument of 64 bits, by lane."""
    return fetch(site.arguments[index], warp, machine)[:, :8].copy().view("<u8")[:, 0]


def answer(site: CallSite, values: np.ndarray, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    """The result, where the call takes it."""
    for passed in site.returns:
        place(passed, values.view(np.uint8).reshape(len(mask), -1), warp, mask, machine)


def generic_bytes(machine: Machine, warp: Warp, lane: int, address: int) -> np.ndarray:
    """Bytes of one lane's memory from a generic address on."""
    if LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_SIZE:
        return local_bytes(warp, machine)[lane, address - LOCAL_WINDOW :][:MOST_BYTES]
    if SHARED_WINDOW <= address < SHARED_WINDOW + WINDOW_SIZE:
        return warp.cta.shared[address - SHARED_WINDOW :][:MOST_BYTES]
    holder = machine.memory.holder(address)
    if holder is not None:
        return machine.memory.view(holder)[address - holder.address :][:MOST_BYTES]
    raise Fault("out-of-bounds", f"a builtin gets the pointer {address:#x}", int(lane))


def c_string(machine: Machine, warp: Warp, lane: int, address: int) -> bytes:
    return generic_bytes(machine, warp, lane, address).tobytes().partition(b"\0")[0]

"""What torch.cuda, torch.accelerator and their modules say of the simulated GPU."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch

from ptxsim.cuda.runtime.properties import values
from ptxsim.triton import graphs, torch_memory
from ptxsim.triton.philox import Philox
from ptxsim.triton.streams import Context, Event, ExternalStream, GenericEvent, Stream
from ptxsim.types import Target

# Of torch.cuda: they hold functions of its own names, too.
_MODULES = ("memory", "random", "streams", "graphs", "nvtx")


def _zero(*given: Any) -> int:
    return 0


# Ranges for a profiler that is not there.
NVTX: dict[str, Any] = dict.fromkeys(("mark", "range_push", "range_pop", "range_start", "range_end"), _zero)


def _properties(target: Target) -> SimpleNamespace:
    found = values(target)
    return SimpleNamespace(
        name=found["name"].decode(), major=target.number // 10, minor=target.number % 10, total_memory=int(found["totalGlobalMem"]),
        warp_size=32, is_integrated=0, is_multi_gpu_board=0, multi_processor_count=int(found["multiProcessorCount"]),
        L2_cache_size=int(found["l2CacheSize"]), max_threads_per_multi_processor=int(found["maxThreadsPerMultiProcessor"]),
        regs_per_multiprocessor=int(found["regsPerMultiprocessor"]), shared_memory_per_block=int(found["sharedMemPerBlock"]),
        shared_memory_per_block_optin=int(found["sharedMemPerBlockOptin"]), max_threads_per_block=1024,
        shared_memory_per_multiprocessor=int(found["sharedMemPerMultiprocessor"]), clock_rate=int(found["clockRate"]),
        memory_clock_rate=int(found["memoryClockRate"]), memory_bus_width=int(found["memoryBusWidth"]),
        pci_bus_id=0, pci_device_id=0, pci_domain_id=0, uuid="00000000-0000-0000-0000-000000000000",
    )  # fmt: skip


def _cudart(memory: Mapping[str, Any]) -> SimpleNamespace:
    """torch.cuda.cudart(): the few functions of the runtime that torch binds."""
    done = (
        "ProfilerStart", "ProfilerStop", "DeviceSynchronize", "StreamCreate", "StreamDestroy", "HostRegister", "HostUnregister",
    )  # fmt: skip
    return SimpleNamespace(
        cudaError=SimpleNamespace(success=0), cudaGetErrorString=lambda code: "no error", cudaMemGetInfo=memory["mem_get_info"],
        **{f"cuda{name}": _zero for name in done},
    )  # fmt: skip


def of_cuda(target: Target) -> dict[str, Any]:
    """What torch.cuda says of one GPU of that target."""
    properties, generator = _properties(target), Philox()
    capability = properties.major, properties.minor
    memory = torch_memory.answers(properties.total_memory)
    cudart = _cudart(memory)
    return {
        **memory,
        "is_available": lambda: True, "is_initialized": lambda: True, "init": lambda: None, "device_count": lambda: 1,
        "current_device": lambda: 0, "set_device": lambda device: None, "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: capability, "_lazy_init": lambda: None, "_lazy_call": lambda call, **more: call(),
        "get_device_properties": lambda device=None: properties, "is_bf16_supported": lambda *args: True,
        "get_arch_list": lambda: [f"sm_{target.number}"], "synchronize": lambda device=None: None, "manual_seed": generator.manual_seed,
        "manual_seed_all": generator.manual_seed, "initial_seed": generator.initial_seed, "seed": generator.seed, "seed_all": generator.seed,
        "default_generators": (generator,), "can_device_access_peer": lambda device, peer: False, "ipc_collect": lambda: None,
        "Stream": Stream, "current_stream": lambda device=None: Stream(), "default_stream": lambda device=None: Stream(),
        "stream": Context, "set_stream": lambda stream: None, "device": Context, "Event": Event,
        "get_rng_state": lambda device=None: generator.get_all(), "get_rng_state_all": lambda: [generator.get_all()],
        "set_rng_state": lambda state, device=None: generator.set_all(state), "set_rng_state_all": lambda states: generator.set_all(states[0]),
        "cudart": lambda: cudart, "check_error": _zero, "_sleep": lambda cycles: None, "is_tf32_supported": lambda: True,
        "device_of": Context, "StreamContext": Context, "ExternalStream": ExternalStream,
        "get_sync_debug_mode": lambda: 0, "set_sync_debug_mode": lambda mode: None, "clock_rate": lambda device=None: properties.clock_rate // 1000,
        "CUDAGraph": graphs.CUDAGraph, "graph": graphs.graph, "graph_pool_handle": graphs.pool_handle,
        "is_current_stream_capturing": graphs.is_capturing,
    }  # fmt: skip


def of_accelerator(cuda: Mapping[str, Any]) -> dict[str, Any]:
    """What torch says of whatever device there is."""
    memory = (
        "memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved", "memory_stats", "reset_peak_memory_stats",
        "reset_accumulated_memory_stats", "get_memory_info", "empty_host_cache", "empty_cache", "current_stream", "set_stream", "synchronize",
    )  # fmt: skip
    return {
        **{name: cuda[name] for name in memory}, "is_available": lambda: True, "device_count": lambda: 1, "device_index": Context, "Graph": graphs.Graph,
        "current_accelerator": lambda check_available=False: torch.device("cuda"), "current_device_index": lambda: 0,
        "current_device_idx": lambda: 0, "set_device_index": lambda device: None, "set_device_idx": lambda device: None,
        "get_device_capability": lambda device=None: {"supported_dtypes": {torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64}},
    }  # fmt: skip


def apply(target: Target) -> None:
    """From now on torch answers so in this process."""
    cuda = of_cuda(target)
    for name, answer in cuda.items():
        setattr(torch.cuda, name, answer)
    for name in _MODULES:
        module = sys.modules.get(f"torch.cuda.{name}")
        for known in {**cuda, **NVTX} if module is not None else ():
            if hasattr(module, known) and (name == "nvtx") == (known in NVTX):
                setattr(module, known, {**cuda, **NVTX}[known])
    profiler = torch.cuda.profiler
    profiler.start = profiler.stop = lambda: None
    profiler.check_error, profiler.cudart = cuda["check_error"], cuda["cudart"]
    for name, answer in of_accelerator(cuda).items() if hasattr(torch, "accelerator") else ():  # new in 2.6
        setattr(torch.accelerator, name, answer)
    for name in dir(torch.cuda):  # types of tensors
        if name.endswith("Tensor") and hasattr(torch, name):
            setattr(torch.cuda, name, getattr(torch, name))
    if hasattr(torch, "Event"):
        torch.Event = GenericEvent
    torch.Stream = Stream

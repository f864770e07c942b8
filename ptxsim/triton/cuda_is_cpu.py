"""For programs that say "cuda" where they mean the GPU: `ptxsim exec`, unless it is told --no-cuda-is-cpu.

What asks torch for a device "cuda" gets the CPU, whose tensors say that they are CUDA's; the questions that torch.cuda answers are
answered for the simulated GPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ptxsim.cuda.runtime.properties import values
from ptxsim.programs.wanted import Wanted
from ptxsim.triton import operators, products
from ptxsim.triton.fresh import FRESH
from ptxsim.triton.philox import Philox
from ptxsim.triton.streams import GPU, Context, ExternalStream, Stream, event
from ptxsim.types import Target, parse_target

# What torch's code for the CPU accumulates in halves, in the backward pass above all.
_IN_SINGLE = {torch.nn.functional.layer_norm, torch.nn.functional.group_norm}
# What tensors say of their device.
_IS_CUDA, _IS_CPU, _DEVICE = torch.Tensor.is_cuda.__get__, torch.Tensor.is_cpu.__get__, torch.Tensor.device.__get__

CUDA = "13.0"  # the version that a build of torch for the CPU says it is of


class CudaIsCpu(TorchFunctionMode):  # type: ignore[misc]  # torch may be missing where types are checked
    """Devices in the arguments of torch's functions and methods."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (_IS_CUDA, _IS_CPU, _DEVICE, torch.Tensor.get_device):
            return _of_device(function, args[0])
        if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if function is torch.Tensor.type:
            args = (args[0], *map(_kind, args[1:]))
            kwargs = {name: _kind(value) for name, value in (kwargs or {}).items()}
        if function is torch.device:  # a name: what is asked for by it is mapped
            return function("cuda", *args) if [*map(type, args)] == [int] else function(*args, **(kwargs or {}))
        if function is torch.Tensor.to:
            args = (args[0], *map(_numbered, args[1:2]), *args[2:])
        kwargs = {name: _mapped(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
        if "device" in kwargs:
            kwargs["device"] = _mapped(_numbered(kwargs["device"]))
        args = tuple(map(_mapped, args))
        if function in _IN_SINGLE:
            return _in_single(function, args, kwargs)
        result = function(*args, **kwargs)
        FRESH.see(function, (args, kwargs), result)
        return result


def _of_device(function: Any, tensor: torch.Tensor) -> Any:
    """What a tensor of the CPU says of its device."""
    if tensor.untyped_storage().device.type != "cpu":
        return function(tensor)
    return {_IS_CUDA: True, _IS_CPU: False, _DEVICE: GPU}.get(function, 0)


def _in_single(function: Any, args: Any, kwargs: Any) -> Any:
    """A function of halves as GPUs compute it: in single precision until the result, its gradients too."""
    kinds = {a.dtype for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)}
    if len(kinds) != 1 or kinds.isdisjoint(products.HALVES):
        return function(*args, **kwargs)
    wide = [a.float() if isinstance(a, torch.Tensor) else a for a in args]
    more = {name: a.float() if isinstance(a, torch.Tensor) else a for name, a in kwargs.items()}
    return function(*wide, **more).to(*kinds)


def _numbered(value: Any) -> Any:
    """The device that a number stands for; anything else as it is."""
    return torch.device("cuda", value) if type(value) is int else value


def _kind(value: Any) -> Any:
    """What Tensor.type is given, a type of CUDA's tensors or its name, as the CPU has it; anything else as it is."""
    if isinstance(value, str):
        return value.replace("torch.cuda.", "torch.")
    return value.dtype if isinstance(value, type(torch.HalfTensor)) else value


def _mapped(value: Any) -> Any:
    """The CPU in place of a CUDA device; anything else as it is."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


def _no_mark(*given: Any) -> int:
    return 0


# Ranges for a profiler that is not there.
NVTX = SimpleNamespace(
    mark=_no_mark, range_push=_no_mark, range_pop=_no_mark, range_start=_no_mark, range_end=_no_mark, range=nullcontext
)
# Neither is there what takes such a one's data.
PROFILER = SimpleNamespace(start=lambda: None, stop=lambda: None, profile=nullcontext)
CUDART = SimpleNamespace(cudaProfilerStart=lambda: 0, cudaProfilerStop=lambda: 0, cudaDeviceSynchronize=lambda: 0)


class Generator(torch.Generator):  # type: ignore[misc]  # as above
    """A generator of random numbers, whose device no mode of torch's sees."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, _mapped(_numbered(device)))


def _autocast(begin: Callable[..., None]) -> Callable[..., None]:
    """The beginning of an autocast: CUDA's are the CPU's, with CUDA's type where the program names none."""

    def __init__(self: Any, device_type: str, dtype: Any = None, *given: Any, **more: Any) -> None:
        begin(self, _mapped(device_type), dtype or (torch.float16 if device_type == "cuda" else None), *given, **more)

    return __init__


def answers(target: Target) -> dict[str, Any]:
    """What torch.cuda says of one GPU of that target."""
    found = values(target)
    capability, memory = divmod(target.number, 10), int(found["totalGlobalMem"])
    name = found["name"].decode()
    properties = SimpleNamespace(
        name=name, major=capability[0], minor=capability[1], total_memory=memory, warp_size=32, is_integrated=0, is_multi_gpu_board=0,
        multi_processor_count=int(found["multiProcessorCount"]), L2_cache_size=int(found["l2CacheSize"]),
        max_threads_per_multi_processor=int(found["maxThreadsPerMultiProcessor"]),
        regs_per_multiprocessor=int(found["regsPerMultiprocessor"]),
        shared_memory_per_block=int(found["sharedMemPerBlock"]),
        shared_memory_per_block_optin=int(found["sharedMemPerBlockOptin"]),
        shared_memory_per_multiprocessor=int(found["sharedMemPerMultiprocessor"]),
    )  # fmt: skip
    generator = Philox()
    return {
        "is_available": lambda: True, "is_initialized": lambda: True, "init": lambda: None, "device_count": lambda: 1,
        "current_device": lambda: 0, "set_device": lambda device: None, "get_device_name": lambda device=None: name,
        "get_device_capability": lambda device=None: capability,
        "get_device_properties": lambda device=None: properties, "is_bf16_supported": lambda *args: True,
        "synchronize": lambda device=None: None, "empty_cache": lambda: None, "mem_get_info": lambda device=None: (memory, memory),
        "max_memory_allocated": lambda device=None: 0, "memory_allocated": lambda device=None: 0,
        "reset_peak_memory_stats": lambda device=None: None, "manual_seed": generator.manual_seed,
        "manual_seed_all": generator.manual_seed, "initial_seed": generator.initial_seed, "seed": generator.seed, "seed_all": generator.seed,
        "default_generators": (generator,), "can_device_access_peer": lambda device, peer: False, "ipc_collect": lambda: None, "Stream": Stream, "current_stream": lambda device=None: Stream(),
        "default_stream": lambda device=None: Stream(), "stream": Context, "set_stream": lambda stream: None, "device": Context, "Event": event,
        "get_rng_state": lambda device=None: generator.get_all(), "get_rng_state_all": lambda: [generator.get_all()],
        "set_rng_state": lambda state, device=None: generator.set_all(state), "set_rng_state_all": lambda states: generator.set_all(states[0]),
        "nvtx": NVTX, "profiler": PROFILER, "cudart": lambda: CUDART, "_sleep": lambda cycles: None, "is_tf32_supported": lambda: True,
        "is_current_stream_capturing": lambda: False, "device_of": Context, "StreamContext": Context, "ExternalStream": ExternalStream,
        "reset_max_memory_allocated": lambda device=None: None, "reset_accumulated_memory_stats": lambda device=None: None,
        "set_per_process_memory_fraction": lambda fraction, device=None: None, "memory_summary": lambda device=None, abbreviated=False: "",
        "memory_snapshot": list, "get_sync_debug_mode": lambda: 0, "set_sync_debug_mode": lambda mode: None,
    }  # fmt: skip


# What torch says of whatever device there is.
ACCELERATOR: dict[str, Any] = {
    "is_available": lambda: True, "device_count": lambda: 1, "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_device_index": lambda: 0, "current_device_idx": lambda: 0, "set_device_index": lambda device: None,
    "set_device_idx": lambda device: None, "current_stream": lambda device=None: Stream(), "set_stream": lambda stream: None,
    "synchronize": lambda device=None: None, "device_index": Context, "empty_cache": lambda: None,
}  # fmt: skip


def apply() -> None:
    """From now on "cuda" is the CPU in this process."""
    target = Wanted.from_environment().target
    for name, answer in answers(parse_target(target or "sm_90")).items():
        setattr(torch.cuda, name, answer)
    for name, answer in ACCELERATOR.items() if hasattr(torch, "accelerator") else ():  # new in 2.6
        setattr(torch.accelerator, name, answer)
    parse, default = torch._C._nn._parse_to, torch.set_default_device
    torch._C._nn._parse_to = lambda *args, **kwargs: parse(*map(_numbered, args), **kwargs)
    # Modes of torch's own come after this one.
    torch.set_default_device = lambda device: default(_mapped(_numbered(device)))
    torch.Generator = Generator
    torch.autocast.__init__ = _autocast(torch.autocast.__init__)
    # Operators of programs ask whether they are under an autocast, which is the CPU's.
    enabled, kind = torch.is_autocast_enabled, torch.get_autocast_dtype
    torch.is_autocast_enabled = lambda device_type="cuda": enabled(_mapped(device_type))
    torch.get_autocast_dtype = lambda device_type: kind(_mapped(device_type))
    torch.get_autocast_gpu_dtype = lambda: kind("cpu")
    torch.cpu.set_stream = lambda stream: None  # programs ask the module of their device, by its name
    # torch.compile would make code for CUDA's devices: functions are what they are without it.
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    torch.version.cuda = torch.version.cuda or CUDA
    torch.Tensor.record_stream = lambda self, stream: None  # memory is free when nobody holds it
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    operators.apply()
    products.apply()
    CudaIsCpu().__enter__()

"""For programs that say "cuda" where they mean the GPU: `ptxsim exec`, unless it is told --no-cuda-is-cpu.

What asks torch for a device "cuda" gets the CPU, whose tensors say that they are CUDA's; the questions that torch.cuda answers are
answered for the simulated GPU.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ptxsim.cuda.runtime import process
from ptxsim.programs.wanted import Wanted
from ptxsim.triton import operators, products, profilers, runtime_tensors, torch_answers
from ptxsim.triton.fresh import FRESH
from ptxsim.triton.streams import GPU
from ptxsim.types import parse_target

# What torch's code for the CPU accumulates in halves, in the backward pass above all.
_IN_SINGLE = {torch.nn.functional.layer_norm, torch.nn.functional.group_norm}
# What tensors say of their device.
_IS_CUDA, _IS_CPU, _DEVICE = torch.Tensor.is_cuda.__get__, torch.Tensor.is_cpu.__get__, torch.Tensor.device.__get__
_INTERFACE = torch.Tensor.__cuda_array_interface__.__get__

CUDA = "13.0"  # the version that a build of torch for the CPU says it is of


class CudaIsCpu(TorchFunctionMode):  # type: ignore[misc]  # torch may be missing where types are checked
    """Devices in the arguments of torch's functions and methods."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (_IS_CUDA, _IS_CPU, _DEVICE, torch.Tensor.get_device):
            return _of_device(function, args[0])
        if function == _INTERFACE:
            return runtime_tensors.interface(args[0])
        if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if function is torch.Tensor.type:
            if len(args) == 1 and not kwargs:
                return function(*args).replace("torch.", "torch.cuda.")
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
        return _of_cpu(value)
    return value.dtype if isinstance(value, type(torch.HalfTensor)) else value


def _of_cpu(name: str) -> str:
    """The name of a type of CUDA's tensors as the CPU has it."""
    return name.replace("torch.cuda.", "torch.")


def _mapped(value: Any) -> Any:
    """The CPU in place of a CUDA device; anything else as it is."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


class Generator(torch.Generator):  # type: ignore[misc]  # as above
    """A generator of random numbers, whose device no mode of torch's sees."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, _mapped(_numbered(device)))


def _storage(make: Callable[..., Any]) -> Callable[..., Any]:
    """The making of an untyped storage."""

    def __new__(cls: Any, *given: Any, device: Any = None, **more: Any) -> Any:
        return make(cls, *given, **({} if device is None else {"device": _mapped(_numbered(device))}), **more)

    return __new__


def _under_the_mode(begin: Callable[[Any], None]) -> Callable[[Any], None]:
    """The beginning of a thread: modes of torch's are a thread's own."""

    def _bootstrap_inner(self: Any) -> None:
        with CudaIsCpu():
            begin(self)

    return _bootstrap_inner


def _autocast(begin: Callable[..., None]) -> Callable[..., None]:
    """The beginning of an autocast: CUDA's are the CPU's, with CUDA's type where the program names none."""

    def __init__(self: Any, device_type: str, dtype: Any = None, *given: Any, **more: Any) -> None:
        begin(self, _mapped(device_type), dtype or (torch.float16 if device_type == "cuda" else None), *given, **more)

    return __init__


def apply() -> None:
    """From now on "cuda" is the CPU in this process."""
    torch_answers.apply(parse_target(Wanted.from_environment().target or "sm_90"))
    process.WHEN_STARTED.append(runtime_tensors.prepare)
    torch.Tensor.data_ptr = runtime_tensors.data_ptr
    parse, default = torch._C._nn._parse_to, torch.set_default_device
    torch._C._nn._parse_to = lambda *args, **kwargs: parse(*map(_numbered, args), **kwargs)
    # Modes of torch's own come after this one.
    torch.set_default_device = lambda device: default(_mapped(_numbered(device)))
    torch.Generator = Generator
    torch.UntypedStorage.__new__ = _storage(torch.UntypedStorage.__new__)
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
    # Where files say that their tensors are, or the program says that they shall be.
    restore, tensor_type = torch.serialization.default_restore_location, torch.set_default_tensor_type
    torch.serialization.default_restore_location = lambda storage, location: restore(storage, _mapped(location))
    torch.set_default_tensor_type = lambda kind: tensor_type(_of_cpu(kind) if isinstance(kind, str) else kind)
    operators.apply()
    products.apply()
    profilers.apply()
    threading.Thread._bootstrap_inner = _under_the_mode(threading.Thread._bootstrap_inner)  # type: ignore[attr-defined]
    CudaIsCpu().__enter__()

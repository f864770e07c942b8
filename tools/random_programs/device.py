"""Runs the kernels of cubins on a GPU through the CUDA driver, with nothing but Python and numpy."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Driver:
    """libcuda with one context. Raises OSError where there is no driver, RuntimeError where a call fails."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self._call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._cuda, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {status}")

    def memory(self, data: np.ndarray) -> ctypes.c_uint64:
        """The address of device memory that holds an array's bytes."""
        place = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(data.nbytes))
        self._call("cuMemcpyHtoD_v2", place, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        return place

    def run(self, cubin: bytes, given: Mapping[str, ctypes.c_uint64], shape: tuple[int, int]) -> np.ndarray:
        """What kernels leave in their output, uint32 (kernels, *shape). given: the address of each kernel's input, by name."""
        module, found = ctypes.c_void_p(), np.zeros((len(given), *shape), np.uint32)
        self._call("cuModuleLoadData", ctypes.byref(module), cubin)
        place = self.memory(found[0])
        for (name, source), result in zip(given.items(), found, strict=True):
            function = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            self._call("cuMemsetD8_v2", place, ctypes.c_ubyte(0), ctypes.c_size_t(result.nbytes))
            addresses = [ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in (source, place)]
            arguments = (ctypes.c_void_p * 2)(*addresses)
            self._call("cuLaunchKernel", function, 1, 1, 1, shape[0], 1, 1, 0, None, arguments, None)
            self._call("cuCtxSynchronize")
            into = result.ctypes.data_as(ctypes.c_void_p)
            self._call("cuMemcpyDtoH_v2", into, place, ctypes.c_size_t(result.nbytes))
        self._call("cuMemFree_v2", place)
        self._call("cuModuleUnload", module)
        return found


def record(folder: Path, kinds: Mapping[str, list[str]], inputs: Mapping[str, np.ndarray]) -> str:
    """Run all kernels of a folder's SEED.cubin and write bits.npz; the GPU's name. kinds: by seed, of each kernel."""
    driver = Driver()
    places = {kind: driver.memory(data) for kind, data in inputs.items()}
    shape = next(iter(inputs.values())).shape
    found: dict[str, Any] = {
        seed: driver.run(
            (folder / f"{seed}.cubin").read_bytes(), {f"k{n}": places[k] for n, k in enumerate(each)}, shape
        )
        for seed, each in kinds.items()
    }
    found |= {f"input {kind}": data for kind, data in inputs.items()}
    np.savez_compressed(folder / "bits.npz", **found)
    return driver.name

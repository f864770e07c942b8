"""The functions of the CUDA runtime, each written once: its prototype, and beside it what it does.

    @function("cudaMalloc(void **pointer, size_t size)")
    def malloc(runtime, pointer, size): ...

From the prototypes come the C stubs of the library (ptxsim.cuda.runtime.library) and the types that ctypes converts with. A
function returns an error's number or None for success, or raises CudaError; `CUDA Runtime API` documents each.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PROTOTYPE = re.compile(r"(?:(?P<result>[\w ]+[ *]+))?(?P<name>\w+)\((?P<parameters>.*)\)")
_PARAMETER = re.compile(r"(?:const )?(?:struct )?(?P<type>\w+) ?(?P<stars>\**)(?P<name>\w+)")


class Dim3(ctypes.Structure):
    """dim3."""

    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Extent(ctypes.Structure):
    """cudaExtent."""

    _fields_ = [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t)]


class PitchedPointer(ctypes.Structure):
    """cudaPitchedPtr."""

    _fields_ = [
        ("pointer", ctypes.c_void_p), ("pitch", ctypes.c_size_t), ("xsize", ctypes.c_size_t), ("ysize", ctypes.c_size_t),
    ]  # fmt: skip


TYPES: dict[str, Any] = {
    "int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t, "float": ctypes.c_float,
    "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32, "dim3": Dim3, "cudaExtent": Extent,
    "cudaPitchedPtr": PitchedPointer, "cudaError_t": ctypes.c_int,
}  # fmt: skip


NOT_SUPPORTED = 801


class CudaError(Exception):
    """A call fails with the error of this number. why: what its author is told; it may be nothing."""

    def __init__(self, code: int, why: str = ""):
        super().__init__(code)
        self.code = code
        self.why = why


class NotModeled(CudaError):
    """A call of a function asks for something that is not modeled."""

    def __init__(self, function: str, what: str):
        error = "cudaErrorNotSupported" if function.startswith("cuda") else "CUDA_ERROR_NOT_SUPPORTED"
        super().__init__(NOT_SUPPORTED, f"{what}: the program gets {error} ({NOT_SUPPORTED})")


def say(text: str) -> None:
    """A message to the user of the program, beside the findings."""
    sys.stderr.write(f"ptxsim: {text}\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class Function:
    """One function. `is_plain`: its result is no error that the runtime remembers, and it works after a sticky one."""

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]  # types and names
    body: Callable[..., Any]
    is_plain: bool

    @property
    def c_type(self) -> Any:
        """The ctypes prototype of the function."""
        result = ctypes.c_void_p if self.result.endswith("*") else TYPES[self.result]
        return ctypes.CFUNCTYPE(result, *(_ctype(type) for type, _ in self.parameters))

    def stub(self, index: int, suffix: str = "") -> str:
        """C text of the function: it calls entry `index` of the table."""
        taken = ", ".join(f"{type} {name}" for type, name in self.parameters) or "void"
        types = ", ".join(type for type, _ in self.parameters) or "void"
        names = ", ".join(name for _, name in self.parameters)
        over = "0" if self.result.endswith("*") else "4"
        call = f"(({self.result} (*)({types}))ptxsim_table[{index}])({names})"
        return f"API {self.result} {self.name}{suffix}({taken}) {{ READY(); if (is_over()) return {over}; return {call}; }}"


FUNCTIONS: dict[str, Function] = {}


def function(
    prototype: str, *others: str, is_plain: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a Python function is the function of this prototype, and of `others`."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        for text in (prototype, *others):
            match = _PROTOTYPE.fullmatch(text)
            assert match, text
            parts = [_PARAMETER.fullmatch(part.strip()) for part in match["parameters"].split(",") if part.strip()]
            parameters = tuple((f"{p['type']} {p['stars']}".strip(), p["name"]) for p in parts if p)
            assert len(parameters) == len(parts), text
            result = (match["result"] or "cudaError_t").strip()
            FUNCTIONS[match["name"]] = Function(match["name"], result, parameters, body, is_plain)
        return body

    return register


def _ctype(text: str) -> Any:
    """`int *` is a POINTER, `void *` a number, `char *` bytes."""
    base, _, stars = text.partition(" ")
    if not stars:
        return TYPES[base]
    if base == "char" and stars == "*":
        return ctypes.c_char_p
    found = ctypes.c_void_p if base in ("void", "char") else ctypes.POINTER(TYPES[base])
    for _ in stars[1:]:
        found = ctypes.POINTER(found)
    return found

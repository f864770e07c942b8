"""The C text of the library's functions, written from their prototypes, and all names that there are."""

from __future__ import annotations

import importlib
from importlib import resources

from ptxsim.cuda.runtime.functions import FUNCTIONS, Function

_MODULES = (
    "device",
    "pools",
    "memory",
    "registered",
    "copies",
    "streams",
    "launches",
    "graphs",
    "graph_nodes",
    "attributes",
    "driver",
    "contexts",
    "modules",
    "rectangles",
    "virtual_memory",
    "driver_graphs",
    "dialect",  # after those that it names
)
_PER_THREAD = ("_ptsz", "_ptds")  # the same functions for programs of --default-stream per-thread


def functions() -> list[Function]:
    """All functions, in the order of the table."""
    for name in _MODULES:
        importlib.import_module(f"ptxsim.cuda.runtime.{name}")
    return list(FUNCTIONS.values())


def in_core() -> set[str]:
    """The functions that cudart.c has itself."""
    return {
        "__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaUnregisterFatBinary", "__cudaRegisterFunction",
        "__cudaRegisterVar", "__cudaRegisterManagedVar", "__cudaPushCallConfiguration", "__cudaPopCallConfiguration",
        "__cudaInitModule",
    }  # fmt: skip


def documented() -> list[str]:
    """Every name of the runtime's interface, whether it does something here or not."""
    return _names("names.txt")


def documented_of_driver() -> list[str]:
    """Every name of the driver's interface that programs of CUDA 13.0 may use, whether it does something here or not."""
    return _names("driver_names.txt")


def _names(file: str) -> list[str]:
    return resources.files("ptxsim.cuda.runtime").joinpath(file).read_text().split()


def stubs() -> str:
    """`stubs.h`. What only has a name says so when it is called."""
    found = functions()
    index = {function.name: i for i, function in enumerate(found)}
    lines = [
        f"static void *ptxsim_table[{len(found)}];",
        f"enum {{ FINISH = {index['ptxsim_finish']}, INIT_MODULE = {index['ptxsim_init_module']} }};",
    ]
    for i, function in enumerate(found):
        suffixes = ("", *_PER_THREAD) if "cuda" in function.name else ("",)
        lines += [function.stub(i, suffix) for suffix in suffixes]
    for name in [*documented(), *documented_of_driver()]:
        if name not in index and name not in in_core():
            suffixes = ("", *_PER_THREAD) if name.startswith("cuda") else ("",)
            lines += [f'API int {name}{s}(void) {{ return ptxsim_missing("{name}"); }}' for s in suffixes]
    return "\n".join(lines) + "\n"

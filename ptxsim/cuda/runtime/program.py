"""What an executable says about itself: the libraries it needs, the functions it imports, whether its runtime can be replaced."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

from ptxsim.cuda.runtime.stubs import documented, documented_of_driver, functions

_DYNAMIC, _DYNSYM = 6, 11  # types of sections
DRIVER = "libcuda.so.1"
_NEEDED = 1  # tag of an entry of the dynamic section
_SHARED = re.compile(r"libcudart\.so\.(12|13)")
_SUFFIX = re.compile(r"_pt[sd][sz]$")
_OF_MACHINE_CODE = re.compile(r"lib(cublas|cublasLt|cudnn|cufft|curand|cusparse|cusolver|nccl)\.so")


@dataclass
class Program:
    """`needed`: the libraries it is linked with; `imports`: functions it expects of them; `is_cuda`: it carries GPU code."""

    needed: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    is_cuda: bool = False

    @property
    def problem(self) -> tuple[str, str] | None:
        """Why ptxsim cannot run it, and what helps; None if it can, or is no CUDA program."""
        others = [name for name in self.needed if name.startswith("libcudart.so") and not _SHARED.fullmatch(name)]
        if others:
            return f"it is linked with {others[0]}, ptxsim stands in for CUDA 12 and 13", "build it with CUDA 12 or 13"
        if self.is_cuda and not any(map(_SHARED.fullmatch, self.needed)):
            return (
                "its CUDA runtime is linked statically (nvcc's default), so that no other can take its place",
                "build it with: nvcc -cudart shared (in CMake: set(CMAKE_CUDA_RUNTIME_LIBRARY Shared))",
            )
        libraries = [name for name in self.needed if _OF_MACHINE_CODE.match(name)]
        if libraries:
            return (
                f"it is linked with {', '.join(libraries)}: what that runs is machine code without PTX",
                "replace what it calls there by kernels of its own, of CUTLASS for example",
            )
        if any(map(_SHARED.fullmatch, self.needed)):
            known = {*documented()}
            unknown = [n for n in self.imports if re.match(r"_*cuda[A-Z]", n) and _SUFFIX.sub("", n) not in known]
            if unknown:
                return (
                    f"it imports functions that no CUDA runtime ptxsim knows has: {', '.join(unknown)}",
                    "report the names",
                )
        if DRIVER in self.needed:
            provided = {function.name for function in functions()} | {*documented_of_driver()}
            missing = [name for name in self.imports if re.match(r"cu[A-Z]", name) and name not in provided]
            if missing:
                return (
                    f"it imports functions that no CUDA driver ptxsim knows has: {', '.join(missing)}",
                    "report the names",
                )
        return None


def inspect(path: str | Path) -> Program:
    """What an ELF file of 64 bits says; of any other file, an empty Program. Raises OSError where it cannot be read."""
    data = Path(path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return Program()
    try:
        return _read(data)
    except (struct.error, IndexError, ValueError, OverflowError):  # damaged
        return Program()


def _read(data: bytes) -> Program:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names_index = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    names = sections[names_index][4] if sections else 0
    found = Program()
    for _, type, _, _, offset, length, link, _, _, entry in sections:
        if type not in (_DYNAMIC, _DYNSYM):
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry):
            if type == _DYNAMIC:
                tag, value = struct.unpack_from("<QQ", data, at)
                if tag == _NEEDED:
                    found.needed.append(_text(data, strings + value))
            else:
                name, _, _, section = struct.unpack_from("<IBBH", data, at)
                if section == 0 and name:
                    found.imports.append(_text(data, strings + name))
    # nvcc leaves an empty binary in programs of the driver's functions alone, which register none.
    titles = {_text(data, names + s[0]) for s in sections}
    registers = ".nvFatBinSegment" in titles
    found.is_cuda = registers or (DRIVER not in found.needed and any(t.startswith(".nv_fatbin") for t in titles))
    return found


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode("ascii", "replace")

"""PTX and machine code in CUDA's fat binaries: `.fatbin` files, executables, objects, libraries.

The layout is not documented; it was read from what nvcc 11 to 13 write. Everything is little endian.

    header  u32 magic 0xBA55ED50, u16 version, u16 its size, u64 bytes that follow
    entry   u16 kind (1 PTX, 2 ELF), u16 version, u32 size of this header, u64 bytes stored, u32 at 16 bytes when compressed,
            u32 at 28 architecture (90 for sm_90), u64 at 40 flags, u64 at 56 bytes before compression
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ptxsim.diagnostic import Finding, PtxError

MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER, _ENTRY = struct.Struct("<4xHHQ"), struct.Struct("<HHIQI8xI8xQ8xQ")
_PTX, _ELF = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000
LARGEST = 1 << 30  # bytes that an image may say it has


@dataclass(frozen=True, slots=True)
class Image:
    """What a fat binary holds for one architecture: `kind` is "ptx" or "elf", `arch` its number (90). `binary`: which of the file's
    fat binaries, counted from 0, it is in."""

    kind: str
    arch: int
    data: bytes
    binary: int = 0

    @property
    def text(self) -> str:
        """The text of PTX, without the zero bytes that end it."""
        return self.data.rstrip(b"\0").decode("utf-8", errors="replace")


def images(data: bytes) -> list[Image]:
    """All images in a file, wherever in it its fat binaries stand. Raises PtxError where one is damaged, or where a package that
    decompresses it is missing."""
    found: list[Image] = []
    place, number = data.find(MAGIC), 0
    while place >= 0:
        end = place + 4
        if place + _HEADER.size <= len(data):
            _, size, length = _HEADER.unpack_from(data, place)
            if size >= _HEADER.size and place + size + length <= len(data):
                end = place + size + length
                found += _entries(data, place + size, end, number)
                number += 1
        place = data.find(MAGIC, end)
    return found


def _entries(data: bytes, start: int, end: int, number: int) -> Iterator[Image]:
    while start + _ENTRY.size <= end:
        kind, _, size, stored, packed, arch, flags, length = _ENTRY.unpack_from(data, start)
        first = start + size
        if size < _ENTRY.size or first + stored > end:
            raise PtxError(
                Finding("syntax-error", f"the fat binary is damaged: an entry of {stored} bytes does not fit")
            )
        if kind in (_PTX, _ELF):
            payload = data[first : first + (packed or stored)]
            yield Image("ptx" if kind == _PTX else "elf", arch, _unpacked(payload, flags, length), number)
        start = first + stored


def _unpacked(payload: bytes, flags: int, length: int) -> bytes:
    """The bytes of an image; `length` of them, if they were compressed."""
    if not flags & (_LZ4 | _ZSTD):
        return payload
    if length > LARGEST:
        raise PtxError(Finding("syntax-error", f"the fat binary is damaged: an image of {length} bytes"))
    try:
        if flags & _LZ4:
            unpacked: bytes = _package("lz4.block", "lz4").decompress(payload, uncompressed_size=length)
        else:
            unpacked = _package("zstandard", "zstandard").ZstdDecompressor().decompress(payload, max_output_size=length)
    except PtxError:
        raise
    except Exception as error:  # each package has errors of its own
        raise PtxError(Finding("syntax-error", f"the fat binary is damaged: {error}")) from None
    return unpacked


def _package(module: str, name: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        message = f"the PTX in it is compressed, and the package {name} that decompresses it is not installed"
        raise PtxError(Finding("bad-directive", message, help='pip install "ptxsim[cuda]"')) from None


def ptx_of(data: bytes, arch: int | None = None) -> list[str]:
    """The PTX texts in a file, of each of its fat binaries (one for each module) the newest that an architecture runs.

    Raises PtxError where there is none.
    """
    found = images(data)
    texts = [image for image in found if image.kind == "ptx"]
    newest: dict[int, Image] = {}
    for image in texts:
        if arch is None or image.arch <= arch:
            newest[image.binary] = max(newest.get(image.binary, image), image, key=lambda each: each.arch)
    if newest:
        return [image.text for image in newest.values()]
    if texts:
        message = f"its PTX is for sm_{min(image.arch for image in texts)} and newer"
    elif found:
        message = (
            f"it holds machine code for {', '.join(sorted({f'sm_{image.arch}' for image in found}))} only, and no PTX"
        )
    elif _is_cubin(data):
        message = "it is a cubin, which holds machine code and no PTX"
    else:
        message = "it holds no CUDA code"
    help = "build it with PTX: nvcc -gencode arch=compute_90,code=[sm_90,compute_90]; or give the .cu file"
    raise PtxError(Finding("bad-directive", message, help=help))


def _is_cubin(data: bytes) -> bool:
    """An ELF file for the machine that has number 190."""
    return data[:4] == b"\x7fELF" and data[18:20] == struct.pack("<H", 190)

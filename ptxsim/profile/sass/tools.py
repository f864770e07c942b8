"""The assembler and the disassembler, where they are installed, and what they say of a text. Remembered on disk.

They are looked for in the folder that PTXSIM_PTXAS names (`off`: not at all), on the PATH, in a CUDA installation, and among what pip
installs (`pip install "ptxsim[ptxas]"`; Triton brings its own).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ptxsim.jit.store import ObjectStore

SWITCH = "PTXSIM_PTXAS"
LONGEST = 120  # seconds for one text
_SPLIT = "\n==== listing ====\n"


class NoMachineCode(Exception):
    """Why a kernel's machine code cannot be had, in words."""


def assembled(text: str, target: str) -> tuple[str, str]:
    """(what ptxas -v says, what nvdisasm prints) of a PTX text. Raises NoMachineCode."""
    ptxas, nvdisasm = _tool("ptxas"), _tool("nvdisasm")
    if ptxas is None or nvdisasm is None:
        missing = " and ".join(name for name, path in (("ptxas", ptxas), ("nvdisasm", nvdisasm)) if path is None)
        raise NoMachineCode(f"{missing} not found")
    said, _, listing = _remembered(ptxas, nvdisasm, text, target).partition(_SPLIT)
    return said, listing


def said_of(text: str, target: str) -> str:
    """What ptxas -v says of a PTX text; no disassembler is needed. Raises NoMachineCode."""
    ptxas = _tool("ptxas")
    if ptxas is None:
        raise NoMachineCode("ptxas not found")
    return _remembered(ptxas, _tool("nvdisasm"), text, target).partition(_SPLIT)[0]


def disassembled(cubin: Path) -> str:
    """What nvdisasm prints of a cubin. Raises NoMachineCode."""
    nvdisasm = _tool("nvdisasm")
    if nvdisasm is None:
        raise NoMachineCode("nvdisasm not found")
    return _run([nvdisasm, "-c", "-hex", cubin]).stdout


def _remembered(ptxas: Path, nvdisasm: Path | None, text: str, target: str) -> str:
    digest = hashlib.blake2b(digest_size=20)
    for part in ("listing", version(ptxas), version(nvdisasm) if nvdisasm else "", target, text):
        digest.update(part.encode() + b"\0")
    store, key = ObjectStore(), digest.hexdigest()
    known = store.get(key)
    if known is None:
        # Listings are long, and mostly blanks: as they are, fifty would fill the store.
        known = zlib.compress(_assemble(ptxas, nvdisasm, text, target).encode())
        store.put(key, known)
    return zlib.decompress(known).decode()


def _assemble(ptxas: Path, nvdisasm: Path | None, text: str, target: str) -> str:
    """What both say; without a disassembler, what ptxas does."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(text)
        said = _run([ptxas, "-v", "-lineinfo", f"-arch={target}", source, "-o", cubin])
        shown = _run([nvdisasm, "-c", "-hex", "-g", cubin]).stdout if nvdisasm else ""
        return said.stderr + said.stdout + _SPLIT + shown


def _run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LONGEST)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoMachineCode(f"{Path(command[0]).name}: {error}") from None
    if done.returncode:
        first = next((line for line in (done.stderr + done.stdout).splitlines() if line.strip()), "it failed")
        raise NoMachineCode(f"{Path(command[0]).name}: {first}")
    return done


@cache
def version(tool: Path) -> str:
    """The last line of what a tool says of its version."""
    return (_run([tool, "--version"]).stdout.strip().splitlines() or ["?"])[-1]


def _tool(name: str) -> Path | None:
    """Where a tool is, or None."""
    switch = os.environ.get(SWITCH, "")
    if switch == "off":
        return None
    return _found(name, switch, os.environ.get("PATH", ""))


@cache
def _found(name: str, folder: str, path: str) -> Path | None:
    places = [Path(folder, name)] if folder else []
    return next((place for place in (*places, *_places(name, path)) if place.is_file()), None)


def _places(name: str, path: str) -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if variable in os.environ:
            yield Path(os.environ[variable], "bin", name)
    on_path = shutil.which(name, path=path)
    if on_path:
        yield Path(on_path)
    packages = Path(sysconfig.get_paths()["purelib"])
    yield from sorted(packages.glob(f"nvidia/cu*/bin/{name}"), reverse=True)
    yield packages / "triton/backends/nvidia/bin" / name
    yield Path("/usr/local/cuda/bin", name)

"""Files that hold kernels in other forms than PTX text: CUDA C++, fat binaries, executables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ptxsim.cuda.compiler import compile_file
from ptxsim.cuda.fatbin import MAGIC, ptx_of
from ptxsim.cuda.linking import with_definitions
from ptxsim.demangle import demangle, is_named, is_part
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.source import Source, read_bytes
from ptxsim.syntax.parser import parse
from ptxsim.types import parse_target

CUDA_SUFFIXES = (".cu", ".cuh")
_STARTS = (b"\x7fELF", MAGIC, b"!<arch>")


def read_file(
    path: str | Path, entry: str | None = None, target: str | None = None, compiler: str | None = None,
    flags: Sequence[str] = (),
) -> Source:  # fmt: skip
    """The PTX of a file: of a .cu file what it compiles to, of a binary file what it carries, else its text.

    entry, target: what is to run, and where; a program may carry many modules. Raises OSError, and PtxError where there is no PTX.
    """
    path = Path(path)
    if path.suffix in CUDA_SUFFIXES:
        return compile_file(path, target, compiler, flags)
    data = read_bytes(path)
    if not data.startswith(_STARTS):
        return Source.of_bytes(data, path)
    try:
        texts = ptx_of(data, parse_target(target).number if target else None)
    except PtxError as error:
        named = (replace(finding, message=f"{path}: {finding.message}") for finding in error.findings)
        raise PtxError(named).of(Source("", str(path), path)) from None
    sources = [
        Source(text, f"{path}:{number}.ptx" if len(texts) > 1 else f"{path}.ptx", path)
        for number, text in enumerate(texts)
    ]
    if len(sources) == 1:
        return sources[0]
    chosen = _with_entry(sources, entry)
    # Translation units that were compiled apart (-rdc=true) define what others use.
    return replace(chosen, text=with_definitions(chosen.text, [other.text for other in sources if other is not chosen]))


def _with_entry(sources: Sequence[Source], entry: str | None) -> Source:
    """The module that has a kernel. Raises PtxError if none or several have."""
    kernels = {name: source for source in sources for name in (f.name for f in parse(source).entries())}
    for meant in (str.__eq__, is_named, is_part):
        found = [name for name in kernels if entry is not None and meant(name, entry)]
        if len(found) == 1:
            return kernels[found[0]]
    if entry is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    which = f"{len(found)} match" if found else "none is called" if entry else "say which:"
    listed = ", ".join(map(demangle, found or kernels)) or "none"
    raise PtxError(
        Finding(
            "bad-directive", f"the file has {len(kernels)} kernels; {which} {entry or ''}", help=f"there are: {listed}"
        )
    )

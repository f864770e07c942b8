"""CUDA C++ to PTX with line information: by NVRTC from pip, or by nvcc. What has been compiled is remembered on disk.

NVRTC takes the code of the GPU only; a file with host code in it (launches, a main function, the host's headers) needs nvcc.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.jit.store import ObjectStore
from ptxsim.source import Source

DEFAULT_TARGET = "sm_90a"
INSTALL = 'pip install "ptxsim[cuda]"'
# Launches, main, and headers of the host: those of C++ have no dot and no slash in their names, CUDA's own have.
_HOST_CODE = re.compile(
    r"<<<|\bint\s+main\s*\(|#\s*include\s*<(?:\w+>|thrust/|(?:assert|errno|float|inttypes|limits|math|stddef|stdint|stdio|stdlib|string|time)\.h>)"
)
_HOST_HELP = (
    "host code and headers of the host need nvcc (--compiler nvcc); CUDA's own are in cuda/std: <cuda/std/cstdint>"
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NO_HOST_COMPILER = (
    "Failed to preprocess host compiler properties"  # nvcc's words; the line before says what it has tried
)
# file(line): error: text, as nvcc and NVRTC write it; file:line:column: error: text, as host compilers do.
_ERROR = re.compile(
    r"^(?P<file>[^\n(:]+)(?:\((?P<line>\d+)\)|:(?P<number>\d+):(?P<column>\d+)): (?:catastrophic |fatal )?error(?: #[\w-]+)?: (?P<text>.*)$",
    re.MULTILINE,
)  # fmt: skip


def compile_file(
    path: str | Path, target: str | None = None, compiler: str | None = None, flags: Sequence[str] = ()
) -> Source:
    """The PTX of a .cu file; `made_from` of the result is the file itself.

    target: "sm_90a" unless said. compiler: "nvrtc" or "nvcc", else the one that can take the file and is there. flags: more of the
    compiler's own. Raises OSError where the file cannot be read; PtxError where it does not compile (findings at lines of the
    file), or where no compiler is there.
    """
    file = Source.from_file(path)
    target = target or DEFAULT_TARGET
    name = compiler or _fitting(file)
    version = _nvrtc_version() if name == "nvrtc" else _nvcc_version(_nvcc())
    store, key = ObjectStore(), _key(file, name, version, target, *flags)
    known = store.get(key)
    if known is None:
        known = (_by_nvrtc if name == "nvrtc" else _by_nvcc)(file, target, flags).encode()
        store.put(key, known)
    return Source(known.decode(), f"{Path(path).stem}.ptx", Path(path), file)


def _fitting(file: Source) -> str:
    """The compiler for a file."""
    if _HOST_CODE.search(_COMMENTS.sub("", file.text)) and _find_nvcc():
        return "nvcc"
    return "nvrtc" if _has_nvrtc() or not _find_nvcc() else "nvcc"


def _key(file: Source, *parts: str) -> str:
    digest = hashlib.blake2b(digest_size=20)
    for part in ("cuda", *parts, str(file.path), file.text, *_included(file, set())):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _included(file: Source, seen: set[Path]) -> Iterator[str]:
    """Texts of the user's own headers, as far as they stand beside the file that includes them."""
    assert file.path is not None
    for name in _INCLUDE.findall(file.text):
        path = (file.path.parent / name).resolve()
        if path not in seen and path.is_file():
            seen.add(path)
            header = Source.from_file(path)
            yield header.text
            yield from _included(header, seen)


# ---- NVRTC ----


def _has_nvrtc() -> bool:
    try:
        _nvrtc_version()
    except PtxError:
        return False
    return True


def _nvrtc_version() -> str:
    """The version of NVRTC. Raises PtxError where it is not installed."""
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as error:
        missing = f"{error}".splitlines()[0] if str(error) else type(error).__name__
        message = f"NVRTC, which compiles CUDA C++, cannot be loaded: {missing}"
        raise PtxError(Finding("bad-directive", message, help=f"{INSTALL}; or install nvcc")) from None
    return f"{major}.{minor}"


def _by_nvrtc(file: Source, target: str, flags: Sequence[str]) -> str:
    from cuda.bindings import nvrtc

    folders = [Path(file.name).parent, *_headers()]
    options = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", "-lineinfo", "--std=c++17"]
    options += [f"-I{folder}" for folder in folders]
    _, program = nvrtc.nvrtcCreateProgram(file.text.encode(), str(Path(file.name).absolute()).encode(), 0, [], [])
    said = [option.encode() for option in (*options, *flags)]
    (outcome,) = nvrtc.nvrtcCompileProgram(program, len(said), said)
    if outcome != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        help = _HOST_HELP if _HOST_CODE.search(_COMMENTS.sub("", file.text)) else None
        raise _refused(file, log.decode(errors="replace").rstrip("\0 "), help)
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    return str(text.rstrip(b"\0 ").decode())


def _headers() -> list[Path]:
    """Where CUDA's own headers are: of pip's packages, else of an installation."""
    root = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = [path for path in sorted(root.glob("cu*/include"), reverse=True) if (path / "cuda_fp16.h").exists()]
    nvcc = _find_nvcc()
    if not found and nvcc is not None:
        found = [
            path
            for path in (nvcc.parent.parent / "include", *nvcc.parent.parent.glob("targets/*/include"))
            if path.is_dir()
        ]
    return [folder for path in found[:1] for folder in (path, path / "cccl") if folder.is_dir()]


# ---- nvcc ----


def _find_nvcc() -> Path | None:
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    places = [Path(home, "bin", "nvcc") for home in homes]
    places += sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/bin/nvcc"), reverse=True)
    on_path = shutil.which("nvcc")
    found = [Path(on_path).resolve()] if on_path else []
    return next((path for path in (*places, *found) if path.is_file()), None)


def _nvcc() -> Path:
    found = _find_nvcc()
    if found is None:
        message = "no nvcc is there: neither on the PATH, nor in CUDA_HOME, nor of pip's nvidia-cuda-nvcc"
        raise PtxError(
            Finding(
                "bad-directive", message, help=f"install the CUDA toolkit; or, for code of the GPU alone, {INSTALL}"
            )
        )
    return found


def _nvcc_version(nvcc: Path) -> str:
    shown = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    return (shown.strip().splitlines() or ["?"])[-1]


def _by_nvcc(file: Source, target: str, flags: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.ptx")
        command = [
            str(_nvcc()),
            "-ptx",
            "-lineinfo",
            f"-arch={target}",
            *flags,
            "-o",
            str(out),
            str(Path(file.name).absolute()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            log = done.stdout + done.stderr
            raise _no_host_compiler(log) if _NO_HOST_COMPILER in log else _refused(file, log, None)
        return out.read_text()


def _no_host_compiler(log: str) -> PtxError:
    why = log.splitlines()[0]
    help = f"for code of the GPU alone: {INSTALL}; or install gcc, or name another compiler with -ccbin"
    return PtxError(Finding("bad-directive", f"nvcc needs a compiler of the host's, and has none: {why}", help=help))


def _refused(file: Source, log: str, help: str | None) -> PtxError:
    """What the compiler says, as findings at the lines of the file; all of it in one, where it names none."""
    found = []
    for match in _ERROR.finditer(log):
        line = int(match["line"] or match["number"])
        is_own = Path(match["file"]).name == Path(file.name).name
        text = match["text"] if is_own else f"{match['file']}:{line}: {match['text']}"
        place = (line, int(match["column"] or 1)) if is_own else (0, 1)
        found.append(Finding("syntax-error", text, *place, help=help).of(file))
    return PtxError(
        found or [Finding("syntax-error", " ".join(log.split()) or "the compiler failed", help=help).of(file)]
    )

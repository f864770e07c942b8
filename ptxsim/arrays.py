"""Test data: arrays named by PTX types, made by a rule or read from a file.

The default values are small integers, so that sums of products are exact in every type and a test may ask for equality.
Types narrower than a byte (e2m1, s4, b1, ...) use one byte per element, as ml_dtypes does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxsim.diagnostic import problem
from ptxsim.given import a_number, a_text
from ptxsim.spelling import did_you_mean
from ptxsim.types import DTYPES as DTYPES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

bad = partial(problem, "bad-directive")  # for an initialiser that cannot be understood


Shape = int | Sequence[int]
Seed = int | Sequence[int]

MAX_ELEMENTS = 1 << 30
PIECE = 1 << 20  # elements that are made at once
SMALL = 4  # `ints` draws from -4..4 (0..8 for unsigned types): 64 products of these still add up exactly in f16


def dtype_of(type: str) -> np.dtype:
    """The numpy or ml_dtypes dtype of a PTX type ("bf16"). Raises PtxError for a name that is no type of array data."""
    import numpy as np

    name = DTYPES.get(a_text("the type of array data", type, "write f16, f32, u32, bf16, ...").lstrip("."))
    if name is None:
        raise bad(f"{type!r} is no type of array data", did_you_mean(type, DTYPES))
    return np.dtype(getattr(np, name)) if hasattr(np, name) else _narrow(name)


def _narrow(name: str) -> np.dtype:
    import ml_dtypes
    import numpy as np

    dtype: np.dtype = np.dtype(getattr(ml_dtypes, name))
    return dtype


def type_of(dtype: np.dtype) -> str:
    """The PTX type that prints a dtype: float16 is f16, uint32 is u32. An unknown dtype gives its own name."""
    preferred = ("f16", "f32", "f64", "pred", "u8", "u16", "u32", "u64", "u4")
    for type in (*preferred, *DTYPES):
        if DTYPES[type] == dtype.name:
            return type
    return dtype.name


def type_name(type: str | DTypeLike) -> str:
    """The PTX type that a name or a dtype stands for: "f16" for "f16" and np.float16. Raises PtxError."""
    import numpy as np

    if isinstance(type, str):
        dtype_of(type)
        return type.lstrip(".")
    help = 'write "f16", "f32", "u32", "bf16", ..., or np.float16'
    try:
        name = type_of(np.dtype(type)) if type is not None else ""
    except (TypeError, ValueError):
        name = ""
    if name not in DTYPES:
        raise bad(f"{type!r} is no type of array data", help)
    return name


def zeros(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """An array of zeros. `seed` is accepted so that all makers have one signature; it has no effect."""
    import numpy as np

    return np.zeros(checked_shape(shape), dtype_of(type_name(type)))


def ones(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """An array of ones."""
    import numpy as np

    return np.ones(checked_shape(shape), dtype_of(type_name(type)))


def square(shape: Shape) -> tuple[int, ...]:
    """The sizes of an identity: n by n, where one is given."""
    sizes = checked_shape(shape)
    return checked_shape((*sizes, *sizes)[:2])


def eye(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """The identity: ones where row equals column. A single size n means n by n."""
    import numpy as np

    made = zeros(square(shape), type)
    np.fill_diagonal(made, 1)
    return made


def ramp(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """0, 1, 2, ... in row-major order: shows in a result which element went where. Integers wrap, floats round."""
    import numpy as np

    return _drawn(shape, type_name(type), lambda start, end: np.arange(start, end, dtype=np.int64))


def ints(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """Random integers -4..4, or 0..8 for unsigned types (0..1 for single bits; 1, 2, 4 for ue8m0)."""

    type = type_name(type)
    dtype, random = dtype_of(type), _generator(seed)
    if dtype.name == "bool":
        return random.integers(0, 2, checked_shape(shape)).astype(dtype)
    if type == "ue8m0":
        return (2.0 ** random.integers(0, 3, checked_shape(shape))).astype(dtype)
    low = 0 if dtype.name.startswith("uint") or type == "ue4m3" else -SMALL
    return _drawn(shape, type, lambda start, end: random.integers(-SMALL, SMALL + 1, end - start) + (SMALL + low))


def normal(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """Random numbers of mean 0 and deviation 1, rounded to the type, which must be a float. Raises PtxError else."""

    type = type_name(type)
    dtype = dtype_of(type)
    if "int" in dtype.name or dtype.name == "bool":
        raise bad(f"normal() makes fractions, and {type} holds none", f"write ints(...):{type} or uniform(...):{type}")
    random = _generator(seed)
    return _drawn(shape, type, lambda start, end: random.standard_normal(end - start))


def uniform(shape: Shape, type: str | DTypeLike = "f32", seed: Seed = 0) -> np.ndarray:
    """Random floats in [-1, 1), or integers over the whole range of an integer type (any bits for b16, b32, ...)."""
    import numpy as np

    type = type_name(type)
    dtype, random = dtype_of(type), _generator(seed)
    shape = checked_shape(shape)
    if dtype.name == "bool":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.name in ("int4", "uint4"):
        low = -8 if dtype.name == "int4" else 0
        return random.integers(low, low + 16, shape).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return _drawn(shape, type, lambda start, end: random.uniform(-1.0, 1.0, end - start))


def _generator(seed: Seed) -> np.random.Generator:
    import numpy as np

    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise bad(f"a seed is a whole number of 0 or more, or several of them, not {seed!r}") from None


def _drawn(shape: Shape, type: str, draw: Callable[[int, int], np.ndarray]) -> np.ndarray:
    """An array of a type; `draw(start, end)` gives its elements, a piece at a time: they are wider than the type mostly."""
    import numpy as np

    sizes = checked_shape(shape)
    found = np.empty(math.prod(sizes), dtype_of(type))
    for start in range(0, len(found), PIECE):
        end = min(start + PIECE, len(found))
        found[start:end] = _cast(draw(start, end), type)
    return found.reshape(sizes)


def _cast(values: np.ndarray, type: str) -> np.ndarray:
    """Values rounded to a type; no narrow float is reached through another narrow one, so there is one rounding."""
    import numpy as np

    dtype = dtype_of(type)
    with np.errstate(all="ignore"):
        if dtype.name in ("int4", "uint4"):
            return ((values + 8) % 16 - 8 if dtype.name == "int4" else values % 16).astype(dtype)
        rounded = values.astype(dtype)
    if type == "tf32":  # a register holding tf32 has 13 low bits that do not count; test data leaves them zero
        rounded = (rounded.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return rounded


def checked_shape(shape: Shape) -> tuple[int, ...]:
    """Sizes that an array may have. Raises PtxError."""
    sizes = (shape,) if not isinstance(shape, Sequence) else tuple(shape)
    sizes = tuple(a_number("a size of a shape", size) for size in sizes)
    if not all(size >= 0 for size in sizes):
        raise bad(f"a shape is made of sizes, not {shape!r}")
    if math.prod(sizes) > MAX_ELEMENTS:
        raise bad(f"an array of {math.prod(sizes)} elements is too large", f"at most {MAX_ELEMENTS} elements")
    return sizes


Maker = Callable[[Shape, str, Seed], "np.ndarray"]
MAKERS: dict[str, Maker] = {
    maker.__name__: maker for maker in (zeros, ones, eye, ramp, ints, normal, uniform)
}  # fmt: skip


def load(path: Path, type: str) -> np.ndarray:
    """An array from .npy, or the only array of an .npz, its bytes viewed as a PTX type.

    numpy saves bf16, fp8 and narrower as raw bytes and forgets their names, so the reader always says the type.
    Raises PtxError.
    """
    import numpy as np

    dtype = dtype_of(type)
    try:
        if not path.is_file():
            raise bad(f"cannot read {path}: no such file" if not path.exists() else f"{path} is no file")
        if path.suffix == ".npy":
            loaded: Any = np.array(np.load(path, allow_pickle=False, mmap_mode="r"))  # no more than the file holds
        else:
            loaded = _only_array(path)
    except (OSError, ValueError, EOFError) as error:
        raise bad(f"cannot read {path}: {_reason(error)}") from None
    array: np.ndarray = loaded
    if array.dtype == dtype:
        return array
    if array.dtype.itemsize != dtype.itemsize:
        raise bad(
            f"{path} holds {type_of(array.dtype)} ({array.dtype.itemsize} bytes each), which is not {type}",
            f"convert it before saving, or write {path.name}:{type_of(array.dtype)}",
        )
    return np.ascontiguousarray(array).view(dtype)


def _only_array(path: Path) -> np.ndarray:
    """The array in an .npz. Raises PtxError, OSError, ValueError."""
    import zipfile

    import numpy as np

    try:
        with zipfile.ZipFile(path) as archive:
            inside = archive.infolist()
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from None
    if len(inside) != 1:
        names = ", ".join(one.filename.removesuffix(".npy") for one in inside)
        raise bad(f"{path} holds {len(inside)} arrays ({names})", "save the one you mean as .npy")
    if inside[0].file_size > MAX_ELEMENTS:
        raise bad(f"{path} holds an array of {inside[0].file_size} bytes, which is too large")
    with np.load(path, allow_pickle=False) as archive:
        found: np.ndarray = archive[archive.files[0]]
    return found


def save(path: Path, array: np.ndarray) -> str:
    """Write an array to .npy; returns one line that says how to read it again. Raises PtxError where it cannot.

    Types that numpy would forget are written as unsigned integers of the same width.
    """
    import numpy as np

    type = type_of(array.dtype)
    shape = "x".join(str(size) for size in array.shape) or "1"
    path = Path(path)
    stored = array if array.dtype.isbuiltin == 1 else array.view(np.dtype(f"uint{8 * array.dtype.itemsize}"))
    try:
        with path.open("wb") as file:
            np.save(file, stored)
    except OSError as error:
        raise bad(f"cannot write {path}: {_reason(error)}") from None
    note = "" if stored is array else f" (stored as {stored.dtype.name}; read it as {path.name}:{type})"
    return f"{path}: {shape} of {type}{note}"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).splitlines()[0] if str(error) else error.__class__.__name__

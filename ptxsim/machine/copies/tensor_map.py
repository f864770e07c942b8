"""Tensor maps: what a tensor copy knows about its tensor in global memory. PTX ISA, "Tensors", "Tensor-Map".

The 128 bytes of a tensor map are opaque to programs; the layout here is our own (driver_map reads the CUDA driver's). Bytes that are all zero and then edited
field by field with tensormap.replace are a valid map, as on the GPU.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.layout.swizzle import WIDE_ATOMS, WIDER_ATOMS
from ptxsim.spelling import did_you_mean

SIZE = 128
DECLARED = f": a parameter is declared .param .align 64 .b8 map[{SIZE}]"
FLIPPED = "128B_32B_8B"  # as WIDE_ATOMS, and halves of 16 bytes change places in every other line
SWIZZLES = ("none", "32B", "64B", "128B", WIDE_ATOMS, FLIPPED, WIDER_ATOMS)  # by the number of the CUDA driver
ATOMS = ("128B", WIDE_ATOMS, FLIPPED, WIDER_ATOMS)  # swizzles of 128 bytes, by the number of their atomicity
SWIZZLE_96B = 4  # the swizzle_mode that sm_103a has besides
INTERLEAVES = ("none", "16B", "32B")
FILLS = ("zero", "nan")
WIDE = ("w", "w128")  # maps of im2col along the W dimension alone, by the number of the CUDA driver


Choice = TypeVar("Choice")


class NotModeled(ValueError):
    """A map that a GPU takes; what it does there no public text says."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """A row of the manual's table of element types (PTX ISA, "tensormap.replace"): its code, size and numpy type."""

    name: str
    code: int
    bytes: int
    numpy: str
    driver: int  # the number of the CUDA driver's enumeration
    packed: int = 1  # elements that share those bytes
    unit: int = 16  # bytes in global memory of what takes 16 in shared memory; what is left there is padding


ELEMENT_TYPES = tuple(
    ElementType(*row)
    for row in [
        ("u8", 0, 1, "uint8", 0), ("u16", 1, 2, "uint16", 1), ("u32", 2, 4, "uint32", 2), ("s32", 3, 4, "int32", 3),
        ("u64", 4, 8, "uint64", 4), ("s64", 5, 8, "int64", 5), ("f16", 6, 2, "float16", 6), ("f32", 7, 4, "float32", 7),
        ("f32.ftz", 8, 4, "float32", 10), ("f64", 9, 8, "float64", 8), ("bf16", 10, 2, "bfloat16", 9),
        ("tf32", 11, 4, "float32", 11), ("tf32.ftz", 12, 4, "float32", 12),
    ]
) + (
    ElementType("b4x16", 13, 1, "uint8", 13, packed=2),
    ElementType("b4x16_p64", 14, 1, "uint8", 14, packed=2, unit=8),
    ElementType("b6x16_p32", 15, 3, "uint8", 15, packed=4, unit=12),  # b6p2x16 of stores
)  # fmt: skip
PADDED = 128  # elements of a row of a box whose type is padded
_ALIASES = {
    "b6p2x16": "b6x16_p32",
    "i8": "u8",
    "s8": "u8",
    "e4m3": "u8",
    "e5m2": "u8",
    "i16": "u16",
    "s16": "u16",
    "i32": "s32",
    "i64": "s64",
}

# name: (offset, struct format, elements). Numbers of tensormap.replace are kept as they are given.
FIELDS: dict[str, tuple[int, str, int]] = {
    "global_address": (0, "Q", 1),
    "rank": (8, "B", 1),  # one less than the number of dimensions
    "elemtype": (9, "B", 1),
    "interleave_layout": (10, "B", 1),
    "swizzle_mode": (11, "B", 1),
    "fill_mode": (12, "B", 1),
    "im2col": (13, "B", 1),  # 1, or 2 and up: one of WIDE
    "swizzle_atomicity": (14, "B", 1),
    "global_dim": (16, "I", 5),
    "box_dim": (36, "H", 5),
    "element_stride": (46, "B", 5),
    "global_stride": (56, "Q", 5),
    "lower_corner": (96, "h", 3),
    "upper_corner": (102, "h", 3),
    "channels": (108, "H", 1),
    "pixels": (110, "H", 1),
}


def field_place(name: str, ordinal: int = 0) -> tuple[int, int]:
    """(offset, bytes) of a field within the 128 bytes."""
    offset, code, _ = FIELDS[name]
    size = struct.calcsize(code)
    return offset + ordinal * size, size


@dataclass(frozen=True, slots=True)
class TensorDescription:
    """A decoded map. Everything is innermost dimension first; `strides` are bytes and begin with the element's size."""

    address: int
    type: ElementType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    lower_corner: tuple[int, ...] | None = None  # of the pixels' bounding box, im2col only
    upper_corner: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0
    wide: str = ""

    @property
    def rank(self) -> int:
        return len(self.dims)

    def encode(self) -> bytes:
        """The 128 bytes."""
        data = bytearray(SIZE)

        def put(name: str, *values: int) -> None:
            offset, code, _ = FIELDS[name]
            struct.pack_into(f"<{len(values)}{code}", data, offset, *values)

        put("global_address", self.address)
        put("rank", self.rank - 1)
        put("elemtype", self.type.code)
        put("interleave_layout", INTERLEAVES.index(self.interleave))
        put("swizzle_mode", min(SWIZZLES.index(self.swizzle), 3))
        put("swizzle_atomicity", ATOMS.index(self.swizzle) if self.swizzle in ATOMS else 0)
        put("fill_mode", FILLS.index(self.fill))
        put("global_dim", *(d & 0xFFFFFFFF for d in self.dims))
        put("box_dim", *self.box)
        put("element_stride", *self.element_strides)
        put("global_stride", *self.strides[1:])
        if self.lower_corner is not None:
            put("im2col", 2 + WIDE.index(self.wide) if self.wide else 1)
            put("lower_corner", *self.lower_corner)
            put("upper_corner", *self.upper_corner)
            put("channels", self.channels)
            put("pixels", self.pixels)
        return bytes(data)


def decode(data: bytes) -> TensorDescription:
    """A map from its 128 bytes. Raises ValueError saying which field has no meaning, or NotModeled."""

    def get(name: str) -> tuple[int, ...]:
        offset, code, count = FIELDS[name]
        return struct.unpack_from(f"<{count}{code}", data, offset)

    def choice(name: str, words: Sequence[Choice]) -> Choice:
        number = get(name)[0]
        if number >= len(words):
            raise ValueError(f"{name} is {number}, the largest value is {len(words) - 1}")
        return words[number]

    rank = get("rank")[0] + 1
    if not 1 <= rank <= 5:
        raise ValueError(f"the rank is {rank}, it must be 1 to 5")
    if get("swizzle_mode")[0] == SWIZZLE_96B:
        raise NotModeled("where a swizzle of 96 bytes puts a row's pieces is not known")
    element, swizzle, atoms = (
        choice("elemtype", ELEMENT_TYPES),
        choice("swizzle_mode", SWIZZLES[:4]),
        choice("swizzle_atomicity", ATOMS),
    )
    if atoms != ATOMS[0]:
        if swizzle != ATOMS[0]:
            raise ValueError(f"only the swizzle of 128B has a swizzle_atomicity, this one is {swizzle}")
        swizzle = atoms
    description = TensorDescription(
        get("global_address")[0], element, tuple(d or 1 << 32 for d in get("global_dim")[:rank]),
        (element.bytes, *get("global_stride")[: rank - 1]), get("box_dim")[:rank], get("element_stride")[:rank],
        swizzle, choice("interleave_layout", INTERLEAVES), choice("fill_mode", FILLS),
    )  # fmt: skip
    if kind := choice("im2col", ("", "im2col", *WIDE)):
        spatial = 1 if kind in WIDE else rank - 2
        description = replace(
            description, lower_corner=get("lower_corner")[:spatial], upper_corner=get("upper_corner")[:spatial],
            channels=get("channels")[0], pixels=get("pixels")[0], wide=kind if kind in WIDE else "",
        )  # fmt: skip
    problem = check(description)
    if problem:
        raise (NotModeled if swizzle == FLIPPED else ValueError)(problem)
    return description


def check(t: TensorDescription) -> str | None:
    """What the CUDA driver would refuse about a map, or None."""
    size = t.type.bytes
    if t.address % 16:
        return f"the tensor's address {t.address:#x} is not a multiple of 16"
    for i, (dim, stride) in enumerate(zip(t.dims, t.strides)):
        if not 1 <= dim <= 1 << 32:
            return f"dimension {i} is {dim}, it must be 1 to 2^32"
        # 0 is a stride, too: one row in the place of all (driver 580.159.04; CUTLASS gives a bias to all rows so).
        if i and (stride % 16 or not 0 <= stride < 1 << 40):
            return f"the stride of dimension {i} is {stride} bytes, it must be a multiple of 16 below 2^40"
    for i, stride in enumerate(t.element_strides):
        if not 1 <= stride <= 8:
            return f"element stride {i} is {stride}, it must be 1 to 8"
    inner = t.channels if t.lower_corner is not None else t.box[0]
    if t.dims[0] % t.type.packed or inner % t.type.packed:
        return f"{t.dims[0]} elements of {t.type.name} in rows of the tensor, {inner} in those of the box: both take whole bytes"
    if t.lower_corner is None:
        for i, extent in enumerate(t.box):
            if not 1 <= extent <= 256:
                return f"box dimension {i} is {extent}, it must be 1 to 256"
    elif t.rank < 3 or not (1 <= t.channels <= 256 and 1 <= t.pixels <= 1024):
        return "im2col takes ranks 3 to 5, 1 to 256 channels and 1 to 1024 pixels"
    if t.wide and (t.swizzle == "none" or t.interleave != "none"):
        return "im2col along W takes a swizzle, and no interleaved layout"
    if t.swizzle == FLIPPED:
        return "which lines a swizzle with halves of 16 bytes flipped begins with is not known: it is not modeled"
    if t.type.packed > 1 and t.fill == "nan":
        return f"elements outside cannot read as NaN where the type is {t.type.name}"
    if t.type.unit < 16 and (problem := check_padded(t, inner)):
        return problem
    inner //= t.type.packed
    if t.interleave == "none":
        if inner * size % 16:
            return f"the box is {inner * size} bytes wide, it must be a multiple of 16"
        if t.swizzle != "none" and inner * size > (width := int(t.swizzle.partition("B")[0])):
            return f"the box is {inner * size} bytes wide, swizzle {t.swizzle} allows no more than {width}: {width // size} elements"
    return None


def check_padded(t: TensorDescription, inner: int) -> str | None:
    """The same of types with padding in shared memory; `inner`: elements of a row of the box. PTX ISA, "Restriction on Tensor Copy
    instructions"."""
    name = t.type.name
    if inner != PADDED or t.dims[0] % PADDED:
        return f"rows of {inner} elements in a tensor of {t.dims[0]}: {name} takes boxes of {PADDED}, and tensors of multiples of that"
    if t.address % 32 or any(stride % 32 for stride in t.strides[1:]):
        return f"address and strides of a tensor of {name} have to be multiples of 32"
    if t.swizzle not in ("none", *ATOMS) or t.interleave != "none":
        return f"{name} takes no swizzle or one of 128B, and no interleaved layout"
    return None


@dataclass
class TensorMap:
    """A CUtensorMap as a kernel argument.

    `source` is an array that is copied to the device, or a device address. As in the CUDA driver everything is
    innermost dimension first: `dims` in elements (default: the array's shape), `strides` in bytes without the innermost,
    `box` in elements, `element_strides` the traversal strides. `dtype`: a PTX type name, a numpy dtype or the driver's
    number; `swizzle`: "none", "32B", "64B", "128B", "128B_32B" (pieces of 32 bytes), "128B_64B", or 0, 32, 64, 128, or the driver's 0 to 6; `oob_fill`: "zero" or
    "nan". For im2col give `lower_corner`, `upper_corner`, `channels` and `pixels` in place of `box`; for im2col along W alone
    corners of one number, and `wide`: "w" or "w128".
    Raises PtxError where the CUDA driver would refuse the map.
    """

    source: np.ndarray | int
    dtype: str | int | np.dtype | None = None
    dims: Sequence[int] | None = None
    strides: Sequence[int] | None = None
    box: Sequence[int] | None = None
    element_strides: Sequence[int] | None = None
    swizzle: str | int = "none"
    oob_fill: str | int = "zero"
    interleave: str | int = "none"
    lower_corner: Sequence[int] | None = None
    upper_corner: Sequence[int] = ()
    channels: int = 0
    pixels: int = 0
    wide: str = ""
    _description: TensorDescription = field(init=False, repr=False)

    def __post_init__(self) -> None:
        dtype, dims, strides = self.dtype, self.dims, self.strides
        if isinstance(self.source, np.ndarray):
            dtype = self.source.dtype if dtype is None else dtype
            if dims is None:
                dims = self.source.shape[::-1]
                strides = self.source.strides[-2::-1] if strides is None else strides
        if dtype is None or dims is None:
            raise _problem("a tensor map of a bare address needs dtype and dims")
        element, dims = _element_type(dtype), tuple(dims)
        strides = _packed(dims, element) if strides is None else strides
        rank = len(dims)
        box = tuple(self.box) if self.box is not None else (1,) * rank
        steps = tuple(self.element_strides) if self.element_strides is not None else (1,) * rank
        if not 1 <= rank <= 5 or len(strides) != rank - 1 or len(box) != rank or len(steps) != rank:
            raise _problem(
                f"{rank} dimensions with {len(strides)} strides, {len(box)} box sizes and {len(steps)} element strides",
                "ranks are 1 to 5; strides leave out the innermost dimension",
            )
        self._description = TensorDescription(
            0, element, dims, (element.bytes, *strides), box, steps, _word(self.swizzle, SWIZZLES, "swizzle"),
            _word(self.interleave, INTERLEAVES, "interleave"), _word(self.oob_fill, FILLS, "oob_fill"),
            None if self.lower_corner is None else tuple(self.lower_corner), tuple(self.upper_corner),
            self.channels, self.pixels, _word(self.wide, WIDE, "wide") if self.wide else "",
        )  # fmt: skip
        problem = check(self._description)
        if problem:
            raise _problem(problem)

    def device_bytes(self, place: Callable[[np.ndarray], int]) -> bytes:
        """The 128 bytes; `place` puts the array on the device and gives its address."""
        address = place(self.source) if isinstance(self.source, np.ndarray) else int(self.source)
        return replace(self._description, address=address).encode()


def _packed(dims: Sequence[int], element: ElementType) -> tuple[int, ...]:
    strides, pitch = [], element.bytes
    for dim in dims[:-1]:
        pitch *= dim
        strides.append(pitch // element.packed)
    return tuple(strides)


def _element_type(given: str | int | np.dtype) -> ElementType:
    if isinstance(given, int):
        found = next((t for t in ELEMENT_TYPES if t.driver == given), None)
    else:
        name = given if isinstance(given, str) else np.dtype(given).name
        name = _ALIASES.get(name, name)
        found = next((t for t in ELEMENT_TYPES if name in (t.name, t.numpy)), None)
        if found is None and not isinstance(given, str) and np.dtype(given).itemsize in (1, 2, 4, 8):
            found = _element_type(f"u{8 * np.dtype(given).itemsize}")
    if found is None:
        raise _problem(
            f"{given!r} is no element type of a tensor map", f"known are {', '.join(t.name for t in ELEMENT_TYPES)}"
        )
    return found


def _word(given: str | int, words: Sequence[str], what: str) -> str:
    if isinstance(given, int):
        if given < len(words):
            return words[given]
        given = f"{given}B"
    if given in words:
        return given
    raise _problem(f"{what} {given!r} is unknown", did_you_mean(given, words))


def _problem(message: str, help: str | None = None) -> PtxError:
    return PtxError(Finding("bad-directive", f"TensorMap: {message}", help=help))

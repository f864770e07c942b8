"""Initial values of parameters as directives and --arg write them: `ints(64,16,seed=1):f16`, numbers, files, tensor maps."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxsim.arrays import MAKERS, Seed, bad, checked_shape, dtype_of, load, normal, square
from ptxsim.spelling import did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from ptxsim.machine.copies.tensor_map import TensorMap


@dataclass(frozen=True, slots=True)
class Initialiser:
    """The initial value of a parameter: a number, a rule with shape and type, a file with a type, or a tensor map."""

    text: str
    number: int | float | None = None
    maker: str | None = None
    shape: tuple[int, ...] = ()
    type: str | None = None
    seed: int | None = None
    path: str | None = None
    tensor: Initialiser | str | None = None  # of a tensor map: its array, or the name of an earlier argument
    options: tuple[tuple[str, str | tuple[int, ...]], ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the array that it makes, 0 for a number. Raises PtxError for a type that there is not."""
        if isinstance(self.tensor, Initialiser):
            return self.tensor.nbytes
        return math.prod(self.shape) * dtype_of(self.type or "").itemsize if self.maker else 0

    def build(
        self, seed: Seed = 0, folder: Path | None = None, known: Mapping[str, Any] | None = None
    ) -> np.ndarray | int | float | TensorMap:
        """The value. `seed` serves rules that state none; relative paths start in `folder`. Raises PtxError.

        known: earlier arguments by name, for tensor maps.
        """
        if self.number is not None:
            return self.number
        if self.tensor is not None:
            return self._tensor_map(seed, folder, known or {})
        if self.path is not None:
            return load((folder or Path()) / self.path, self.type or "")
        return MAKERS[self.maker or ""](self.shape, self.type or "", seed if self.seed is None else self.seed)

    def _tensor_map(self, seed: Seed, folder: Path | None, known: Mapping[str, Any]) -> TensorMap:
        from ptxsim.machine.copies.tensor_map import TensorMap

        array: Any
        if isinstance(self.tensor, Initialiser):
            array, type = self.tensor.build(seed, folder), self.tensor.type
        else:
            array, type = known.get(self.tensor or ""), None
            if not hasattr(array, "dtype"):
                raise bad(f"no earlier argument {self.tensor!r} is an array", did_you_mean(str(self.tensor), known))
        options: dict[str, Any] = dict(self.options)
        return TensorMap(array, dtype=type, **options)


_CALL = re.compile(r"(?P<maker>\w+)\s*\((?P<inside>[^()]*)\)\s*(?::\s*\.?(?P<type>\w+))?")
_FILE = re.compile(r"(?P<path>.*?\.np[yz])\s*(?::\s*\.?(?P<type>\w+))?")
_PTX_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")


def parse_initialiser(text: str) -> Initialiser:
    """`ints(64,16,seed=1):f16`, `64`, `0x10`, `1.5`, `0f3F800000` or `a.npy:bf16`. Raises PtxError."""
    text = text.strip()
    number = _number(text)
    if number is not None:
        return Initialiser(text, number=number)
    if text.startswith("tensormap("):
        return _parse_tensor_map(text)
    if call := _CALL.fullmatch(text):
        return _parse_call(text, call)
    if file := _FILE.fullmatch(text):
        if not file["type"]:
            raise bad(f"{text!r} needs a type: a file's bytes do not tell bf16 from f16", f"write {text}:bf16")
        dtype_of(file["type"])
        return Initialiser(text, path=file["path"], type=file["type"])
    raise bad(
        f"{text!r} is no value for a parameter",
        "write a number, a rule such as ints(64,16):f16 (" + " ".join(MAKERS) + "), or file.npy:f16",
    )


def _parse_call(text: str, call: re.Match[str]) -> Initialiser:
    if call["maker"] not in MAKERS:
        raise bad(f"no rule is called {call['maker']!r}", did_you_mean(call["maker"], MAKERS))
    if not call["type"]:
        raise bad(f"{text!r} needs a type", f"write {text}:f16")
    dtype_of(call["type"])
    shape: list[int] = []
    seed: int | None = None
    for word in filter(None, (part.strip() for part in call["inside"].split(","))):
        key, equals, value = (part.strip() for part in word.partition("="))
        if equals and key != "seed":
            raise bad(f"{call['maker']}() has no option {key!r}", did_you_mean(key, ["seed"]))
        try:
            size = int(value if equals else key, 0)
        except ValueError:
            raise bad(f"{word!r} is no size", f"write {call['maker']}(64,16,seed=1):{call['type']}") from None
        if size < 0:
            raise bad(f"{word!r} is negative")
        if equals:
            seed = size
        else:
            shape.append(size)
    if 0 in shape:
        rest = ", ".join(str(size) for size in shape if size > 1) or "64"
        raise bad(f"{text!r} has no elements: its numbers are sizes", f"write {call['maker']}({rest}):{call['type']}")
    if call["maker"] == "eye" and len(shape) not in (1, 2):
        raise bad("eye() takes one or two sizes", f"write eye(16):{call['type']}")
    sizes = square(shape) if call["maker"] == "eye" else checked_shape(shape)
    initialiser = Initialiser(text, maker=call["maker"], shape=sizes, type=call["type"], seed=seed)
    if call["maker"] == "normal":
        normal(0, call["type"])  # refuses integer types at once, before anything runs
    return initialiser


_MAP_SIZES = ("box", "element_strides")
_MAP_WORDS = ("swizzle", "oob_fill", "interleave")


def _parse_tensor_map(text: str) -> Initialiser:
    """`tensormap(ints(64,64):f16, box=64x64, swizzle=128B)`; sizes are innermost first, as in the CUDA driver."""
    form = "write tensormap(ints(64,64):f16, box=64x64, swizzle=128B), or the name of an earlier argument first"
    inside = text.removeprefix("tensormap(").rstrip()
    if not inside.endswith(")"):
        raise bad(f"{text!r} does not end with a parenthesis", form)
    first, *rest = (part.strip() for part in re.split(r",(?![^()]*\))", inside[:-1]))
    if not first:
        raise bad("a tensor map needs an array", form)
    tensor = first if first.isidentifier() else parse_initialiser(first)
    if isinstance(tensor, Initialiser) and tensor.type is None:
        raise bad(f"a tensor map is no map of {first!r}", form)
    options: list[tuple[str, str | tuple[int, ...]]] = []
    for word in rest:
        key, _, value = (part.strip() for part in word.partition("="))
        if key.isdigit() and options and options[-1][0] in _MAP_SIZES:
            size, before = options[-1][0], "x".join(map(str, options[-1][1]))
            raise bad(
                f"{size}={before},{key}: sizes have an x between them", f"write {size}={before}x{key}, innermost first"
            )
        if key not in (*_MAP_SIZES, *_MAP_WORDS):
            raise bad(f"tensormap() has no option {key!r}", did_you_mean(key, [*_MAP_SIZES, *_MAP_WORDS]))
        if key in _MAP_SIZES and not re.fullmatch(r"\d+(x\d+)*", value):
            raise bad(f"{value!r} are no sizes", f"write {key}=64x16, innermost first")
        options.append((key, tuple(map(int, value.split("x"))) if key in _MAP_SIZES else value))
    return Initialiser(text, tensor=tensor, options=tuple(options))


def _number(text: str) -> int | float | None:
    import struct

    if bits := _PTX_FLOAT.fullmatch(text):
        return float(struct.unpack(">f" if bits[1] else ">d", bytes.fromhex(bits[1] or bits[2]))[0])
    for read in (lambda: int(text, 0), lambda: int(text), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    return None

"""Modules of random programs, and what they are given."""

from __future__ import annotations

import random

import numpy as np

from random_programs.operations import TYPES
from random_programs.programs import Program, reads
from random_programs.warp_programs import WarpProgram

THREADS = 32
BYTES = 64  # of a thread, read and written
HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 1e-40, 3e38)


def kinds(seed: int, count: int) -> list[str]:
    """Of which kind the programs of a module are: sums and products of a type, every second one; "mixed" and "warp" by turns."""
    rng = random.Random(seed)
    return [rng.choice((*TYPES, "f32", "f32")) if n % 2 else ("mixed", "warp")[n // 2 % 2] for n in range(count)]


def module(seed: int, count: int) -> str:
    """Kernels k0, k1, ... of one seed."""
    rng = random.Random(seed)
    return HEADER + "".join(_program(rng, f"k{n}", kind).text() for n, kind in enumerate(kinds(seed, count)))


def _program(rng: random.Random, name: str, kind: str) -> Program:
    return WarpProgram(rng, name) if kind == "warp" else Program(rng, name, None if kind == "mixed" else kind)


def inputs(seed: int, kind: str) -> np.ndarray:
    """What a program of a kind is given, uint32 (threads, 16): ordinary, far, and special numbers; small and large integers."""
    rng, type = np.random.default_rng(seed), kind if kind in TYPES else None
    small, large = rng.integers(-20, 21, (THREADS, 16)), rng.integers(-(1 << 31), 1 << 31, (THREADS, 16))
    found = np.where(rng.random((THREADS, 16)) < 0.3, large, small).astype(np.int32).view(np.uint8)
    for letter, offsets in reads(type).items():
        for offset in offsets if letter in "fdhx" else ():
            values = rng.normal(size=(THREADS, 2)) * 2.0 ** rng.integers(-3, 4, size=(THREADS, 2))
            values[-12:-6] *= 2.0 ** rng.integers(-14, 14, size=(6, 2))
            values[-6:] = np.where(rng.random((6, 2)) < 0.5, rng.choice(SPECIAL, (6, 2)), values[-6:])
            code = _codes(values, letter, type or "f16")
            found[:, offset : offset + code.shape[1]] = code
    return found.view(np.uint32)


def _codes(values: np.ndarray, letter: str, type: str) -> np.ndarray:
    """The bytes of numbers in a register of a class, (threads, bytes): one of each row, or both."""
    with np.errstate(all="ignore"):
        if letter == "d":
            return np.ascontiguousarray(values[:, :1]).view(np.uint8)
        single = values.astype(np.float32)
        if letter == "f":
            return np.ascontiguousarray(single[:, :1]).view(np.uint8)
        half = (single.view(np.uint32) >> 16).astype(np.uint16) if "bf16" in type else single.astype(np.float16)
        return np.ascontiguousarray(half[:, : 1 if letter == "h" else 2]).view(np.uint8)

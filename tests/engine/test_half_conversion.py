"""Conversions of f16 and bf16 in native code, also as they are written for a CPU that has none of f16."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim.jit.compiler import Abilities, Jit
from tests.helpers import launch, text_of

HALVES = np.arange(1 << 16, dtype=np.uint16)


def singles() -> np.ndarray:
    """All halves and what lies in the middle between two of them, each with its neighbours; the same around bf16; and others."""
    numbers = HALVES[:0x7C00].view(np.float16).astype(np.float32)
    middles = np.append((numbers[1:] + numbers[:-1]) / 2, 65520)
    words = np.concatenate([numbers, middles]).view(np.uint32)
    brains = (
        np.arange(0, 0x7F81, dtype=np.uint32)[:, None] << 16 | np.array([0, 1, 0x7FFF, 0x8000, 0x8001], np.uint32)
    ).ravel()
    near = np.concatenate([words, words + 1, np.maximum(words, 1) - 1, brains])
    near = np.resize(near, -(-len(near) // 32) * 32)
    return np.concatenate([near, near | 0x80000000]).view(np.float32)


@pytest.mark.parametrize("by_the_cpu", [True, False])
def test_every_half_and_what_rounds_to_one(by_the_cpu, native, monkeypatch):
    if not by_the_cpu:
        monkeypatch.setattr(Jit, "abilities", Abilities(half_conversion=False))
    s = singles()
    h = np.resize(HALVES, len(s)).view(np.float16)
    wide, half, brain = np.zeros_like(s), np.zeros_like(h), np.zeros(len(s), ml_dtypes.bfloat16)
    launch(text_of("engine/halves.ptx"), [h, s, wide, half, brain], grid=len(s) // 32, engine="compiled", checks="none")
    with np.errstate(over="ignore", invalid="ignore"):
        for found, expected in (wide, h.astype("f4")), (half, s.astype("f2")), (brain, s.astype(brain.dtype)):
            same = found.view(f"u{found.itemsize}") == expected.view(f"u{found.itemsize}")
            assert (same | np.isnan(expected) & np.isnan(found)).all()

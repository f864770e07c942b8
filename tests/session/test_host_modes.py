"""Modes of the host's floating-point unit do not show: subnormal numbers switched off, another rounding."""

import ctypes
import platform
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from ptxsim import snippet
from ptxsim.numerics import matmul, product
from ptxsim.numerics.host import ieee
from tests.helpers import launch, text_of

MXCSR = 28  # bytes into fenv_t
FLUSH, UP = 0x8040, 0x4000
NORMAL = np.linspace(0.1, 7, 256, dtype=np.float32)

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="MXCSR through glibc's fenv_t"
)


@contextmanager
def modes(bits: int):
    library, before, other = ctypes.CDLL(None), ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    library.fegetenv(before)
    library.fegetenv(other)
    word = ctypes.c_uint32.from_buffer(other, MXCSR)
    word.value |= bits
    library.fesetenv(other)
    try:
        yield
        now = ctypes.create_string_buffer(64)
        library.fegetenv(now)
        assert ctypes.c_uint32.from_buffer(now, MXCSR).value & 0xE040 == bits, "the caller's modes are as before"
    finally:
        library.fesetenv(before)


def arithmetic(engine: str) -> list[np.ndarray]:
    """Sums and products around the smallest numbers; roundings that a direction shows; conversions; a tensor product."""
    text = """
        add.rn.f32 %s, %a, %a; mul.rn.f32 %m, %a, 0f3F000001; fma.rn.f32 %f, %b, %b, %a; div.rn.f32 %q, %b, 0f40400000;
        sqrt.rn.f32 %r, %b; cvt.f64.f32 %d, %a; cvt.rn.f32.f64 %e, %d; mul.ftz.f32 %z, %a, %b; setp.gt.f32 %p, %a, 0f00000000;
        selp.u32 %t, 1, 0, %p; cvt.rn.f16.f32 %h, %b; ex2.approx.f32 %x, %a; add.f64 %dd, %d, 0d0000000000000001;
        mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%c0, %c1, %c2, %c3}, {%g, %g}, {%g}, {%a, %b, %a, %b};
    """
    a = np.arange(1, 33, dtype=np.uint32).view(np.float32)  # subnormal
    g = np.arange(1, 33, dtype=np.uint32) * 0x10001  # pairs of subnormal halves
    found = snippet(f".reg .pred %p; {text}", registers={"a": a, "b": NORMAL[:32], "g": g}, engine=engine).registers
    return [
        np.asarray(found[name]) for name in ("s", "m", "f", "q", "r", "e", "z", "t", "h", "x", "dd", "c0", "c1", "c3")
    ]


@pytest.mark.parametrize("bits", [FLUSH, UP], ids=["flush", "upward"])
def test_snippets(engine, bits):
    expected = arithmetic(engine)
    assert expected[0].any() and expected[7].all()
    with modes(bits):
        found = arithmetic(engine)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.view(np.uint8), other.view(np.uint8))


KERNEL = text_of("session/subnormal_sums.ptx")


@pytest.mark.parametrize("bits", [FLUSH, UP], ids=["flush", "upward"])
def test_whole_ctas_on_threads(bits):
    def run(jobs: int) -> np.ndarray:
        data = np.arange(1, 513, dtype=np.uint32).view(np.float32).copy()
        data[256:] = NORMAL
        launch(KERNEL, [data], grid=16, jobs=jobs)
        return data.view(np.uint32)

    expected = run(1)
    with modes(bits):
        assert np.array_equal(run(1), expected)
        assert np.array_equal(run(2), expected)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [FLUSH, UP], ids=["flush", "upward"])
def test_products_of_arrays(bits):
    random = np.random.default_rng(3)
    a = random.integers(0, 2**16, (64, 32), dtype=np.uint16) & 0x83FF  # subnormal halves
    b = random.normal(size=(32, 64)).astype(np.float16)
    c = random.integers(1, 1 << 20, (64, 64), dtype=np.uint32).view(np.float32)
    a = a.view(np.float16)
    form = "mma.m16n8k16.f32.f16.f16.f32"

    def results():
        few = product(form, a[:16, :16].view(np.uint16), b[:16, :8].view(np.uint16), c[:16, :8].view(np.uint32))
        return matmul(a, b, c, form).view(np.uint32), few

    expected = results()
    with modes(bits):
        found = results()
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_modes_of_the_thread_are_ieee_inside():
    tiny = np.array([1], np.uint32).view(np.float32)
    with modes(FLUSH):
        assert (tiny + tiny)[0] == 0
        with ieee():
            assert (tiny + tiny).view(np.uint32)[0] == 2
        assert (tiny + tiny)[0] == 0

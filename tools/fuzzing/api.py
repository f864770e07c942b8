"""Calls of the public functions with arguments that nobody would give."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import ptxsim
from fuzzing.directives import _FORMS as FORMS
from fuzzing.directives import KERNEL
from fuzzing.texts import NUMBERS
from ptxsim.types import DTYPES, TARGETS

_NUMPY = ("f2", "f4", "f8", "i1", "u1", "i4", "u4", "u8", "i8", "?", "c8", "S4", "O", "M8[s]", ">f4", "V8")


class _Odd:
    """An object that is nothing of use."""

    def __repr__(self) -> str:
        return "<odd>"


def value(rng: random.Random) -> Any:
    """Anything."""
    match rng.randrange(16):
        case 0:
            return rng.choice(
                (0, 1, -1, 2, 16, 32, 64, 1024, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**30)
            )
        case 1:
            return rng.choice((0.0, 0.5, -1.5, 1e308, float("nan"), float("inf")))
        case 2:
            return rng.choice((None, True, False, ..., _Odd(), _Odd, len, 1j))
        case 3:
            return rng.choice(("", "x", "f16", "all", "sm_90", "128B", *NUMBERS, *TARGETS))
        case 4:
            return rng.choice((b"", b"\0" * 4, b"\xff" * 8, b"x" * 128, bytearray(16)))
        case 5:
            return [value(rng) for _ in range(rng.randrange(4))]
        case 6:
            return tuple(value(rng) for _ in range(rng.randrange(5)))
        case 7:
            return {rng.choice(("a", "b", 1)): value(rng) for _ in range(rng.randrange(3))}
        case 8:
            return np.dtype(rng.choice(_NUMPY)).type
        case _:
            return array(rng)


def array(rng: random.Random) -> Any:
    """An array of some type, shape and layout."""
    kind = rng.choice(_NUMPY)
    shape = tuple(rng.choice((0, 1, 2, 8, 16, 32, 64)) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3))))
    if rng.random() < 0.3:
        found: Any = ptxsim.ints(shape, rng.choice(sorted(DTYPES)))
    else:
        found = np.zeros(shape, kind)
    match rng.randrange(8):
        case 0:
            found = found[..., ::2] if found.ndim else found
        case 1:
            found = found.T
        case 2:
            found.flags.writeable = False
        case 3:
            found = found.tolist() if found.size < 100 else found
    return found


def _some(rng: random.Random, *usual: Any) -> Any:
    """One of the usual values three times of four, else anything."""
    return rng.choice(usual) if rng.random() < 0.75 else value(rng)


def _launch(rng: random.Random) -> Any:
    kernel = ptxsim.Module.from_text(KERNEL).kernel()
    data = [np.arange(64, dtype="u4"), np.zeros(64, "u4"), 64]
    arguments = [_some(rng, one) for one in data][: rng.choice((3, 3, 3, 3, 2, 4))]
    options = {
        "shared_mem": (0, 1024), "cluster": (1,), "target": (None, "sm_90"), "engine": ("interpreter", None), "numerics": ("target",), "seed": (0, 1),
        "jobs": (1, None), "checks": ("all", "none", "memory"), "on_error": ("raise", "report"), "banks": (None, True, False),
        "profile": (False,), "registers": (None, 32), "max_steps": (1000,), "progress": (None,),
    }  # fmt: skip
    chosen: Any = {name: _some(rng, *options[name]) for name in rng.sample(sorted(options), rng.randrange(5))}
    chosen.setdefault("max_steps", 1000)
    run = kernel.launch(
        _some(rng, 1, 2), _some(rng, 32, 64), _some(rng, arguments, arguments, arguments, tuple(arguments)), **chosen
    )
    return repr(run), str(run), run.to_dict()


def _snippet(rng: random.Random) -> Any:
    text = rng.choice((
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];", "add.u32 %0, %1, %2;", "ld.u32 a, [p];", "bra L; L:", "",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0,d1,d2,d3}, {a0,a1,a2,a3}, {b0,b1}, {d0,d1,d2,d3};", "st.shared.u32 [x], y;",
    ))  # fmt: skip
    names = ("4", "%0", "x", "p", "a0", "d0", "1", "")
    options = {
        "registers": {rng.choice(names): _some(rng, 0x400 + 16 * np.arange(32), 1, np.arange(32)) for _ in range(rng.randrange(3))},
        "shared": _some(rng, None, np.arange(256, dtype=np.uint16)), "shared_base": _some(rng, 0x400), "buffers": _some(rng, None, {"p": np.zeros(64)}),
        "warps": _some(rng, 1, 2), "target": _some(rng, "sm_90", "sm_80"), "max_steps": 1000, "engine": "interpreter",
    }  # fmt: skip
    chosen: Any = {name: options[name] for name in rng.sample(sorted(options), rng.randrange(1, 6))} | {
        "engine": "interpreter",
        "max_steps": 1000,
    }
    return ptxsim.snippet(_some(rng, text), **chosen)


def _execute(rng: random.Random) -> Any:
    form = rng.choice(
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "mma.m16n8k16.f16",
            "mma.m16n8k32.s8",
            "mma.sp.m16n8k32.f16",
            *FORMS,
        )
    )
    a, b, c = np.ones((16, 16), "f2"), np.ones((16, 8), "f2"), np.zeros((16, 8), "f4")
    more = {
        "metadata": (None, np.zeros(32, "u4")), "selector": (0, 1), "scale_a": (None,), "scale_d": (0, 1), "negate_a": (True,), "trans_a": (True,),
        "target": ("sm_90", "sm_80"), "numerics": ("target", "exact"),
    }  # fmt: skip
    chosen: Any = {name: _some(rng, *more[name]) for name in rng.sample(sorted(more), rng.randrange(4))}
    return ptxsim.execute(_some(rng, form), _some(rng, a), _some(rng, b), _some(rng, c, None), **chosen)


def _fragment(rng: random.Random) -> Any:
    found = ptxsim.fragment(_some(rng, *FORMS[:5]), _some(rng, "A", "B", "D"), layout=_some(rng, None, "row"))
    return found.coords(_some(rng, 0, 31), _some(rng, 0, 1)), found.owners(_some(rng, 0, 3), _some(rng, 0, 3))


def _layouts(rng: random.Random) -> Any:
    match rng.randrange(5):
        case 0:
            words = {"start": 0x400, "leading": 16, "stride": 1024, "swizzle": "128B", "base_offset": 0}
            made: Any = {name: _some(rng, usual) for name, usual in words.items() if rng.random() < 0.8}
            return ptxsim.Descriptor(**made).encode()
        case 1:
            return ptxsim.Descriptor.decode(_some(rng, rng.getrandbits(64)))
        case 2:
            words = {"major": "K", "swizzle": "32B", "type": "tf32", "leading": None, "stride": 256, "m": 2, "k": 2}
            made = {name: _some(rng, usual) for name, usual in words.items() if rng.random() < 0.8}
            layout = ptxsim.SharedLayout(**made)
            return layout.offset(_some(rng, 1), _some(rng, 1)), layout.cute(), layout.descriptor(_some(rng, 0x400))
        case 3:
            return ptxsim.wmma_stride(_some(rng, "m16n16k16"), _some(rng, "A", "D"), _some(rng, "row", "col"))
        case _:
            addresses = rng.choice((16 * np.arange(32), np.zeros((4, 32), int), value(rng)))
            kind = _some(rng, "ld", "st", "ldmatrix", "stmatrix", "atom", "cas")
            return ptxsim.shared_wavefronts(
                addresses, width=_some(rng, 4, 8, 16), kind=kind, mask=_some(rng, None, 0xFFFF)
            )


def _arrays(rng: random.Random) -> Any:
    maker = getattr(ptxsim, rng.choice(("zeros", "ones", "eye", "ramp", "ints", "normal", "uniform")))
    return maker(
        _some(rng, 4, (4, 4), (2, 3, 4)),
        _some(rng, "f16", "u8"),
        **({"seed": _some(rng, 0, 1)} if rng.random() < 0.5 else {}),
    )


def _modules(rng: random.Random) -> Any:
    match rng.randrange(4):
        case 0:
            return ptxsim.Module.from_text(_some(rng, KERNEL)).kernel(_some(rng, None, "copy"))
        case 1:
            return ptxsim.Module.from_file(_some(rng, "/dev/null", "nothing.ptx", "/", "a\nb"))
        case 2:
            return ptxsim.Module.from_text(KERNEL).symbol(_some(rng, "x"))
        case _:
            return ptxsim.Module(value(rng))


def _device(rng: random.Random) -> Any:
    device = ptxsim.Device(_some(rng, "sm_80", "sm_90a"))
    place = device.malloc(_some(rng, 64, 4096))
    there = device.array(_some(rng, np.zeros(64, "u4")))
    device.view(_some(rng, place), _some(rng, (4, 4), 8), _some(rng, "u4", "f4"))
    device.free(_some(rng, place))
    kernel = ptxsim.Module.from_text(KERNEL).kernel()
    return device.launch(
        kernel, grid=_some(rng, 1), block=_some(rng, 32), args=[_some(rng, there), _some(rng, there), _some(rng, 32)]
    )


CALLS: tuple[Callable[[random.Random], Any], ...] = (
    _launch, _launch, _snippet, _execute, _fragment, _layouts, _layouts, _arrays, _modules, _device,
)  # fmt: skip


def call(rng: random.Random) -> tuple[str, Callable[[], Any]]:
    """What is called, and the call."""
    chosen = rng.choice(CALLS)
    return chosen.__name__, lambda: chosen(rng)

"""Whether the compiled engine may be trusted on this machine: a small kernel on both engines, once for every build.

The result is remembered beside the compiled objects. A process that dies during the test leaves its mark, and the next one
keeps to the interpreter.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.interpreter import Interpreter
from ptxsim.jit.compiler import Refused

if TYPE_CHECKING:
    from ptxsim.engine.program.operation import Program
    from ptxsim.engine.turns import Engine
    from ptxsim.machine.state import Machine

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry test(.param .u64 data)
{
    .reg .b32 %r<12>;
    .reg .f32 %f<4>;
    .reg .b64 %d<2>;
    .reg .pred %p<2>;
    ld.param.u64 %d0, [data];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    ld.global.u32 %r1, [%d0];
    and.b32 %r3, %r1, 15;
    mov.u32 %r2, %r1;
    mov.u32 %r4, 0;
loop:
    mad.lo.u32 %r2, %r2, 1664525, %r3;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p0, %r4, 5;
    @%p0 bra loop;
    cvt.rn.f32.s32 %f0, %r2;
    fma.rn.f32 %f1, %f0, 0f3F8CCCCD, %f0;
    add.rz.f32 %f2, %f1, 0f40400000;
    cvt.rzi.s32.f32 %r5, %f2;
    shfl.sync.bfly.b32 %r9, %r5, 3, 31, -1;
    shr.s32 %r10, %r9, %r3;
    setp.gt.s32 %p1, %r10, 0;
    selp.b32 %r11, %r10, %r5, %p1;
    st.global.u32 [%d0], %r11;
    ret;
}
"""


def outcome(make_engine: Callable[[Program, Machine], Engine]) -> tuple[bytes, int]:
    """Memory after the test kernel, and the count of warp instructions."""
    from ptxsim.engine.decoding.bodies import Bodies
    from ptxsim.engine.decoding.decode import Decoder
    from ptxsim.engine.grid import Grid
    from ptxsim.engine.turns import Limits
    from ptxsim.isa.bind import Binder
    from ptxsim.machine.memory import PARAMETERS, GlobalMemory
    from ptxsim.machine.state import Machine
    from ptxsim.source import Source
    from ptxsim.syntax.parser import parse
    from ptxsim.types import parse_target

    tree = parse(Source(KERNEL, "<self-test>"))
    target = parse_target("sm_80")
    decoder = Decoder(Bodies(tree), tree.entries()[0], Binder(target, tree.version), target)
    program, linkage = decoder.decode(), decoder.linkage
    memory = GlobalMemory()
    block = memory.allocate("parameters", linkage.parameter_bytes, "param", True, at=PARAMETERS)
    data = memory.allocate("data", 64 * 4)
    memory.view(data)[:] = np.random.default_rng(1).integers(0, 256, 64 * 4, dtype=np.uint8)
    memory.view(block)[:8] = np.array([data.address], np.uint64).view(np.uint8)
    machine = Machine(
        target, (1, 1, 1), (64, 1, 1), (1, 1, 1), memory, shared_bytes=linkage.dynamic_shared_start, local_bytes=0
    )
    with np.errstate(all="ignore"):
        # A watcher of starting warps keeps whole CTAs from running natively, whose scheduler takes long to compile.
        Grid(program, machine, make_engine(program, machine), Limits(100_000), start=lambda warp, engine: None).run()
    return memory.view(data).tobytes(), machine.warp_instructions


@cache
def unusable() -> str | None:
    """Why there is no native code here, or None."""
    try:
        from ptxsim.engine.compiled.library import library

        library()
    except Exception as error:
        return f"LLVM does not work here ({type(error).__name__}: {error})"
    return None


@cache
def refusal() -> str | None:
    """Why the compiled engine is not to be used here, or None if it is."""
    if (reason := unusable()) is not None:
        return reason
    from ptxsim.engine.compiled.library import library

    native = library()
    folder = native.jit.store.folder
    mark = None if folder is None else folder / f"{native.jit.key('self-test', KERNEL)}.test"
    if mark is not None:
        with contextlib.suppress(OSError):
            known = mark.read_bytes()
            if known == b"passed":
                return None
            # Read again: the process may have passed and ended since.
            if known.isdigit() and not _alive(int(known)) and mark.read_bytes() == known:
                return f"a process died while it tested native code; delete {mark} to try again"
        with contextlib.suppress(OSError):
            mark.write_text(str(os.getpid()))
    try:
        reason = _compare()
    except BaseException:  # Ctrl-C says nothing about native code
        if mark is not None:
            mark.unlink(missing_ok=True)
        raise
    if mark is not None:
        with contextlib.suppress(OSError):
            mark.unlink() if reason else mark.write_text("passed")
    return reason


def _compare() -> str | None:
    from ptxsim.engine.compiled.run.engine import CompiledEngine

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # the interpreter may not step in
            same = outcome(CompiledEngine) == outcome(Interpreter)
    except (Refused, RuntimeWarning) as error:
        return f"the self-test failed ({type(error).__name__}: {error})"
    return None if same else "native code gives other results than the interpreter in the self-test"


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

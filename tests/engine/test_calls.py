"""Calls whose chains have numbers, and those that have none: on both engines, and where native code leaves them."""

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.engine.compiled.codegen.control import NO_PATHS
from ptxsim.engine.compiled.run.engine import CompiledEngine
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import CASES, ENGINES

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"
DEPTH = 11  # levels of functions that call the next one twice: 2048 chains at the deepest


def doubling(level: int) -> str:
    """A function that adds 1, or calls the next one twice; odd lanes skip the second call of the first level."""
    name, below = f"f{level}", f"f{level + 1}"
    twice = f"call (%v), {below}, (%v);\n    {'@%even ' if level == 0 else ''}call (%v), {below}, (%v);"
    body = "add.u32 %v, %v, 1;" if level == DEPTH else twice
    return f""".func (.reg .u32 out) {name}(.reg .u32 given)
{{
    .reg .u32 %v, %lane; .reg .pred %even;
    mov.u32 %v, given; mov.u32 %lane, %laneid; and.b32 %lane, %lane, 1; setp.eq.u32 %even, %lane, 0;
    {body}
    mov.u32 out, %v;
    ret;
}}
"""


ALLOCATING = """.func (.reg .u32 out) chosen(.reg .u32 n)
{
    .reg .u64 %p;
    alloca.u64 %p, 64;
    st.local.u32 [%p], n;
    ld.local.u32 out, [%p];
    ret;
}
"""


def run(functions: str, call: str, engine: str):
    text = f"""{HEAD}{functions}.visible .entry k(.param .u64 out)
{{
    .reg .u32 %r<2>; .reg .u64 %d<2>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
    mov.u32 %r1, 0;
    {call}
    st.global.u32 [%d0], %r1;
    ret;
}}
"""
    out = np.zeros(32, np.uint32)
    result = Module.from_text(text).kernel("k").launch(1, 32, [out], engine=engine)
    assert not result.findings
    return out.tolist(), {row.why for row in result.slow_path}, result.warp_instructions


@pytest.mark.parametrize(
    ("functions", "call", "expected"),
    [
        ("".join(map(doubling, range(DEPTH, -1, -1))), "call (%r1), f0, (%r1);", [2048, 1024] * 16),
        (ALLOCATING, "call (%r1), chosen, (%r0);", [*range(32)]),
    ],
    ids=["too many chains", "alloca"],
)
def test_calls_that_native_code_leaves(functions, call, expected):
    found = [run(functions, call, engine) for engine in ENGINES]
    assert [out for out, *_ in found] == [expected] * 2
    assert found[0][2] == found[1][2]
    why = {engine: reasons for engine, (_, reasons, _) in zip(ENGINES, found)}
    assert any(each == NO_PATHS for each in why["compiled"]) and not why["interpreter"]


@pytest.mark.slow
def test_further_schedules_of_the_interpreter_run_natively(monkeypatch):
    made = []
    real = CompiledEngine.__init__

    def note(self, *args, **kwargs):
        made.append(1)
        real(self, *args, **kwargs)

    monkeypatch.setattr(CompiledEngine, "__init__", note)
    result = run_file(CASES / "waiting" / "lock.ptx", options=Options(engine="interpreter"))
    assert result.passed and result.run.engine == "interpreter" and len(made) > 4

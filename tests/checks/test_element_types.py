"""Arrays of float64 given where a kernel loads and stores f32."""

import numpy as np
import pytest

from tests.helpers import launch

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 X, .param .u64 Y)
{
    .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .f32 %f<8>; .reg .f64 %d<2>;
    ld.param.u64 %rd1, [X]; ld.param.u64 %rd2, [Y];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
"""
TAIL = "\n    ret;\n}\n"
ADD = "ld.global.f32 %f1, [%rd4]; add.f32 %f2, %f1, 0f3F800000; st.global.f32 [%rd5], %f2;"


def reported(body, x, y=np.float32, engine=None, checks="memory"):
    arrays = [np.zeros(256, x), np.zeros(256, y)]
    run = launch(HEAD + body + TAIL, arrays, engine=engine, checks=checks)
    assert all(f.name == "operand-mismatch" and f.level == "warning" for f in run.findings), run.findings
    return [f.message.split()[0] for f in run.findings]


def test_doubles_taken_for_singles_are_reported(engine):
    assert reported(ADD, np.float64, engine=engine) == ["X"]
    assert reported(ADD, np.float64, np.float64, engine, "all") == ["X", "Y"]
    assert reported("atom.global.add.f32 %f1, [%rd4], 0f3F800000;", np.float64, engine=engine) == ["X"]


@pytest.mark.parametrize(
    ("body", "x"),
    [
        (ADD, np.float32),
        (ADD, np.uint8),
        (ADD, np.uint64),
        ("ld.global.f32 %f1, [%rd5]; st.global.f32 [%rd5], %f1;", np.float64),  # another buffer
        ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; st.global.f32 [%rd5], %f1;", np.float64),  # a copy of anything
        ("ld.global.b32 %r1, [%rd4]; st.global.f32 [%rd5], %f1;".replace("%f1", "0f00000000"), np.float64),
        ("ld.global.f64 %d1, [%rd1]; cvt.rn.f32.f64 %f1, %d1; st.global.f32 [%rd5], %f1;", np.float64),
        ("ld.global.b64 %rd3, [%rd1]; st.global.f32 [%rd1+8], 0f00000000;", np.float64),
    ],
)
def test_other_arrays_and_other_ways_to_read_are_fine(body, x):
    assert reported(body, x) == []


def test_the_data_is_what_one_run_leaves():
    x, y = np.zeros(256), np.zeros(256, np.float32)
    body = "red.global.add.f32 [%rd5], 0f3F800000; ld.global.f32 %f1, [%rd4];"
    run = launch(HEAD + body + TAIL, [x, y], banks=False)
    assert len(run.findings) == 1 and (y[:32] == 1).all()

"""The compiled engine does what the interpreter does: memory, registers, counts, findings, events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.session.snippet import snippet
from tests.engine.programs import Poller, Writer, body, compare, run, same_events
from tests.helpers import interrupted, names, same_on_both

pytestmark = pytest.mark.usefixtures("slow_isspacep")


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from((64, 40)), banks=st.booleans())
def test_random_kernels(seed, block, banks):
    compare(Writer(seed).text(), block=block, banks=banks)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))  # workers share the load
@settings(max_examples=6, deadline=None)
@given(
    writer=st.sampled_from((Writer, Poller)), seed=st.integers(0, 2**32), block=st.sampled_from((32, 64, 40)),
    banks=st.booleans(), order=st.sampled_from((0, 3)),
)  # fmt: skip
def test_many_random_kernels(part, writer, seed, block, banks, order):
    compare(writer(seed).text(), block=block, banks=banks, seed=order)


@pytest.mark.parametrize(
    "text",
    [
        "ld.global.u32 %r4, [%d0+3];",  # misaligned
        "add.u64 %d0, %d0, 4096; ld.global.u32 %r4, [%d0];",  # past the end
        "st.shared.u32 [%r8+1024], %r4;",
        "ld.shared.u16 %h0, [%r8+1];",
        "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r8+8];",
        "mov.u64 %d3, own; ld.local.u32 %r4, [%d3+64];",  # behind the last word
        "st.global.u32 [%d0], %r0; mov.u32 %r4, 7; @%p0 ld.global.u32 %r4, [%d0+2]; mov.u32 %r5, 9;",
        "setp.eq.u32 %p2, %r0, 37; @%p2 trap;",
        "setp.lt.u32 %p2, %r0, 5; @%p2 bra L; bar.sync 0; L: bar.sync 0;",  # divergent barrier
        "setp.ge.u32 %p2, %r0, 5; @%p2 bra L; shfl.sync.idx.b32 %r4, %r5, 0, 31, 0xff; L: mov.u32 %r5, 1;",  # lanes 5 to 7 never come
        "mov.u64 %d3, 4096; ld.u32 %r4, [%d3];",
        "ld.param.u32 %r4, [n]; setp.lt.u32 %p2, %r0, 32; @%p2 bar.sync 1;",  # half of the threads wait forever
    ],
)
def test_findings(text):
    compare(body(text))


def test_steps_are_limited_alike():
    compare(body("L: add.u32 %r4, %r4, 1; bra L;"), max_steps=5000)


def test_a_long_loop_can_be_interrupted():
    with interrupted(1.5):
        run(body("L: add.u32 %r4, %r4, 1; bra L;"), "compiled")


def test_registers_after_a_fault():
    text = "mov.u32 %a, %tid.x; add.u32 %b, %a, 5; ld.global.u32 %c, [%buf+1]; add.u32 %b, %b, 1;"

    def outcome(engine: str) -> tuple:
        left = snippet(text, buffers={"buf": np.arange(8, dtype=np.uint32)}, engine=engine)
        return names(left.findings), dict(left.registers)

    found, _ = same_on_both(outcome)
    assert found == ["misaligned-address"]


def test_snippets_keep_every_register():
    text = ".reg .pred %q; mov.u32 %a, %tid.x; add.u32 %b, %a, 5; add.u32 %b, %b, 1; setp.gt.u32 %q, %b, 20; cvt.rn.f64.u32 %d, %b;"
    assert same_on_both(lambda engine: dict(snippet(text, warps=2, engine=engine).registers))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_events_are_the_same(seed):
    assert same_events(Writer(seed).text())


@pytest.mark.parametrize("space", ["global", "const"])
def test_generic_accesses_tell_where_they_are(space):
    """The first turn looks the allocation up, later ones find it where the last was."""
    turn = "ld.u32 %r4, [%d0]; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 3;"
    start = "mov.u64 %d0, fixed; cvta.const.u64 %d0, %d0;" if space == "const" else "st.u32 [%d0], %r0;"
    text = body(f"{start} mov.u32 %r9, 0; L: {turn} @%p2 bra L; ld.param.u64 %d0, [data];")
    assert same_events(text.replace(".visible", ".const .b32 fixed = 5;\n.visible"))


ROWS = """
    shl.b32 %r8, %tid, 4; and.b32 %r8, %r8, 2032; add.u32 %r8, %r8, {start};
    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r9, %r10, %r11, %r12}}, [%r8];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f0, %f1, %f2, %f3}}, {{%r9, %r10, %r11, %r12}}, {{%r9, %r11}},
        {{%f0, %f1, %f2, %f3}};
    stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r8], {{{stored}}};
    ldmatrix.sync.aligned.m8n8.x2.b16 {{%r9, %r10}}, [%g];
    st.global.b32 [%p], %r9; st.global.b32 [%p], %r12;
"""
KERNEL_OF_ROWS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{{
    .shared .align 16 .b8 tile[4096];
    .reg .b32 %r<16>, %tid; .reg .f32 %f<4>; .reg .b64 %p, %g;
    mov.u32 %tid, %tid.x; ld.param.u64 %p, [out]; mul.wide.u32 %g, %tid, 4; add.u64 %p, %p, %g;
    mov.u32 %r0, tile; shl.b32 %r1, %tid, 6; add.u32 %r1, %r1, %r0; mul.lo.u32 %r2, %tid, 747796405;
    st.shared.v4.b32 [%r1], {{%r2, %r1, %r2, %tid}}; st.shared.v4.b32 [%r1+16], {{%r2, %r2, %r1, %tid}};
    st.shared.v4.b32 [%r1+32], {{%r1, %r1, %r2, %tid}}; st.shared.v4.b32 [%r1+48], {{%r1, %r1, %r2, %r2}};
    cvt.u64.u32 %g, %r0; cvta.shared.u64 %g, %g;
    mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    bar.sync 0;
    {body}
    ret;
}}
"""


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "start, trans, count", [(1024, "", 4), (1040, ".trans", 2), (3000, "", 1), (4080, ".trans", 4)]
)
def test_rows_of_matrices_do_and_tell_the_same(start, trans, count):
    stored = ", ".join(f"%r{9 + i}" for i in range(count))
    text = KERNEL_OF_ROWS.format(body=ROWS.format(start=start, trans=trans, count=count, stored=stored))
    compare(text)
    compare(text, checks="none")
    assert same_events(text)

"""vprintf and __assertfail as nvcc calls them, through a whole launch."""

import numpy as np
import pytest

import ptxsim

PRINT = """
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[21] = {108, 97, 110, 101, 32, 37, 100, 58, 32, 37, 53, 46, 50, 102, 32, 37, 115, 10, 0, 0, 0};
.global .align 1 .b8 word[3] = {111, 107, 0};
.visible .entry k(.param .u64 D)
{
    .local .align 8 .b8 arguments[24];
    .reg .pred %few;
    .reg .b32 %t, %status;
    .reg .b64 %p, %f, %D;
    .reg .f64 %half;
    ld.param.u64 %D, [D];
    mov.u32 %t, %tid.x;
    setp.ge.u32 %few, %t, 3;
    @%few ret;
    cvt.rn.f64.u32 %half, %t;
    mul.f64 %half, %half, 0d3FE0000000000000;
    mov.u64 %p, word;
    cvta.global.u64 %p, %p;
    st.local.u32 [arguments], %t;
    st.local.f64 [arguments+8], %half;
    st.local.u64 [arguments+16], %p;
    mov.u64 %p, arguments;
    cvta.local.u64 %p, %p;
    mov.u64 %f, format;
    cvta.global.u64 %f, %f;
    {
        .param .b64 one;
        .param .b64 two;
        .param .b32 answer;
        st.param.b64 [one], %f;
        st.param.b64 [two], %p;
        call.uni (answer), vprintf, (one, two);
        ld.param.b32 %status, [answer];
    }
    st.global.u32 [%D], %status;
    ret;
}
"""

ASSERT = """
.version 8.0
.target sm_90
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[6] = {105, 32, 60, 32, 110, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.visible .entry k()
{
    .reg .b64 %text, %file;
    .reg .b32 %line;
    mov.u64 %text, text;
    mov.u64 %file, file;
    cvta.global.u64 %text, %text;
    cvta.global.u64 %file, %file;
    mov.u32 %line, 12;
    {
        .param .b64 a;
        .param .b64 b;
        .param .b32 c;
        .param .b64 d;
        .param .b64 e;
        st.param.b64 [a], %text;
        st.param.b64 [b], %file;
        st.param.b32 [c], %line;
        st.param.b64 [d], %file;
        st.param.b64 [e], 1;
        call.uni __assertfail, (a, b, c, d, e);
    }
    trap;
}
"""


def test_every_lane_prints_a_line(capsys):
    ptxsim.Module.from_text(PRINT).kernel().launch(
        grid=1, block=32, args=[np.zeros(1, np.uint32)], engine="interpreter"
    )
    assert capsys.readouterr().out == "lane 0:  0.00 ok\nlane 1:  0.50 ok\nlane 2:  1.00 ok\n"


def test_a_failed_assertion_is_a_trap_that_says_what_failed():
    with pytest.raises(ptxsim.KernelError, match=r"i < n.*a\.cu:12"):
        ptxsim.Module.from_text(ASSERT).kernel().launch(grid=1, block=1, engine="interpreter")


def test_runs_that_look_again_print_nothing(capsys):
    run = ptxsim.Module.from_text(PRINT).kernel().launch(1, 32, [np.zeros(1, np.uint32)])
    said = capsys.readouterr().out
    assert said.startswith("lane 0:") and run.banks.worst == 1  # counted by a second run
    assert capsys.readouterr().out == ""

"""Texts that the syntax tests share."""

from __future__ import annotations

import re

from ptxsim.syntax import ast
from ptxsim.syntax.printer import statement_lines
from tests.helpers import DATA

FILES = sorted((DATA / "ptx").glob("*.ptx"))
HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def kernel(body: str) -> str:
    """A module with one kernel; line 1 of `body` is line 6."""
    return f"{HEADER}.entry k(.param .u64 p)\n{{\n{body}\n}}\n"


def print_statement(statement: ast.Statement) -> str:
    return "\n".join(statement_lines(statement))


def instructions(text: str) -> list[str]:
    """The instructions of a text that stand on one line."""
    return re.findall(r"^[ \t]*((?:@\S+ )?[a-z]\w*(?:(?:\.|::)\w+)*[ \t][^:;\n]*;)", text, re.MULTILINE)


# One module with everything of the directive chapters.
EVERYTHING = """
// a comment with ; and }
.version 9.0
.target sm_90a, debug /* two
lines */
.address_size 64
# 1 "kernel.cu"
.file 1 "kernel.cu", 123, 456
.file 2 "other.cu"
.extern .func vprintf (.param .b64 f, .param .b64 a);
.extern .shared .align 16 .b8 smem[];
.visible .global .align 4 .f32 table[2][2] = {{1.0, -2.5e-3}, {0f3F800000, .5}};
.weak .const .align 8 .b64 pointers[4] = {table, table+4, generic(table), generic(table)+8};
.global .u8 bytes[4] = {0xff(table), 0xff00(table+4), 0xff(generic(table)), 7};
.common .global .b32 counter;
.global .attribute(.managed) .b32 managed;
.visible .attribute(.managed) .align 8 .global .b32 managed_too[0x10];
.global .attribute(.unified(19, 0x5f)) .b32 unified;
.global .texref texture;
.global .samplerref sampler = { addr_mode_0 = wrap, filter_mode = linear, force_unnormalized_coords = 1 };
.global .b32 octal = 017U, binary = 0b101, choice = 3 > 2 ? (.s64)-1 : (1 << 4) | WARP_SZ;
.func (.param .b32 r) later (.param .b32 a, .reg .v2 .f32 b) ;
.func twin;
.func twin_of_twin { ret; }
.alias twin, twin_of_twin;
.func .attribute(.unified(1, 2)) stops () .noreturn { trap; }
.func (.param .b32 r) later (.param .b32 a, .reg .v2 .f32 b)
{
    st.param.b32 [r+0], 1;
    ret;
}
.visible .entry kernel(
    .param .u64 .ptr .global .align 16 kernel_p,
    .param .align 64 .b8 kernel_map[128],
    .param .u64 .ptr q)
.maxntid 128, 1, 1
.minnctapersm 2
.maxnreg 64
.explicitcluster
.reqnctapercluster 2, 1, 1
.maxclusterrank 8
.pragma "nounroll";
{
    .reg .pred %p<3>, done;
    .reg .b32 %r<100>, _x, $y;
    .reg .v4 .f32 %v;
    .reg .b128 %q;
    .local .align 16 .b8 stack[WARP_SZ];
    .shared .align 8 .b64 bar[2];
    .param .b32 _out;
    .loc 1 3 4
    .loc 1 5 6, function_name info+4, inlined_at 1 3 4
    .pragma "used_bytes_mask 0xf";
again:
    @!%p1 bra again; @%p2 bra next;
    mov.b32 %r1, %tid.x; mov.b32 %r2, %v.x;
    {
        .reg .b32 %r<2>, tmp;
    next: mov.b32 tmp, %r1; bra next;
    }
next:
    mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32
        {%r1, %r2}, {%r3},
        {%r4}, {%r5}, %r6, 0x0;
    ld.shared::cta.v2.b32 {_, %r1}, [smem+-16];
    ld.global.L1::no_allocate.L2::128B.b32 %r1, [ %r2 + 4*8 ];
    ld.local.b32 %r1, [16];
    shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, 0xffffffff;
    setp.eq.and.b32 %p1|_, %r1, 0U, !%p2;
    vadd.s32.s32.s32 %r1, -%r2, %r3.h1, %r4;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%r2, {%r3, %r4}], [bar+8];
    mov.b64 %r1, smem+4;
    mov.b32 %r1, stack[3];
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _) ;
none: .callprototype _ .noreturn;
    call.uni (_out), later, (%r1, %r2), proto;
    call stops, ();
    call _x;
labels: .branchtargets again, next;
functions: .calltargets later, twin;
    brx.idx %r1, labels;
    add.f64 %r1, %r2, 0d3FF0000000000000;
    ret;
}
.section .debug_str
{
info: .b8 107,0
.b32 info+4
}
@@DWARF .byte 0x2b, 0x00
"""

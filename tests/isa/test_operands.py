"""Which registers and literals stand as addresses, functions and sources, as ptxas 13.0 has it."""

from __future__ import annotations

import pytest

from ptxsim.session import check

KERNEL = """\
.version 8.7
.target sm_90a
.address_size 64
.func twin(.reg .b32 a) {{ ret; }}
.visible .entry k() {{
.reg .b8 %c; .reg .b16 %h; .reg .s16 %i; .reg .f16 %x; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d; .reg .b128 %q; .reg .pred %p;
P: .callprototype _ (.reg .b32 _);
{}
ret; }}
"""
TAKEN = [
    "ld.shared.u32 %r1, [%h];", "ld.global.u32 %r1, [%i+4];", "ld.shared.u32 %r1, [%c];", "red.shared.add.u32 [%h], 1;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%h];", "cp.async.ca.shared.global [%h], [%d], 4;",
    "mbarrier.init.shared.b64 [%h], 1;", "call %d, (%r1), P;", "call %r1, (%r2), P;", "cvt.rna.tf32.f32 %r1, 0f3F800000;",
    "cvt.rna.satfinite.tf32.f32 %r1, %f1;", "{ .global .b8 g[128]; discard.global.L2 [g], 128; }",
    "{ .shared .b8 s[128]; discard.L2 [s], 128; }", "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%d, {%f1}];",
]  # fmt: skip
REFUSED = [
    "ld.shared.u32 %r1, [%x];", "ld.shared.u32 %r1, [%q];", "ld.shared.u32 %r1, [%p];", "ld.global.u32 %r1, [%f1];",
    "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%h], 2;", "call %h, (%r1), P;", "call %f1, (%r1), P;",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%h];",
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%h], {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};",
    "cvt.rna.tf32.f32 %r1, 1.5;", "cvt.rna.tf32.f32 %r1, 0d3FF8000000000000;", "cvt.rna.tf32.f32 %r1, 0x3F800000;",
    "cvta.shared.u64 %d, %h;", "{ .shared .b8 s[128]; discard.global.L2 [s], 128; }",
    "{ .shared .b8 s[128]; multimem.red.global.add.u32 [s], %r1; }", "txq.width.b32 %r1, [%r2];",
    "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%r1, {%f1}];", "ld.global.b32 %r1, [%f1];", "mov.b32 %r1, {%h, %tid.x};",
]  # fmt: skip


@pytest.mark.parametrize("statement", TAKEN)
def test_taken(statement):
    assert not [finding.message for finding in check(KERNEL.format(statement))]


@pytest.mark.parametrize("statement", REFUSED)
def test_refused(statement):
    (finding,) = check(KERNEL.format(statement))
    assert (finding.name, finding.line) == ("operand-mismatch", 8)

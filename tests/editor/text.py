"""A small kernel that tests of the editor and its server edit."""

TEXT = """.version 8.0
.target sm_90a
.address_size 64

.visible .entry k(.param .u64 out)
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<8>;
\t.reg .b64 %rd<3>;
\t.shared .align 16 .b8 tile[512];
\tld.param.u64 %rd1, [out];
\tmov.u32 %r1, %laneid;
\tmov.u32 %r2, tile;
loop:
\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];
\tadd.u32 %r1, %r1, 1;
\tsetp.lt.u32 %p1, %r1, 8;
\t@%p1 bra loop;
\tst.global.u32 [%rd1], %r3;
\tret;
}
"""

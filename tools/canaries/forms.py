"""Forms of access: instructions that reach memory at %a (64 bits) or %s (its low half), behind one switch for each way to launch them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ptxsim.session.module import Kernel, Module

_R8 = "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}"
_F8 = "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}"
_R4 = "{%r1, %r2, %r3, %r4}"

# fmt: off
PLAIN = (
    # generic
    "ld.u8 %r1, [%a];", "ld.v4.u32 {%r1, %r2, %r3, %r4}, [%a+16];", "ld.v2.b64 {%c, %d}, [%a];", "ld.b128 %q, [%a];", "ld.volatile.u16 %h, [%a+-2];",
    "st.u8 [%a], %r1;", "st.u64 [%a+-8], %d;", "st.v4.f32 [%a], {%f1, %f2, %f3, %f4};", "st.b128 [%a], %q;", "st.release.gpu.u32 [%a], %r1;",
    "atom.add.u32 %r1, [%a], 7;", "atom.cas.b64 %c, [%a], 0, %d;", "atom.exch.b128 %q, [%a], %q;", "atom.max.s32 %r1, [%a], 77;", "red.add.u64 [%a], %d;",
    "red.xor.b32 [%a], %r1;", "prefetch.L1 [%a];", "isspacep.shared %p, %a;", "cvta.to.shared.u64 %c, %a; st.shared.u32 [%c], %r1;",
    # global, constants, parameters
    "ld.global.u32 %r1, [%a];", "ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%a];", "ld.global.acquire.sys.u64 %c, [%a];", "ldu.global.u32 %r1, [%a];",
    "st.global.u16 [%a], %h;", "st.global.v2.u64 [%a+8], {%d, %d};", "st.global.wt.u8 [%a], %r1;", "st.relaxed.cta.global.u32 [%a], %r1;",
    "atom.global.add.f32 %f1, [%a], 0f3F800000;", "atom.global.v2.f32.add {%f1, %f2}, [%a], {%f3, %f4};", "atom.global.add.noftz.f16x2 %r1, [%a], %r2;",
    "atom.global.inc.u32 %r1, [%a], 5;", "atom.global.exch.b64 %c, [%a], %d;", "red.global.add.noftz.bf16x2 [%a], %r1;", "red.global.min.u64 [%a], %d;",
    "red.global.v4.f32.add [%a], {%f1, %f2, %f3, %f4};", "prefetch.global.L2 [%a];", "prefetchu.L1 [%a];", "applypriority.global.L2::evict_normal [%a], 128;",
    "discard.global.L2 [%a], 128;", "ld.const.u64 %c, [%a];", "ld.const.v4.u32 {%r1, %r2, %r3, %r4}, [table+64];", "ld.param.u8 %r1, [%a];",
    "ld.param.b32 %r1, [address+4090];", "multimem.ld_reduce.global.add.u32 %r1, [%a];", "multimem.st.global.u32 [%a], %r1;", "multimem.red.global.add.u32 [%a], %r1;",
    # shared
    "ld.shared.u8 %r1, [%s];", "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%a];", "ld.shared.b128 %q, [%s+-16];", "st.shared.u32 [%s], %r1;",
    "st.shared.v2.b64 [%a], {%d, %d};", "st.shared.b128 [%s], %q;", "st.shared.u8 [tile+1024], %r1;", "atom.shared.add.u32 %r1, [%s], 5;",
    "atom.shared.cas.b64 %c, [%a], 0, %d;", "atom.shared.cas.b16 %h, [%s], %h, %h;", "red.shared.or.b32 [%s], %r1;", "red.shared.add.f64 [%s], %e;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%s];", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%a];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%s], {%r1, %r2};", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%a], {%r1, %r2, %r3, %r4};",
    f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {_R8}, [%a], %s;", f"wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {_R8}, [%s], 16;",
    f"wmma.load.c.sync.aligned.col.m16n16k16.global.f32 {_F8}, [%a], 16;", "wmma.load.a.sync.aligned.row.m16n16k16.u8 {%r1, %r2}, [%a], %s;",
    f"wmma.store.d.sync.aligned.row.m16n16k16.f32 [%a], {_F8}, %s;", f"wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [%s], {_F8}, 24;",
    f"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%a+2], {_R4}, 16;", "wmma.store.d.sync.aligned.row.m8n8k4.f64 [%a], {%e, %e}, %s;",
    # local, the stack
    "ld.local.u8 %r1, [%s];", "ld.local.v2.u64 {%c, %d}, [%a];", "ld.local.u8 %r1, [mine+-2147483648];", "st.local.u32 [%s], %r1;",
    "st.local.v4.u32 [%a+16], {%r1, %r2, %r3, %r4};", "st.local.u64 [mine+64], %d;", "alloca.u64 %c, %a; st.local.u8 [%c], %r1;",
    "stackrestore.u64 %a; alloca.u64 %c, 16; st.local.u64 [%c], %d;",
    # copies
    "cp.async.ca.shared.global [tile], [%a], 16; cp.async.wait_all;", "cp.async.cg.shared.global [%s], [%a], 16; cp.async.wait_all;",
    "cp.async.ca.shared.global [%s], [%good], 8, 4; cp.async.wait_all;",
    "cp.async.bulk.global.shared::cta.bulk_group [%a], [tile], 64; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.global.shared::cta.bulk_group [%good], [%s], 64; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.global.shared::cta.bulk_group [%good], [tile], %s; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%a], 64, [bar]; mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%good], 64, [bar];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%good], 64, [%s];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%good], %s, [bar];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [tile], 64; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.prefetch.L2.global [%a], 64;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%a, {0, 0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%map, {%s, %s}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {0, 0}], [bar];",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%s, 0}], [tile]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%a, {0, 0}], [%s]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {%s, %s}], [tile]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%a], %d;", "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%s], 0, %r1;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%a], [%s], 128;",
    # mbarriers
    "mbarrier.init.shared.b64 [%s], 1;", "mbarrier.init.b64 [%a], 1;", "mbarrier.inval.shared.b64 [%s];", "mbarrier.arrive.shared.b64 %c, [%s];",
    "mbarrier.arrive_drop.shared.b64 %c, [%a];", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], 64;", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 64;",
    "mbarrier.test_wait.shared.b64 %p, [%a], %c;", "mbarrier.try_wait.parity.shared.b64 %p, [%s], 0;", "cp.async.mbarrier.arrive.shared.b64 [%s];",
    # numbers that are no addresses, and lead somewhere
    "brx.idx %s, ways;", "bar.sync %s, 32;", "bar.red.popc.u32 %r1, %s, 32, %p;", "shfl.sync.idx.b32 %r1, %r2, %s, 31, -1;", "bar.warp.sync %s;",
    "{ .param .b32 out; call (out), %a, (), shape; ld.param.b32 %r1, [out]; }",
    "{ .param .b64 block; st.param.b64 [block], %a; call free, (block); }",
    "{ .param .b64 size; .param .b64 block; st.param.b64 [size], %a; call (block), malloc, (size); ld.param.b64 %c, [block]; st.u8 [%c], %r1; }",
    "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %a; st.param.b64 [y], %a; call (z), vprintf, (x, y); }",
)
CLUSTER = (
    "mapa.shared::cluster.u32 %r1, %s, %s; ld.shared::cluster.u32 %r2, [%r1];", "mapa.shared::cluster.u32 %r1, tile, %s; st.shared::cluster.u32 [%r1], %r2;",
    "ld.shared::cluster.u32 %r1, [%s];", "st.shared::cluster.v2.u64 [%s], {%d, %d};", "atom.shared::cluster.add.u32 %r1, [%s], 3;",
    "red.relaxed.cluster.shared::cluster.add.u32 [%s], 3;", "mapa.u64 %c, %a, 1; st.u32 [%c], %r1;", "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%s], %r1, [bar];",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [there], {%r1, %r2, %r3, %r4}, [%s];",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%s], %r1, [bar];",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%s];", "getctarank.shared::cluster.u32 %r1, %s;",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s], [tile], 64, [bar];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%good], 64, [bar], %h;",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%s], [tile], 64, [bar];",
)
WARPGROUP = (
    f"wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {_F8[:-21]}}}, %a, %a, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
    f"wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {_F8[:-21]}}}, {_R4}, %a, 1, 1, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
)
TENSOR_MEMORY = (
    f"ld.global.v8.b32 {_R8}, [%a];", f"st.global.v8.f32 [%a], {_F8};",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%s]; tcgen05.wait::ld.sync.aligned;", f"tcgen05.ld.sync.aligned.16x256b.x1.b32 {_R4}, [%s]; tcgen05.wait::ld.sync.aligned;",
    f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%s], {_R8}; tcgen05.wait::st.sync.aligned;", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%s], 32;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], %s;", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %s, 32;",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%s];", "tcgen05.cp.cta_group::1.128x256b [%s], %a;", "tcgen05.cp.cta_group::1.4x256b [0], %a;",
    "tcgen05.mma.cta_group::1.kind::f16 [%s], %a, %a, 0x08100010, 0;", "tcgen05.mma.cta_group::1.kind::f16 [0], [%s], %a, 0x08100010, 0;",
    "tcgen05.shift.cta_group::1.down [%s];",
)
# fmt: on


@dataclass(frozen=True)
class Group:
    """Forms that are launched alike."""

    forms: tuple[str, ...]
    target: str = "sm_90a"
    grid: int = 1
    block: int = 32

    @cached_property
    def kernel(self) -> Kernel:
        """All forms behind a switch, so that they are compiled once."""
        labels = ", ".join(f"F{n}" for n in range(len(self.forms)))
        cases = "\n".join(f"F{n}: {form} bra DONE;" for n, form in enumerate(self.forms))
        return Module.from_text(_TEXT.format(target=self.target, labels=labels, cases=cases)).kernel()


_TEXT = """.version 8.8
.target {target}
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 size);
.extern .func free(.param .b64 block);
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.const .align 16 .b8 table[64] = {{1, 2, 3, 4}};
.global .align 16 .b8 more[100];
.func (.param .b32 out) seven() {{ st.param.b32 [out], 7; ret; }}
.visible .entry wild(.param .u64 address, .param .u32 form, .param .u64 data, .param .align 64 .b8 tensor[128])
{{
    .reg .b128 %q;
    .reg .b64 %a, %c, %d, %good, %map;
    .reg .b32 %s, %n, %r<9>;
    .reg .b16 %h;
    .reg .f64 %e;
    .reg .f32 %f<9>;
    .reg .pred %p;
    .shared .align 128 .b8 tile[1024];
    .shared .align 16 .b64 bar;
    .shared .align 16 .b8 there[64];
    .local .align 16 .b8 mine[64];
    ld.param.u64 %a, [address];
    ld.param.u32 %n, [form];
    ld.param.u64 %good, [data];
    mov.b64 %map, tensor;
    cvta.param.u64 %map, %map;
    cvt.u32.u64 %s, %a;
    mov.b64 %d, 0x1122334455667788;
    mov.b64 %c, %d;
    mov.b128 %q, {{%d, %d}};
    mov.b16 %h, 3;
    mov.f64 %e, 1.5;
    mov.b32 %r1, 0x11223344; mov.b32 %r2, %r1; mov.b32 %r3, %r1; mov.b32 %r4, %r1; mov.b32 %r5, %r1; mov.b32 %r6, %r1; mov.b32 %r7, %r1; mov.b32 %r8, %r1;
    mov.b32 %f1, %r1; mov.b32 %f2, %r1; mov.b32 %f3, %r1; mov.b32 %f4, %r1; mov.b32 %f5, %r1; mov.b32 %f6, %r1; mov.b32 %f7, %r1; mov.b32 %f8, %r1;
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p, %r1, 0;
    @%p mbarrier.init.shared.b64 [bar], 1;
    fence.proxy.async;
    bar.sync 0;
    ways: .branchtargets {labels};
    shape: .callprototype (.param .b32 _) _ ();
    brx.idx %n, ways;
{cases}
DONE: ret;
}}
"""

GROUPS = (
    Group(PLAIN), Group(CLUSTER, grid=2), Group(WARPGROUP, block=128), Group(TENSOR_MEMORY, "sm_100a", block=128),
)  # fmt: skip

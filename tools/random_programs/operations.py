"""What random programs are made of: a table of instructions, and values that are worth computing with."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Register classes: f f32, d f64, h f16 or bf16, x two of them, r 32 bits, q 64 bits, p predicate.
DECLARED = {"f": "f32", "d": "f64", "h": "b16", "x": "b32", "r": "b32", "q": "b64", "p": "pred"}
IMMEDIATES = {
    "f": ("0f3F000000", "0f40400000", "0f3DCCCCCD", "0f47C35000"), "d": ("0d4008000000000000", "0d3FB999999999999A"),
    "r": ("3", "-1", "255", "0x80000000", "17", "0"), "q": ("5", "-7"),
}  # fmt: skip
ROUNDINGS = ("rn", "rn", "rn", "rz", "rp", "rm")

# Weight, opcode, operands. {R}: a rounding, {r}: one, mostly none; {z}: .ftz in some programs; {s}: .sat, rarely. Of operands a capital
# letter is written; f: a register or an immediate; f! a register; (h h) a vector; what is no letter stands as it is.
MIXED = """
6 add{r}{z}{s}.f32 F f f | 6 mul{r}{z}{s}.f32 F f f | 3 sub{r}{z}{s}.f32 F f f | 5 fma.{R}{z}{s}.f32 F f f f | 1 neg{z}.f32 F f!
1 abs{z}.f32 F f! | 1 min{z}.f32 F f f | 1 max{z}.NaN.f32 F f f | 1 min{z}.xorsign.abs.f32 F f! f! | 1 copysign.f32 F f! f!
1 rcp.approx{z}.f32 F f! | 1 rcp.rn{z}.f32 F f! | 1 div.rn{z}.f32 F f f! | 1 div.approx{z}.f32 F f f! | 2 div.full{z}.f32 F f f!
1 sqrt.rn{z}.f32 F f! | 1 sqrt.approx{z}.f32 F f! | 1 rsqrt.approx{z}.f32 F f! | 1 ex2.approx{z}.f32 F f! | 1 lg2.approx{z}.f32 F f!
1 sin.approx{z}.f32 F f! | 1 cos.approx{z}.f32 F f! | 1 tanh.approx.f32 F f!
2 cvt.rni.s32.f32 R f! | 1 cvt.rzi.u32.f32 R f! | 1 cvt.rmi.f32.f32 F f! | 1 cvt.{R}.f32.s32 F r! | 1 cvt.{R}.f32.u32 F r!
2 cvt.f64.f32 D f! | 2 cvt.rn.f32.f64 F d! | 2 cvt.rn.f16.f32 H f! | 1 cvt.rz.f16.f32 H f! | 2 cvt.f32.f16 F h!
1 cvt.rn.bf16.f32 H f! | 1 cvt.rn.f16x2.f32 X f! f! | 1 cvt.rn.bf16x2.f32 X f! f! | 1 cvt.rna.tf32.f32 R f!
1 cvt.rn.satfinite.e4m3x2.f32 H f! f! | 1 cvt.rn.satfinite.e5m2x2.f32 H f! f! | 1 cvt.rn.f16x2.e4m3x2 X h!
2 add{r}.f64 D d d | 2 mul{r}.f64 D d d | 1 sub{r}.f64 D d d | 2 fma.{R}.f64 D d d d | 1 div.rn.f64 D d d! | 1 sqrt.rn.f64 D d!
1 rcp.rn.f64 D d! | 1 min.f64 D d d | 1 cvt.rzi.s64.f64 Q d! | 1 cvt.rn.f64.s64 D q! | 1 cvt.rn.f64.s32 D r!
1 add{z}.f16 H h h | 1 mul{z}.f16 H h h | 1 fma.rn{z}.f16 H h h h | 1 sub{z}.f16 H h h | 2 add{z}.f16x2 X x x | 2 mul{z}.f16x2 X x x
1 fma.rn{z}.f16x2 X x x x | 1 fma.rn.relu.f16x2 X x x x | 1 max.f16x2 X x x | 1 max.NaN.f16x2 X x x | 1 ex2.approx.f16x2 X x
1 tanh.approx.f16x2 X x | 1 add.bf16x2 X x x | 1 mul.bf16x2 X x x | 1 fma.rn.bf16x2 X x x x | 1 max.bf16x2 X x x | 1 abs.f16x2 X x
3 add.s32 R r r! | 2 sub.s32 R r r! | 2 mul.lo.s32 R r r! | 1 mul.hi.s32 R r r! | 1 mul.hi.u32 R r r! | 2 mad.lo.s32 R r r! r
1 mad.hi.u32 R r r! r | 1 mul.wide.s32 Q r r! | 1 mul.wide.u32 Q r r! | 1 mad.wide.s32 Q r r! q | 1 mul24.lo.s32 R r r! | 1 sad.u32 R r r! r
1 div.s32 R r! r | 1 div.u32 R r! r | 1 rem.s32 R r! r | 1 rem.u32 R r! r | 1 abs.s32 R r! | 1 neg.s32 R r! | 1 min.s32 R r r!
1 max.u32 R r r! | 1 and.b32 R r r! | 1 or.b32 R r r! | 1 xor.b32 R r r! | 1 not.b32 R r! | 1 lop3.b32 R r! r! r! 0x96 | 1 lop3.b32 R r! r! r! 0xca
1 shl.b32 R r! r! | 1 shr.s32 R r! r! | 1 shr.u32 R r! 5 | 1 shf.l.wrap.b32 R r! r! r! | 1 shf.r.clamp.b32 R r! r! r! | 1 prmt.b32 R r! r! r!
1 bfe.u32 R r! r! r! | 1 bfe.s32 R r! 5 7 | 1 bfi.b32 R r! r! r! r! | 1 popc.b32 R r! | 1 clz.b32 R r! | 1 brev.b32 R r! | 1 bfind.u32 R r!
1 fns.b32 R r! 1 3 | 1 dp4a.s32.s32 R r! r! r! | 1 dp2a.lo.u32.s32 R r! r! r! | 1 vadd4.s32.s32.s32.sat R r! r! r! | 1 add.sat.s32 R r r!
1 add.s16x2 R r! r! | 1 max.s16x2 R r! r! | 1 szext.clamp.s32 R r! r! | 1 bmsk.clamp.b32 R r! r! | 2 add.s64 Q q q! | 1 mul.lo.s64 Q q q!
1 mul.hi.u64 Q q q! | 1 mad.lo.s64 Q q q! q | 1 div.s64 Q q! q | 1 rem.u64 Q q! q | 1 shl.b64 Q q! r! | 1 shr.s64 Q q! r! | 1 popc.b64 R q!
1 cvt.u64.u32 Q r! | 1 cvt.s64.s32 Q r! | 1 cvt.u32.u64 R q! | 1 cvt.s32.s8 R r! | 1 cvt.sat.u8.s32 R r! | 1 cvt.sat.s16.s32 R r!
2 mov.b32 R f! | 2 mov.b32 F r! | 1 mov.b64 Q d! | 1 mov.b64 D q! | 1 mov.b32 R x! | 1 mov.b32 X r! | 1 mov.b32 X (h!h!) | 1 mov.b64 Q (r!r!)
2 setp.lt{z}.f32 P f! f | 1 setp.neu{z}.f32 P f! f | 1 setp.gt.f64 P d! d | 2 setp.ge.s32 P r! r | 1 setp.lt.and.s32 P r! r p!
1 setp.num.xor.f32 P f! f p! | 1 set.gt.u32.f32 R f! f | 1 set.lt.f32.s32 F r! r | 1 testp.finite.f32 P f! | 1 and.pred P p! p! | 1 not.pred P p!
2 selp.f32 F f f! p! | 1 selp.b32 R r r! p! | 1 selp.b64 Q q q! p! | 1 slct.f32.s32 F f! f! r! | 1 slct.s32.f32 R r! r! f!
1 shfl.sync.bfly.b32 R r! 5 31 -1 | 1 shfl.sync.up.b32 F f! 3 0 -1 | 1 vote.sync.ballot.b32 R p! -1 | 1 redux.sync.add.s32 R r! -1
1 match.any.sync.b32 R r! -1
"""
# What lanes tell each other, products of matrices, and rarer instructions.
WARP = """
2 shfl.sync.idx.b32 R|P r! r! 31 -1 | 1 shfl.sync.down.b32 R|P r! 4 0x1c03 -1 | 1 shfl.sync.up.b32 X|P x! r! 0 -1 | 1 shfl.sync.bfly.b32 F f! 17 31 -1
1 vote.sync.any.pred P p! -1 | 1 vote.sync.all.pred P p! -1 | 1 vote.sync.uni.pred P p! -1 | 1 redux.sync.min.s32 R r! -1 | 1 redux.sync.max.u32 R r! -1
1 redux.sync.and.b32 R r! -1 | 1 redux.sync.xor.b32 R r! -1 | 1 match.all.sync.b32 R|P r! -1 | 1 match.any.sync.b64 R q! -1 | 1 elect.sync R|P -1
2 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 (FFFF) (xxxx) (xx) (ffff) | 2 mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 (FFFF) (xxxx) (xx) (ffff)
1 mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 (XX) (xxxx) (xx) (xx) | 1 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 (FFFF) (xx) (x) (ffff)
1 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 (FFFF) (rrrr) (rr) (ffff) | 1 mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 (FFFF) (rr) (r) (ffff)
1 mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 (DD) (d) (d) (dd) | 1 mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 (DDDD) (dddd) (dd) (dddd)
1 mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 (RRRR) (rrrr) (rr) (rrrr) | 1 mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.s8.s32 (RRRR) (rr) (r) (rrrr)
1 mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 (RRRR) (rrrr) (rr) (rrrr) | 1 mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc (RRRR) (rrrr) (rr) (rrrr)
1 mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 (FFFF) (rrrr) (rr) (ffff) | 1 movmatrix.sync.aligned.m8n8.trans.b16 X x!
1 add.s16 H h! h! | 1 mul.lo.s16 H h! h! | 1 mul.hi.u16 H h! h! | 1 mul.wide.u16 R h! h! | 1 mad.wide.s16 R h! h! r! | 1 div.s16 H h! h! | 1 rem.u16 H h! h!
1 min.u16 H h! h! | 1 shr.s16 H h! r! | 1 and.b16 H h! h! | 1 cvt.s32.s16 R h! | 1 cvt.u16.u32 H r! | 1 cvt.rzi.s8.f32 R f! | 1 cvt.rni.u16.f16 H h!
1 cvt.rn.f16.s16 H h! | 1 cvt.rp.f16.u32 H r! | 1 cvt.rzi.s64.f16 Q h! | 1 cvt.rzi.u8.f64 R d! | 1 cvt.rm.f32.s64 F q! | 1 cvt.rz.f64.u64 D q! | 1 cvt.rn.f16.f64 H d!
1 cvt.f64.f16 D h! | 1 cvt.rmi.f16.f16 H h! | 1 cvt.rzi.f64.f64 D d! | 1 cvt.sat.f32.f32 F f! | 1 cvt.rn.relu.f16.f32 H f! | 1 cvt.rz.relu.bf16x2.f32 X f! f!
1 cvt.f32.bf16 F h! | 1 cvt.pack.sat.s8.s32.b32 R r! r! r! | 1 cvt.pack.sat.u16.s32 R r! r! | 1 cvt.rn.satfinite.relu.e4m3x2.f16x2 H x! | 1 cvt.rn.f16x2.e5m2x2 X h!
1 setp.lt.f16x2 P|P x! x! | 1 setp.ne.bf16x2 P|P x! x! | 1 setp.gtu.f16 P h! h! | 1 set.le.f16x2.f16x2 X x! x! | 1 set.eq.u32.f16 R h! h! | 1 set.gt.ftz.f32.f32 F f! f!
1 setp.eq.or.s64 P|P q! q! p! | 1 setp.hi.u16 P h! h! | 1 setp.leu.f64 P d! d! | 1 slct.f64.f32 D d! d! f! | 1 testp.subnormal.f64 P d! | 1 copysign.f64 D d! d!
1 min.NaN.xorsign.abs.f16x2 X x x | 1 fma.rn.sat.f16 H h h h | 1 fma.rn.relu.bf16x2 X x x x | 1 fma.rn.sat.f16x2 X x x x | 1 sub.f16x2 X x x | 1 neg.bf16x2 X x | 1 abs.bf16 H h
1 tanh.approx.bf16x2 X x | 1 tanh.approx.f16 H h | 1 ex2.approx.ftz.bf16x2 X x | 1 ex2.approx.f16 H h | 1 rcp.approx.ftz.f64 D d! | 1 rsqrt.approx.f64 D d! | 1 max.xorsign.abs.bf16 H h h
1 mul24.hi.s32 R r! r! | 1 mad24.lo.u32 R r! r! r! | 1 mad24.hi.sat.s32 R r! r! r! | 1 mad.hi.sat.s32 R r! r! r! | 1 bfind.shiftamt.s32 R r! | 1 bfind.u64 R q! | 1 clz.b64 R q!
1 brev.b64 Q q! | 1 bfe.s64 Q q! r! r! | 1 bfi.b64 Q q! q! r! r! | 1 prmt.b32.f4e R r! r! r! | 1 prmt.b32.rc16 R r! r! r! | 1 prmt.b32.ecl R r! r! r! | 1 mad.hi.s64 Q q! q! q!
1 vadd.s32.u32.s32.sat R r! r! r! | 1 vsub.u32.s32.s32 R r! r! | 1 vabsdiff.s32.s32.s32.add R r! r! r! | 1 vmin.s32.s32.u32 R r! r! | 1 vshl.u32.u32.u32.wrap R r! r!
1 vshr.s32.u32.u32.clamp.min R r! r! r! | 1 vmad.s32.s32.s32.shr7 R r! r! r! | 1 vset.u32.s32.lt R r! r! | 1 vadd2.s32.s32.u32 R r! r! r! | 1 vavrg4.u32.u32.s32 R r! r! r!
1 vabsdiff4.u32.u32.u32.add R r! r! r! | 1 vset4.s32.u32.ge R r! r! r! | 1 vmax2.s32.s32.s32.sat R r! r! r! | 1 vsub4.u32.u32.u32.add R r! r! r!
1 dp4a.u32.s32 R r! r! r! | 1 dp2a.hi.s32.s32 R r! r! r! | 1 sad.s16 H h! h! h! | 1 mov.b64 (RR) q! | 1 mov.b32 (HH) x! | 1 mov.b64 (HHHH) d! | 1 lop3.or.b32 R|P r! r! r! 0xe8 p!
"""
# Sums and products of one type, and what stands between them: T is the type, W the type of its register's copies.
SUMS = """
36 mul{z}.T D d d! | 26 add{z}.T D d d! | 12 sub{z}.T D d d! | 7 fma.rn{z}.T D d d! d | 5 neg{z}.T D d! | 2 abs{z}.T D d! | 2 mov.W D d!
3 min{z}.T D d! d! | 2 selp.W D d! d! p! | 2 mul.rn{z}.T D d d! | 2 add.rn{z}.T D d d! | 1 sub.rn{z}.T D d d!
"""
TYPES = {"f32": "f", "f64": "d", "f16": "h", "f16x2": "x", "bf16": "h", "bf16x2": "x"}
TOGETHER = re.compile(r"\.sync")  # all lanes of the warp execute these together


@dataclass(frozen=True)
class Operation:
    """A row of the tables."""

    weight: int
    opcode: str
    operands: tuple[str, ...]


def rows(table: str) -> list[Operation]:
    """The operations of a table."""
    found = []
    for row in re.split(r" \| |\n", table.strip()):
        weight, opcode, *operands = row.split()
        found.append(Operation(int(weight), opcode, tuple(operands)))
    return found


def sums_of(type: str) -> list[Operation]:
    """The table of sums and products for one type."""
    letter, copied = TYPES[type], DECLARED[TYPES[type]].replace("f", "b")
    flushed = "{z}" if type in ("f32", "f16", "f16x2") else ""
    return [
        Operation(
            row.weight, row.opcode.replace("{z}", flushed).replace("T", type).replace("W", copied),
            tuple(o.replace("d", letter).replace("D", letter.upper()) for o in row.operands),
        )
        for row in rows(SUMS)
    ]  # fmt: skip

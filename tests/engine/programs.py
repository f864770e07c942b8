"""Random kernels for comparing engines: straight-line arithmetic, loops, branches, barriers, memory, exits; and how they run."""

from __future__ import annotations

from random import Random

import numpy as np

from ptxsim.machine.event import Event, Observer
from ptxsim.session.execution import execute
from ptxsim.session.run import Run
from tests.helpers import facts, launch, prepare, same_on_both

HEADER = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n)
{
    .reg .b32 %r<16>;
    .reg .f32 %f<8>;
    .reg .b64 %d<8>;
    .reg .b16 %h<4>;
    .reg .pred %p<4>;
    .shared .align 16 .b8 tile[1024];
    .local .align 8 .b8 own[64];
    ld.param.u64 %d0, [data];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %d1, %r3, 16;
    add.u64 %d0, %d0, %d1;
    ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d0];
    mov.b32 %f0, %r4;
    cvt.rn.f32.s32 %f1, %r5;
    mov.u32 %r8, tile;
    mad.lo.u32 %r8, %r0, 4, %r8;
    and.b32 %r9, %r6, 7;
    setp.gt.u32 %p0, %r7, %r6;
    setp.ne.u32 %p1, %r9, 3;
    mov.u64 %d4, tile;
    mov.u64 %d7, own;
    mov.b16 %h2, 7;
"""
FOOTER = """
    st.global.v4.u32 [%d0], {%r4, %r5, %r6, %r7};
    ret;
}
"""
INTEGER = (
    "add.u32", "sub.s32", "mul.lo.u32", "mul.hi.s32", "and.b32", "xor.b32", "or.b32", "min.s32", "max.u32", "div.u32", "rem.s32",
    "shl.b32", "shr.u32", "shr.s32", "add.sat.s32",
)  # fmt: skip
FLOATING = ("add.f32", "sub.rz.f32", "mul.ftz.f32", "mul.rp.f32", "min.f32", "max.NaN.f32", "add.rm.ftz.f32")
OTHERS = (
    "prmt.b32 {d}, {a}, {b}, 0x5410;", "bfe.s32 {d}, {a}, 3, 11;", "clz.b32 {d}, {a};", "popc.b32 {d}, {a};", "brev.b32 {d}, {a};",
    "selp.b32 {d}, {a}, {b}, %p1;", "lop3.b32 {d}, {a}, {b}, {c}, 0x96;", "mad.lo.s32 {d}, {a}, {b}, {c};",
    "shf.l.wrap.b32 {d}, {a}, {b}, {c};", "fma.rn.f32 {f}, {f}, {g}, {g};", "cvt.rn.f32.u32 {f}, {a};",
    "cvt.rzi.s32.f32 {d}, {g};", "cvt.u16.u32 %h0, {a}; cvt.s32.s16 {d}, %h0;", "setp.lt.s32 %p1, {a}, {b};",
    "setp.geu.f32 %p0|%p2, {f}, {g};", "mov.b32 {d}, {f};", "mov.b32 {f}, {a};", "mul.wide.s32 %d2, {a}, {b}; cvt.u32.u64 {d}, %d2;",
    "sad.u32 {d}, {a}, {b}, {c};", "abs.s32 {d}, {a};", "mov.u32 {d}, %laneid;", "mov.u32 {d}, %lanemask_lt;",
    "cvt.rn.f16.f32 %h1, {g}; cvt.f32.f16 {f}, %h1;", "mov.u32 {d}, %clock;",
    "atom.shared.add.u32 {d}, [%r8], {a};", "atom.global.max.s32 {d}, [%d0], {a};", "red.global.add.f32 [%d0+4], {f};", "membar.cta;",
    "cvta.shared.u64 %d3, %d4; mov.u64 %d5, tile; cvta.shared.u64 %d5, %d5; ld.u32 {d}, [%d5+512];", "cvta.local.u64 %d6, %d7; st.u16 [%d6+4], %h2;",
    "isspacep.shared %p2, %d4; isspacep.global %p0, %d0; selp.b32 {d}, {a}, {b}, %p2;",
    "st.local.u32 [own+8], {a}; ld.local.u16 {d}, [own+10];", "st.shared.u32 [%r8], {a}; ld.shared.u32 {d}, [%r8];",
)  # fmt: skip


class Writer:
    """Writes one random kernel. Everything it does is defined: no race, no access out of bounds, no endless loop."""

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.lines: list[str] = []
        self.labels = 0

    def register(self) -> str:
        return f"%r{self.random.choice((4, 5, 6, 7))}"

    def single(self) -> str:
        return f"%f{self.random.choice((0, 1, 2))}"

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def guard(self) -> str:
        return self.random.choice(("", "", "", "@%p0 ", "@!%p1 "))

    def statement(self) -> None:
        r = self.random
        d, a, b, c = (self.register() for _ in range(4))
        kind = r.random()
        if kind < 0.45:
            self.lines.append(f"    {self.guard()}{r.choice(INTEGER)} {d}, {a}, {r.choice((b, str(r.randrange(64))))};")
        elif kind < 0.6:
            self.lines.append(
                f"    {self.guard()}{r.choice(FLOATING)} {self.single()}, {self.single()}, {self.single()};"
            )
        else:
            text = r.choice(OTHERS).format(d=d, a=a, b=b, c=c, f=self.single(), g=self.single())
            self.lines.append("    " + text.replace("; ", ";\n    "))

    def block(self, depth: int) -> None:
        r = self.random
        for _ in range(r.randrange(1, 5)):
            kind = r.random()
            if depth and kind < 0.25:
                self.loop(depth)
            elif depth and kind < 0.5:
                self.fork(depth)
            else:
                self.statement()

    def loop(self, depth: int) -> None:
        label, counter, predicate = self.label(), f"%r{9 + depth}", f"%p{depth + 1}"
        self.lines.append(f"    and.b32 {counter}, {self.register()}, {self.random.choice((1, 3, 15))};\n{label}:")
        self.block(depth - 1)
        self.lines.append(
            f"    sub.s32 {counter}, {counter}, 1;\n    setp.ge.s32 {predicate}, {counter}, 0;\n    @{predicate} bra {label};"
        )

    def fork(self, depth: int) -> None:
        other, end = self.label(), self.label()
        self.lines.append(
            f"    setp.lt.u32 %p0, {self.register()}, {self.register()};\n    @{self.random.choice(('', '!'))}%p0 bra {other};"
        )
        self.block(depth - 1)
        if self.random.random() < 0.6:
            self.lines.append(f"    bra {end};\n{other}:")
            self.block(depth - 1)
            self.lines.append(f"{end}:")
        else:
            self.lines.append(f"{other}:")

    def text(self) -> str:
        self.block(2)
        if self.random.random() < 0.4:
            self.lines.append("    setp.eq.u32 %p0, %r9, 5;\n    @%p0 ret;")
            self.block(1)
        if self.random.random() < 0.5:
            self.lines.append(
                "    st.shared.u32 [%r8], %r4;\n    bar.sync 0;\n    xor.b32 %r10, %r8, 4;\n    ld.shared.u32 %r5, [%r10];"
            )
            self.block(1)
        if self.random.random() < 0.4:
            self.lines.append("    shfl.sync.bfly.b32 %r6, %r7, 5, 31, -1;\n    vote.sync.ballot.b32 %r7, %p1, -1;")
        return HEADER + "\n".join(self.lines) + FOOTER


class Poller(Writer):
    """Also writes loops that an atomic on the lane's own word ends, some of them after more tests than patience lasts."""

    def loop(self, depth: int) -> None:
        if self.random.random() < 0.5:
            return super().loop(depth)
        label, predicate, seen = self.label(), f"%p{depth + 1}", f"%r{13 + depth}"
        word = f"[%r8+{256 if depth == 1 else 640}]"
        most = self.random.choice((2, 9)) if depth == 1 else self.random.choice((2, 30, 700))
        poll = self.random.choice(
            (f"atom.shared.add.u32 {seen}, {word}, 0;", f"ld.volatile.shared.u32 {seen}, {word};")
        )
        self.lines.append(
            f"    and.b32 %r12, {self.register()}, {most};\n    st.shared.u32 {word}, %r12;\n{label}:\n    {poll}"
        )
        if most < 700 and self.random.random() < 0.5:
            self.fork(depth)
        self.lines.append(
            f"    add.u32 {seen}, {seen}, 1;\n    st.shared.u32 {word}, {seen};\n    setp.lt.u32 {predicate}, {seen}, {most};\n"
            f"    @{predicate} bra {label};"
        )
        return None


def body(text: str) -> str:
    """A kernel with the registers and arguments of the random ones, and these statements."""
    return HEADER + text + FOOTER


def words(count: int) -> np.ndarray:
    """What the kernels of this module work on: four words a thread."""
    data = np.random.default_rng(1).integers(0, 2**32, (count, 4), dtype=np.uint32)
    data[::3] &= 0xFF
    return data


def run(text: str, engine: str | None, grid: int = 2, block: int = 64, **options) -> tuple[np.ndarray, Run]:
    """Memory after a kernel of this module, and the Run."""
    data = words(grid * block)
    return data, launch(text, [data, grid * block], grid, block, engine=engine, **options)


def outcome(text: str, engine: str | None, **options) -> tuple:
    """Memory after a kernel of this module, and what the Run says."""
    data, result = run(text, engine, **options)
    return data, facts(result)


def compare(text: str, **options) -> None:
    """Assert that both engines leave the same memory and say the same."""
    same_on_both(lambda engine: outcome(text, engine, **options))


class Recorder(Observer):
    """Keeps every event: what observers of both engines get must be the same."""

    events = None

    def __init__(self):
        self.seen = []

    def consume(self, records: np.ndarray) -> None:
        for record in records:
            lanes = [lane for lane in range(32) if record["mask"] >> lane & 1]
            if record["event"] in (Event.ARRIVE, Event.LEAVE):
                lanes = [0]
            elif record["event"] > Event.ASYNC_WRITE:  # nothing is addressed
                lanes = []
            fields = (int(record[name]) for name in ("site", "cta", "warp", "event", "space", "width", "flags", "mask"))
            self.seen.append((*fields, record["addresses"][lanes].tolist()))


def same_events(text: str, **options) -> list:
    """The events of a kernel of this module, after asserting that they are the same on both engines and in their order."""

    def outcome(engine: str) -> list:
        recorder = Recorder()
        execute(prepare(text, [words(128), 128], 2, 64, engine=engine, banks=True, **options), observers=[recorder])
        return recorder.seen

    return same_on_both(outcome)

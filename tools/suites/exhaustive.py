"""All 2^32 inputs of a function, compared by one checksum per 2^20 inputs (golden/exhaustive.npz)."""

from __future__ import annotations

import numpy as np

from suites.common import Options, Tally, spread

BLOCK = 1 << 20
THREADS = 256

# One CTA sums mix(f(x) ^ x * 0x9E3779B1) over a block of inputs; mix is the murmur3 finalizer.
KERNEL = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry sweep(.param .u64 sums, .param .u32 first)
{{
.reg .pred %p; .reg .b16 %h, %g; .reg .b32 %r<12>; .reg .b64 %rd<4>;
ld.param.u64 %rd0, [sums];
ld.param.u32 %r0, [first];
mov.u32 %r1, %ctaid.x;
add.u32 %r2, %r0, %r1;
shl.b32 %r2, %r2, 20;
mov.u32 %r3, %tid.x;
add.u32 %r2, %r2, %r3;
mov.u32 %r4, 0;
mov.u32 %r5, 0;
LOOP:
{function}
mul.lo.u32 %r7, %r2, 0x9E3779B1;
xor.b32 %r6, %r6, %r7;
shr.u32 %r7, %r6, 16;
xor.b32 %r6, %r6, %r7;
mul.lo.u32 %r6, %r6, 0x85EBCA6B;
shr.u32 %r7, %r6, 13;
xor.b32 %r6, %r6, %r7;
mul.lo.u32 %r6, %r6, 0xC2B2AE35;
shr.u32 %r7, %r6, 16;
xor.b32 %r6, %r6, %r7;
add.u32 %r4, %r4, %r6;
add.u32 %r2, %r2, {threads};
add.u32 %r5, %r5, 1;
setp.lt.u32 %p, %r5, {loops};
@%p bra LOOP;
mul.wide.u32 %rd1, %r1, 4;
add.u64 %rd0, %rd0, %rd1;
red.global.add.u32 [%rd0], %r4;
ret;
}}
"""


def body(function: str) -> str:
    """Statements that put f(%r2) into %r6."""
    if "m3x2." in function or "m2x2." in function:
        return f"not.b32 %r8, %r2; {function} %h, %r8, %r2; cvt.u32.u16 %r6, %h;"
    if function.startswith(("cvt.rz.f16.", "cvt.rz.bf16.")):
        return f"{function} %h, %r2; cvt.u32.u16 %r6, %h;"
    return f"{function} %r6, %r2;"


def run(options: Options, tally: Tally) -> bool:
    arrays = np.load(options.folder / "exhaustive.npz")
    step = options.extra.get("one_in") or 1
    work = []
    for function in arrays:
        if options.selects("exhaustive.npz", function):
            sums = arrays[function]
            blocks = list(range(0, len(sums), step))
            work += [
                (function, part, [int(sums[b]) for b in part], options.engine)
                for part in _chunks(blocks, 64 if step == 1 else 8)
            ]
    for function, wrong, count in spread(sweep, work, options.jobs, chunk=1):
        tally.passed += count - len(wrong)
        tally.failures += [f"exhaustive:{function}: block {b:#x}" for b in wrong]
    return not tally.failures and tally.passed > 0


def _chunks(items: list[int], size: int) -> list[list[int]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def sweep(work: tuple[str, list[int], list[int], str | None]) -> tuple[str, list[int], int]:
    """Blocks of one function whose checksum differs."""
    from ptxsim import Module

    function, blocks, recorded, engine = work
    kernel = Module.from_text(KERNEL.format(function=body(function), threads=THREADS, loops=BLOCK // THREADS)).kernel()
    contiguous = blocks == list(range(blocks[0], blocks[0] + len(blocks)))
    wrong = []
    for start, group in ((blocks[0], blocks),) if contiguous else ((b, [b]) for b in blocks):
        sums = np.zeros(len(group), np.uint32)
        kernel.launch(len(group), THREADS, [sums, start], engine=engine, checks="none")
        want = dict(zip(blocks, recorded))
        wrong += [b for b, got in zip(group, sums) if int(got) != want[b]]
    return function, wrong, len(blocks)

"""Seconds to go 1,000 instructions back in the debugger, from places all over a run: tools/bench/stepping.py [FILE].

Without a file, two kernels: a GEMM of four CTAs straight through 10,000 lines, and a loop of 400,000 instructions on eight warps.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

import page

from ptxsim.debugger.session import Session
from ptxsim.source import Source

BACK, PLACES = 1000, 12
LOOP = """// ptxsim: launch grid=1 block=256
// ptxsim: arg x = zeros(256):u32
.version 8.0
.target sm_90
.address_size 64
.visible .entry loop(.param .u64 x)
{
.shared .align 4 .b8 cells[1024];
.reg .b64 %p<3>; .reg .b32 %r<8>; .reg .pred %q;
ld.param.u64 %p0, [x]; mov.u32 %r0, %tid.x; mul.wide.u32 %p1, %r0, 4; add.u64 %p0, %p0, %p1;
mov.u32 %r1, cells; mad.lo.u32 %r1, %r0, 4, %r1; mov.u32 %r2, 5000; mov.u32 %r3, 0;
again:
st.shared.u32 [%r1], %r3; bar.sync 0; ld.shared.u32 %r4, [%r1]; add.u32 %r3, %r3, %r4; xor.b32 %r3, %r3, %r2; bar.sync 0;
sub.u32 %r2, %r2, 1; setp.ne.u32 %q, %r2, 0; @%q bra again;
st.global.u32 [%p0], %r3; ret;
}
"""


def main(source: Source) -> None:
    session = Session(source)
    execution = session.execution
    start = time.perf_counter()
    execution.advance()
    last, forwards = execution.position, time.perf_counter() - start
    times = []
    for place in range(PLACES, 0, -1):
        execution.go_to(max(BACK + 1, last * place // PLACES))
        start = time.perf_counter()
        execution.go_to(execution.position - BACK)
        times.append(time.perf_counter() - start)
    kept = sum(each.snapshot.bytes for each in execution.kept)
    print(
        f"{source.name}: {last} instructions, {last / forwards:.0f}/s forwards, {len(execution.kept)} snapshots of {kept / 1e6:.1f} MB; "
        f"{BACK} back: median {median(times):.2f} s, worst {max(times):.2f} s"
    )
    session.close()


def gemm() -> Source:
    """The GEMM of tools/bench/page.py as a file with directives."""
    head = "".join(
        f"// ptxsim: {line}\n"
        for line in ("launch grid=2,2 block=128", f"arg A = ints(2,{page.TILES},64,64,seed=1):f16",
                     f"arg Bt = ints(2,{page.TILES},64,64,seed=2):f16", "arg D = zeros(2,2,64,64):f32")
    )  # fmt: skip
    path = Path(tempfile.mkdtemp()) / "gemm.ptx"
    path.write_text(head + page.kernel(page.TILES, 2))
    return Source.from_file(path)


if __name__ == "__main__":
    for source in [Source.from_file(sys.argv[1])] if len(sys.argv) > 1 else [Source(LOOP, "loop"), gemm()]:
        main(source)

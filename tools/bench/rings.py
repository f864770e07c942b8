"""CTAs of clusters that hand data on in a ring, by st.async and by bulk copies: warp instructions a second, unchecked and checked.

    python tools/bench/rings.py [--trips N] [--rounds N]

Processor time on one core, warm, medians. After a change to ptxsim the first process has code for the checks that was made quickly: run it twice.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from ptxsim import Module

CLUSTER, CTAS, THREADS = 4, 16, 128
HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 trips)
{
    .shared .align 128 .b8 box[16384];
    .shared .align 128 .b8 mine[8192];
    .shared .align 8 .b64 full[2];
    .shared .align 8 .b64 empty[2];
    .reg .b64 %out, %offset;
    .reg .b32 %t, %trips, %trip, %value, %got, %rank, %next, %before, %fulls, %empties, %half, %odd, %even, %full, %empty;
    .reg .b32 %place, %own, %there, %told, %freed;
    .reg .pred %other, %early, %done, %more;
    ld.param.u64 %out, [out]; ld.param.u32 %trips, [trips];
    mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank;
    add.u32 %next, %rank, 1; and.b32 %next, %next, 3; add.u32 %before, %rank, 3; and.b32 %before, %before, 3;
    setp.ne.u32 %other, %t, 0;
    mov.u32 %fulls, full; mov.u32 %empties, empty;
    @%other bra made;
    mbarrier.init.shared::cta.b64 [%fulls], 1; mbarrier.init.shared::cta.b64 [%fulls+8], 1;
    mbarrier.init.shared::cta.b64 [%empties], 128; mbarrier.init.shared::cta.b64 [%empties+8], 128;
    fence.mbarrier_init.release.cluster;
made:
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    mad.lo.u32 %value, %rank, 1000, %t;
    mov.u32 %trip, 0;
again: .pragma "nounroll";
    and.b32 %half, %trip, 1; shr.u32 %odd, %trip, 1; and.b32 %odd, %odd, 1; xor.b32 %even, %odd, 1;
    mad.lo.u32 %full, %half, 8, %fulls; mad.lo.u32 %empty, %half, 8, %empties;
    setp.lt.u32 %early, %trip, 2;
    @%early bra free;
used:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%empty], %even;
    @!%done bra used;
free:
"""
STORE = """
    @%other bra announced;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], BYTES;
announced:
    mov.u32 %place, box; mad.lo.u32 %place, %half, 2048, %place; mad.lo.u32 %place, %t, SIZE, %place;
    mapa.shared::cluster.u32 %there, %place, %next; mapa.shared::cluster.u32 %told, %full, %next;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.TYPE [%there], DATA, [%told];
"""
COPY = """
    mov.u32 %own, mine; mad.lo.u32 %own, %half, 4096, %own; mad.lo.u32 %place, %t, 32, %own;
    st.shared.v4.u32 [%place], {%value, %value, %value, %value};
    st.shared.v4.u32 [%place+16], {%value, %value, %value, %value};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mov.u32 %place, box; mad.lo.u32 %place, %half, 4096, %place;
    @%other bra announced;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 4096;
    mapa.shared::cluster.u32 %there, %place, %next; mapa.shared::cluster.u32 %told, %full, %next;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%there], [%own], 4096, [%told];
announced:
    mad.lo.u32 %place, %t, 32, %place;
"""
TAIL = """
come:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%full], %odd;
    @!%done bra come;
    ld.shared.u32 %got, [%place];
    mad.lo.u32 %value, %got, 5, %t;
    mapa.shared::cluster.u32 %freed, %empty, %before;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%freed];
    add.u32 %trip, %trip, 1; setp.lt.u32 %more, %trip, %trips; @%more bra again;
    mov.u32 %own, %ctaid.x; mad.lo.u32 %own, %own, 128, %t; mul.wide.u32 %offset, %own, 4; add.u64 %out, %out, %offset;
    st.global.u32 [%out], %value;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    ret;
}
"""


def stores(size: int, kind: str, data: str) -> str:
    """A ring in which each thread sends so many bytes a trip."""
    given = {"BYTES": str(THREADS * size), "SIZE": str(size), "TYPE": kind, "DATA": data}
    text = STORE
    for name, value in given.items():
        text = text.replace(name, value)
    return HEAD + text + TAIL


KERNELS = {
    "st.async, 4 bytes a thread": stores(4, "u32", "%value"),
    "st.async, 16 bytes a thread": stores(16, "v4.b32", "{%value, %value, %value, %value}"),
    "bulk copies of 4 KiB": HEAD + COPY + TAIL,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'':30}{'warp instr.':>12}{'none, s':>10}{'all, s':>10}{'ratio':>8}{'all, M/s':>12}")
    for name, text in KERNELS.items():
        kernel, medians = Module.from_text(text).kernel(), []
        for checks in ("none", "all"):
            times = []
            for _ in range(options.rounds + 1):
                out = np.zeros(CTAS * THREADS, np.uint32)
                began = time.process_time()
                run = kernel.launch(CTAS, THREADS, [out, options.trips], cluster=CLUSTER, checks=checks, jobs=1)
                times.append(time.process_time() - began)
            medians.append(statistics.median(times[1:]))
        plain, looked = medians
        rate = run.warp_instructions / looked / 1e6
        print(
            f"{name:30}{run.warp_instructions:12}{plain:10.3f}{looked:10.3f}{looked / plain:8.1f}{rate:12.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Cycles of products on tensor memory: what the SM's tensor core does by itself takes as long as has been published of a B200."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.machine.tensor_memory.core import Load
from ptxsim.profile.cycles import Cycles
from ptxsim.profile.figures import B200
from ptxsim.profile.model.tensor_core import work_of
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import CASES

TEXT = """.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry k(.param .u32 depth)
{{
    .shared .align 8 .b64 done;
    .shared .b32 place;
    .reg .pred %first, %more, %passed;
    .reg .b16 %both;
    .reg .b32 %t, %n, %at, %tmem, %a_tmem, %rank;
    .reg .b64 %a, %b;

    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    mov.b16 %both, 3;
    ld.param.u32 %n, [depth];
    setp.lt.u32 %first, %t, 32;
    @%first tcgen05.alloc.cta_group::{ctas}.sync.aligned.shared::cta.b32 [place], 512;
    setp.eq.u32 %first, %t, 0;
    @%first mbarrier.init.shared::cta.b64 [done], 1;
    fence.mbarrier_init.release.cluster;
    tcgen05.fence::before_thread_sync;
    {sync}
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %tmem, [place];
    add.u32 %a_tmem, %tmem, 256;
    mov.u32 %at, tiles;
    shr.u32 %at, %at, 4;
    cvt.u64.u32 %a, %at;
    or.b64 %a, %a, 0x0000402000080000;
    add.u64 %b, %a, 512;
    shr.u32 %t, %t, 5;
    or.b32 %t, %t, %rank;
    setp.ne.u32 %more, %t, 0;
    @%more bra WAIT;
    elect.sync _|%first, -1;
MORE:
    @%first tcgen05.mma.cta_group::{ctas}.kind::{kind} [%tmem], {a}, %b, {idesc}, 1;
    add.u32 %n, %n, -1;
    setp.ne.u32 %more, %n, 0;
    @%more bra MORE;
    @%first tcgen05.commit.cta_group::{ctas}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [done]{mask};
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %passed, [done], 0;
    @!%passed bra WAIT;
    tcgen05.fence::after_thread_sync;
    {sync}
    mov.u32 %t, %tid.x;
    setp.lt.u32 %first, %t, 32;
    @%first tcgen05.dealloc.cta_group::{ctas}.sync.aligned.b32 %tmem, 512;
    ret;
}}
"""
# Codes of the types in an instruction descriptor: D, A and B.
TYPES = {"f16": (1, 1), "tf32": (1, 2), "f8f6f4": (1, 0), "i8": (2, 1)}


def descriptor(kind: str, m: int, n: int) -> int:
    d, ab = TYPES[kind]
    return d << 4 | ab << 7 | ab << 10 | n >> 3 << 17 | m >> 4 << 24


def cycles_of(kind: str, m: int, n: int, depth: int, ctas: int = 1, from_memory: bool = False, **more) -> Cycles:
    """So many products, and the wait for all of them."""
    text = TEXT.format(
        ctas=ctas, kind=kind, idesc=descriptor(kind, m, n), a="[%a_tmem]" if from_memory else "%a",
        sync="bar.sync 0;" if ctas == 1 else "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        multicast="" if ctas == 1 else ".multicast::cluster", mask="" if ctas == 1 else ", %both",
    )  # fmt: skip
    kernel = Module.from_text(text).kernel()
    return kernel.launch(ctas, 128, [depth], 65536, cluster=ctas, checks="none", profile=True, **more).cycles


# Kind, CTAs, whether A is in tensor memory, M, N; cycles of one product among many, and of one alone with its commit and wait.
# https://github.com/SemiAnalysisAI/microbench-blackwell: umma_throughput/tput_results_full.csv (depth 512), umma_latency/lat_results_full.csv.
PUBLISHED = [
    ("f16", 1, False, 64, 64, 32.0, 152), ("f16", 1, False, 64, 256, 128.0, 248), ("f16", 1, False, 128, 64, 48.0, 168),
    ("f16", 1, False, 128, 96, 56.0, 184), ("f16", 1, False, 128, 128, 64.0, 200), ("f16", 1, False, 128, 256, 128.0, 264),
    ("f16", 1, True, 128, 64, 32.0, 136), ("f16", 1, True, 128, 256, 128.0, 232), ("f16", 1, True, 64, 128, 64.0, 168),
    ("f16", 2, False, 128, 64, 25.0, 173), ("f16", 2, False, 128, 256, 64.0, 229), ("f16", 2, False, 256, 64, 43.0, 202),
    ("f16", 2, False, 256, 128, 64.0, 234), ("f16", 2, False, 256, 256, 128.0, 298), ("f16", 2, True, 256, 256, 128.0, 266),
    ("f8f6f4", 1, False, 128, 256, 128.0, 264), ("f8f6f4", 1, False, 128, 64, 48.0, 168), ("i8", 1, False, 128, 256, 128.0, 264),
]  # fmt: skip


@pytest.fixture(autouse=True)
def without_the_assembler(monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")


@pytest.mark.thin(6)
@pytest.mark.parametrize("kind, ctas, from_memory, m, n, each, alone", PUBLISHED)
def test_products_take_what_is_published(kind, ctas, from_memory, m, n, each, alone):
    few, more = (cycles_of(kind, m, n, depth, ctas, from_memory) for depth in (32, 160))
    assert (more - few) / 128 == pytest.approx(each, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("ctas", [1, 2])
def test_a_product_alone_takes_what_is_published_beside_the_rest_of_the_kernel(ctas):
    rest = [
        cycles_of(kind, m, n, 1, ctas, from_memory) - alone
        for kind, of, from_memory, m, n, _, alone in PUBLISHED
        if of == ctas
    ]
    assert max(rest) - min(rest) <= 12


@pytest.mark.slow
@pytest.mark.parametrize(
    "m, n, kind, share", [(128, 256, "f16", 1), (128, 256, "f8f6f4", 1), (64, 256, "f16", 0.5), (128, 64, "f16", 2 / 3)]
)
def test_long_products_reach_their_share_of_the_peak(m, n, kind, share):
    """Half of it with 64 rows; 64 columns wait for shared memory."""
    cycles = cycles_of(kind, m, n, 512)
    ((name, rate),) = [(ceiling.name, ceiling.rate) for ceiling in cycles.roofline.compute]
    reached = cycles.roofline.operations[name] / int(cycles) / rate
    assert 0.95 * share < reached <= share
    assert cycles.pipes["tensor"] > 0.95 and cycles.bound_by == "tensor"
    assert "tensor core" in cycles.suggestions[0]
    assert cycles.judged == 0  # no launch of this machine has been measured by us


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_engines_record_the_same_work(engine):
    assert cycles_of("f16", 128, 128, 8, engine=engine) == cycles_of("f16", 128, 128, 8)


def test_machine_code_of_the_assembler_takes_the_recorded_work(monkeypatch):
    monkeypatch.delenv("PTXSIM_PTXAS")
    few, more = (cycles_of("f16", 128, 256, depth) for depth in (32, 64))
    if few.no_assembly:
        pytest.skip(few.no_assembly)
    assert (more - few) / 32 == pytest.approx(128, rel=0.01)
    assert few.assembled > 0.9


def test_copies_are_as_fast_as_shared_memory():
    """128 rows of 32 bytes."""
    cycles, _ = work_of(B200, np.array([Load(4096, 1), Load(4096, 2)], np.int64))
    assert cycles.tolist() == [32, 32]


def test_moves_take_half_a_cycle_for_each_register():
    """Each of four warps, one in each sub-core, loads 64 registers."""
    cycles = run_file(CASES / "tcgen05" / "product.ptx", options=Options(profile=True)).run.cycles
    assert cycles.pipes["tensor_memory"] * int(cycles) == pytest.approx(32)
    assert cycles.pipes["tensor"] * int(cycles) == pytest.approx(
        2 * 48
    )  # 64 columns: two products wait for shared memory


def test_products_of_a_warpgroup_hold_the_tensor_core_and_wait_for_copies():
    """A ring of two stages: 16 products of 64x64x16, whose operands are all from shared memory, take 32 cycles each."""
    result = run_file(Path(__file__).with_name("ring_of_two.ptx"), options=Options(profile=1))
    assert result.passed and result.run is not None
    cycles = result.run.cycles
    assert cycles.pipes["tensor"] * int(cycles) == pytest.approx(16 * 32)
    (hint,) = [hint for hint in cycles.suggestions if "long_scoreboard" in hint]
    assert "what copies bring" in hint

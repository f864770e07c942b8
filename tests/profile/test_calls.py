"""What calls take without an assembler, against loops of them on an H200 (tools/data/clocked)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from ptxsim import Module
from tests.helpers import ROOT
from tests.profile.kernels import kernel

FOLDER = ROOT / "tools" / "data" / "clocked"
MEASURED = {
    (kernel, int(threads)): float(cycles)
    for kernel, ctas, threads, cycles in (
        line.split("\t") for line in (FOLDER / "calls.tsv").read_text().splitlines()[1:]
    )
    if ctas == "1"
}


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.from_text(gzip.decompress((FOLDER / "kernels" / "calls.ptx.gz").read_bytes()).decode())


@pytest.mark.parametrize("threads", [32, 256])
@pytest.mark.parametrize("name", ["c_one1", "c_one16", "c_two4", "c_four4", "c_deep4"])
def test_a_turn_with_calls_takes_as_long_as_measured(monkeypatch, module, name, threads):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")
    data, out, clocks = (
        np.linspace(0.1, 0.9, 32, dtype=np.float32),
        np.zeros(threads, np.uint32),
        np.zeros(threads, np.uint32),
    )
    short, long = (
        module.kernel(name).launch(1, threads, [data, out, clocks, turns], profile=True, checks="none").cycles.cycles
        for turns in (32, 96)
    )
    assert (long - short) / 64 == pytest.approx(MEASURED[name, threads], rel=0.2)


def test_a_call_by_pointer_after_branches_is_profiled(monkeypatch):
    # The labels between are names in instructions that are no calls, too, and no functions.
    monkeypatch.setenv("PTXSIM_PTXAS", "off")
    functions = "".join(
        f".func (.param .b32 r) {name}(.param .b32 v) {{ .reg .b32 a; ld.param.b32 a, [v]; add.s32 a, a, {other}; st.param.b32 [r], a; ret; }}"
        for name, other in (("once", "1"), ("twice", "a"))
    )
    text = """ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u64 %d1, once; setp.eq.u32 %p0, %r0, 0; @%p0 bra AGAIN; mov.u64 %d1, twice;
        AGAIN: { .param .b32 v; .param .b32 r; st.param.b32 [v], %r0; shape : .callprototype (.param .b32 _) _ (.param .b32 _);
        call (r), %d1, (v), shape; ld.param.b32 %r0, [r]; } st.global.u32 [%d0], %r0;"""
    out = np.zeros(1, np.uint32)
    run = kernel(text, before=functions).launch(1, 32, [out, 5], profile=True)
    assert out[0] == 10
    assert run.cycles.cycles > 0


def test_a_reciprocal_root_in_f64_is_a_sequence(monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")
    text = """ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.f64 %e0, 0d4000000000000000;
        again: rsqrt.approx.f64 %e0, %e0; add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again; st.global.f64 [%d0], %e0;"""
    short, long = (
        kernel(text, ".reg .f64 %e<2>;").launch(1, 32, [np.zeros(1), turns], profile=True, gpu="H200").cycles.cycles
        for turns in (8, 40)
    )
    assert (long - short) / 32 == pytest.approx(80, rel=0.25)  # tools/data/together, d_rsqrt

"""In which order a block of machine code runs the blocks of PTX that it is."""

from __future__ import annotations

import pytest

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.sass.ways import way_through
from tests.profile.kernels import kernel

# A loop that is left in its middle, as nvcc writes it: the rest of a turn stands before its head.
ROTATED = """ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; bra.uni head;
rest: st.global.u32 [%d0], %r0; add.u32 %r0, %r0, 1;
head: ld.global.u32 %r1, [%d0]; setp.eq.u32 %p0, %r0, 5; @%p0 bra out; bra.uni rest;
out: st.global.u32 [%d0], %r1;"""


@pytest.mark.parametrize(
    "often, order",
    [
        ({"head": 3, "rest": 2, "out": 1}, ["head", "rest", "head", "rest", "head", "out"]),
        ({"head": 1, "rest": 1}, ["head", "rest"]),
        ({"head": 1, "out": 1}, ["head", "out"]),
        ({"head": 2, "out": 1}, []),  # nothing leads from the head to itself but the rest
        ({"rest": 1, "out": 1}, []),
    ],
)
def test_the_way_passes_each_block_as_often_as_it_is_there(often, order):
    graph = control_flow(merged(kernel(ROTATED).program("sm_90a")))
    after = {family: n for n, block in enumerate(graph.program.blocks) for family in {op.family for op in block}}
    number = {"head": after["setp"], "rest": after["add"], "out": after["ret"]}
    covers = {number[name]: times for name, times in often.items()}
    silent = set(range(len(graph.program.blocks))) - set(number.values())
    assert way_through(graph, covers, silent) == [number[name] for name in order]

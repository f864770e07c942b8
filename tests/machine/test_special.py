"""Every special register has a value of its type; those that place a thread agree with each other."""

import numpy as np
import pytest

from ptxsim import lanes as vocabulary
from ptxsim.isa.special_registers import SPECIAL_REGISTERS
from ptxsim.machine.special import value
from tests.machine.bench import LANE, Bench


@pytest.mark.parametrize("name", sorted(SPECIAL_REGISTERS))
def test_every_register_has_a_lane_value(name):
    bench = Bench(ctas=2)
    warp = bench.ctas[1].warps[0]
    found = value(name, warp, bench.machine)
    assert found.shape == (32,)
    assert found.dtype == vocabulary.dtype(SPECIAL_REGISTERS[name])


def test_thread_indices_count_x_first():
    bench = Bench(threads=96)
    warp = bench.ctas[0].warps[2]
    np.testing.assert_array_equal(value("%tid.x", warp, bench.machine), 64 + LANE)
    np.testing.assert_array_equal(value("%laneid", warp, bench.machine), LANE)
    assert value("%warpid", warp, bench.machine)[0] == 2
    assert not value("%tid.w", warp, bench.machine).any()


def test_lane_masks():
    bench = Bench()
    warp = bench.ctas[0].warps[0]
    for lane in range(32):
        bit = 1 << lane
        expected = {"eq": bit, "lt": bit - 1, "le": 2 * bit - 1, "gt": 2**32 - 2 * bit, "ge": 2**32 - bit}
        for name, mask in expected.items():
            assert int(value(f"%lanemask_{name}", warp, bench.machine)[lane]) == mask


def test_cluster_places():
    bench = Bench(ctas=4)
    for rank, cta in enumerate(bench.ctas):
        warp = cta.warps[0]
        read = {name: int(value(f"%{name}", warp, bench.machine)[0]) for name in (
            "ctaid.x", "nctaid.x", "cluster_ctarank", "cluster_nctarank", "cluster_ctaid.x", "cluster_nctaid.x",
            "clusterid.x", "nclusterid.x", "is_explicit_cluster",
        )}  # fmt: skip
        assert read == {
            "ctaid.x": rank, "nctaid.x": 4, "cluster_ctarank": rank, "cluster_nctarank": 4, "cluster_ctaid.x": rank,
            "cluster_nctaid.x": 4, "clusterid.x": 0, "nclusterid.x": 1, "is_explicit_cluster": 1,
        }  # fmt: skip


def test_clocks_go_forward_together():
    bench = Bench()
    warp = bench.ctas[0].warps[0]
    bench.machine.warp_instructions = (5 << 32) + 7
    assert int(value("%clock64", warp, bench.machine)[0]) == (5 << 32) + 7
    assert int(value("%clock", warp, bench.machine)[0]) == 7
    assert int(value("%clock_hi", warp, bench.machine)[0]) == 5

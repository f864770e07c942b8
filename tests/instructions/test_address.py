"""Addresses of state spaces, of other CTAs, and cache policies."""

import numpy as np
import pytest

from ptxsim.instructions.address import from_generic, to_generic
from ptxsim.instructions.cache_policy import fractional
from ptxsim.instructions.cluster_address import cta_rank, is_space, map_address
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import LOCAL_WINDOW, SHARED_RESERVED, SHARED_WINDOW
from ptxsim.types import TYPES
from tests.machine.bench import LANE, Bench, lanes

U32 = TYPES["u32"]
SPACES = ("global", "local", "const", "param", "param::entry", "shared", "shared::cta", "shared::cluster")


@pytest.mark.parametrize("space", SPACES)
def test_to_generic_and_back(space):
    address = LANE.astype(np.uint64) * 16
    np.testing.assert_array_equal(from_generic(to_generic(address, space=space), space=space), address)


@pytest.mark.parametrize(("space", "offset"), [("shared", SHARED_RESERVED), ("local", 8)])
def test_a_generic_access_goes_where_the_space_is(space, offset):
    port = Bench().port()
    address = lanes(offset, np.uint64)
    port.store(space, address, [LANE], U32)
    generic = to_generic(address, space=space)
    np.testing.assert_array_equal(port.load(None, generic, U32)[0], port.load(space, address, U32)[0])


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_mapa_reaches_the_cta_of_that_rank(rank):
    bench = Bench(ctas=3)
    bench.ctas[rank].shared[SHARED_RESERVED + 4] = 77
    port = bench.port(cta=1)
    own = lanes(SHARED_RESERVED + 4)
    far = map_address(own, lanes(rank), space="shared::cluster", type=U32)
    assert port.load("shared::cluster", far.astype(np.uint64), TYPES["u8"])[0][0] == 77
    generic = to_generic(own.astype(np.uint64), space="shared")
    far_generic = map_address(generic, lanes(rank), space=None, type=TYPES["u64"])
    assert port.load(None, far_generic, TYPES["u8"])[0][0] == 77
    low = map_address(generic.astype(np.uint32), lanes(rank), space=None, type=U32)
    np.testing.assert_array_equal(low, far_generic.astype(np.uint32))
    for address in (far, far_generic):
        assert (cta_rank(address) == rank).all()
    assert (cta_rank(own) == 0).all()
    again = map_address(far_generic, lanes(rank), space=None, type=TYPES["u64"])
    np.testing.assert_array_equal(again, far_generic)


def test_a_rank_that_the_cluster_does_not_have_is_named():
    port = Bench(ctas=2).port()
    far = map_address(lanes(SHARED_RESERVED + 4), lanes(3), space="shared::cluster", type=U32)
    with pytest.raises(Fault, match="0x404 of a CTA of rank 3; the cluster has 2 CTAs"):
        port.load("shared::cluster", far.astype(np.uint64), TYPES["u8"])


def test_isspacep():
    bench = Bench(ctas=2, allocations=(("buffer", 64, "global"), ("table", 64, "const"), ("arguments", 64, "param")))
    port = bench.port()
    own = lanes(SHARED_WINDOW + SHARED_RESERVED, np.uint64)
    addresses = {
        "global": bench.address(), "const": bench.address("table"), "param": bench.address("arguments"),
        "local": lanes(LOCAL_WINDOW + 4, np.uint64), "shared": own, "shared::cta": own,
        "shared::cluster": map_address(own, lanes(1), space=None, type=TYPES["u64"]),
    }  # fmt: skip
    within = {"shared::cluster": {"shared", "shared::cta", "shared::cluster"}, "shared": {"shared", "shared::cta"}}
    within["shared::cta"] = within["shared"]
    for space in addresses:
        for name, address in addresses.items():
            expected = name in within.get(space, {space})
            assert is_space(port, address, space=space).all() == expected, (space, name)


def test_policies_are_those_libraries_write_as_constants():
    port = Bench().port()
    for priority, word in (("L2::evict_first", 0x12F0000000000000), ("L2::evict_last", 0x14F0000000000000)):
        assert int(fractional(port, None, primary=priority)[0]) == word
        assert int(fractional(port, lanes(1.0, np.float32), primary=priority)[0]) == word
    assert int(fractional(port, lanes(0.5, np.float32), primary="L2::evict_last")[0]) == 0x1470000000000000

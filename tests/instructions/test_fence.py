"""What fences order, as their definitions say (isa.facts.Fence)."""

import pytest

from ptxsim.isa.bind import Binder
from ptxsim.isa.facts import Fence, Proxy
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target
from tests.isa.generate import Names

FENCES = {
    "membar.gl": Fence(Proxy.GENERIC, "gpu", "sc"),
    "membar.sys": Fence(Proxy.GENERIC, "sys", "sc"),
    "fence.cta": Fence(Proxy.GENERIC, "cta", "acq_rel"),
    "fence.sc.gpu": Fence(Proxy.GENERIC, "gpu", "sc"),
    "fence.acquire.sys": Fence(Proxy.GENERIC, "sys", "acquire"),
    "fence.release.sync_restrict::shared::cta.cluster": Fence(Proxy.GENERIC, "cluster", "release"),
    "fence.acquire.sync_restrict::shared::cluster.cluster": Fence(Proxy.GENERIC, "cluster", "acquire"),
    "fence.mbarrier_init.release.cluster": Fence(Proxy.GENERIC, "cluster", of_mbarriers=True),
    "fence.proxy.async": Fence(Proxy.ASYNC, "sys"),
    "fence.proxy.async.shared::cta": Fence(Proxy.ASYNC, "sys"),
    "fence.proxy.alias": Fence(Proxy.ALIAS, "sys"),
    "fence.proxy.tensormap::generic.release.gpu": Fence(Proxy.TENSORMAP, "gpu"),
    "fence.proxy.tensormap::generic.acquire.cta [%rd1], 128": Fence(Proxy.TENSORMAP, "cta"),
}


@pytest.mark.parametrize("statement", FENCES)
def test_what_a_fence_orders(statement):
    bound = Binder(parse_target("sm_90a"), (9, 0)).bind(parse_body(f"{statement};")[0], Names())
    assert bound.definition.facts.fence(bound.modifiers) == FENCES[statement]

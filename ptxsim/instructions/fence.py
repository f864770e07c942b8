"""Fences. PTX ISA, "Parallel Synchronization and Communication Instructions: membar, fence".

Memory is sequentially consistent in the machine: a fence has no effect but its event, which tells the checks what is ordered.
"""

from __future__ import annotations

from ptxsim.instructions.access_rules import SCOPE
from ptxsim.isa.facts import Facts, Mechanism, Role, Synchronisation, Word
from ptxsim.isa.operand import Imm
from ptxsim.isa.registry import declare, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.event import Event, Proxy, Scope
from ptxsim.machine.port import Port

FACTS = Facts(family="fence", synchronises=Synchronisation(Mechanism.FENCE, Role.FENCE))

# What the event's first two numbers mean; absent words are CTA scope and the generic proxy.
SCOPES = {"cta": Scope.CTA, "cluster": Scope.CLUSTER, "gpu": Scope.GPU, "gl": Scope.GPU, "sys": Scope.SYS}
PROXIES = {
    "generic": Proxy.GENERIC, "alias": Proxy.ALIAS, "async": Proxy.ASYNC, "global": Proxy.ASYNC_GLOBAL,
    "shared::cta": Proxy.ASYNC_SHARED, "shared::cluster": Proxy.ASYNC_SHARED, "tensormap": Proxy.TENSORMAP,
    "mbarrier_init": Proxy.MBARRIER_INIT,
}  # fmt: skip


@instruction("membar.scope", scope="cta gl sys", implies={"proxy": "generic"}, facts=FACTS)
@instruction(
    "membar.proxy.alias",
    name="membar.proxy",
    implies={"proxy": "alias", "scope": "sys"},
    requires="7.5 sm_70",
    facts=FACTS,
)
@instruction(
    "fence{.order}.scope",
    order="sc acq_rel",
    scope=SCOPE,
    implies={"proxy": "generic"},
    requires="6.0 sm_70",
    facts=FACTS,
)
@instruction(
    "fence.order.scope", order="acquire release", scope=SCOPE, implies={"proxy": "generic"}, facts=FACTS,
    requires="8.6 sm_90 | 6.0 sm_70-sm_72",
)  # fmt: skip
@instruction(
    "fence.acquire.sync_restrict::shared::cluster.cluster",
    implies={"proxy": "generic", "scope": "cluster"},
    requires="8.6 sm_90",
    facts=FACTS,
)
@instruction(
    "fence.release.sync_restrict::shared::cta.cluster",
    implies={"proxy": "generic", "scope": "cluster"},
    requires="8.6 sm_90",
    facts=FACTS,
)
@instruction(
    "fence.mbarrier_init.release.cluster",
    implies={"proxy": "mbarrier_init", "scope": "cluster"},
    requires="8.0 sm_90",
    facts=FACTS,
)
@instruction(
    "fence.proxy.alias",
    name="fence.proxy",
    implies={"proxy": "alias", "scope": "sys"},
    requires="7.5 sm_70",
    facts=FACTS,
)
@instruction(
    "fence.proxy.async",
    name="fence.proxy",
    implies={"proxy": "async", "scope": "sys"},
    requires="8.0 sm_90",
    facts=FACTS,
)
@instruction(
    "fence.proxy.async.proxy", name="fence.proxy", proxy="global shared::cta shared::cluster", implies={"scope": "sys"},
    requires="8.0 sm_90", facts=FACTS,
)  # fmt: skip
@instruction(
    "fence.proxy.tensormap::generic.release.scope", name="fence.proxy", scope=SCOPE, implies={"proxy": "tensormap"},
    requires="8.3 sm_90", facts=FACTS,
)  # fmt: skip
@instruction(
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", name="fence.proxy",
    implies={"proxy": "async", "scope": "cluster"}, requires="8.6 sm_90", facts=FACTS,
)  # fmt: skip
@instruction(
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", name="fence.proxy",
    implies={"proxy": "async", "scope": "cluster"}, requires="8.6 sm_90", facts=FACTS,
)  # fmt: skip
@instruction(
    "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster", name="fence.proxy",
    implies={"proxy": "async", "scope": "cluster"}, requires="9.4 sm_90", facts=FACTS,
)  # fmt: skip
@instruction(
    "fence.proxy.alias.order.sys", name="fence.proxy", order="acquire release", implies={"proxy": "alias", "scope": "sys"},
    requires="9.4 sm_90", facts=FACTS,
)  # fmt: skip
def fence(m: Port, *, scope: Word, proxy: Word) -> None:
    m.emit(Event.FENCE, addresses=[SCOPES[scope], PROXIES[proxy]])


@instruction(
    "fence.proxy.tensormap::generic.acquire.scope [a], size", name="fence.proxy", scope=SCOPE,
    operands={"size": Imm(choices=(128,))}, requires="8.3 sm_90", facts=FACTS,
)  # fmt: skip
def acquire_tensor_map(m: Port, a: LaneValue, *, scope: Word) -> None:
    """The tensor map proxy sees what the generic proxy wrote to these 128 bytes; the event's third number is the address."""
    lane = int(m.mask.argmax())
    m.emit(Event.FENCE, addresses=[SCOPES[scope], Proxy.TENSORMAP_ACQUIRE, int(a[lane])])


# The memory of other devices is not modeled.
declare(
    "fence.proxy.proxies.alias.order.sys", name="fence.proxy", proxies="generic::fabric fabric::generic fabric::fabric",
    order="acquire release", requires="9.3 sm_100", facts=FACTS,
)  # fmt: skip

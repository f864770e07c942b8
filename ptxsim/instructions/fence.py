"""Fences. PTX ISA, "Parallel Synchronization and Communication Instructions: membar, fence".

Memory is sequentially consistent in the machine: a fence has no effect but its event, which tells the checks what is ordered.
"""

from __future__ import annotations

from ptxsim.instructions.access_rules import SCOPE
from ptxsim.isa import facts
from ptxsim.isa.facts import SEVERAL_GPUS, Facts, Fence, Mechanism, Role, Synchronisation, Word, Words
from ptxsim.isa.operand import Imm
from ptxsim.isa.registry import Options, declare, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.event import Event, Proxy, Scope
from ptxsim.machine.port import Port

BETWEEN = {
    "generic": facts.Proxy.GENERIC, "mbarrier_init": facts.Proxy.GENERIC, "alias": facts.Proxy.ALIAS, "tensormap": facts.Proxy.TENSORMAP,
}  # fmt: skip


def fence_of(words: Words) -> Fence:
    """A membar, which has no word for it, is a fence.sc; a fence without one is .acq_rel. The acquire of a tensor map has none for its
    proxy."""
    proxy, scope = str(words.get("proxy") or "tensormap"), str(words["scope"])
    order = words.get("order", "sc") or "acq_rel" if proxy == "generic" else words.get("order")
    return Fence(
        BETWEEN.get(proxy, facts.Proxy.ASYNC), "gpu" if scope == "gl" else scope, order, proxy == "mbarrier_init"
    )


FACTS = Facts(family="fence", synchronises=Synchronisation(Mechanism.FENCE, Role.FENCE), fence=fence_of)

# What the event's first two numbers mean; absent words are CTA scope and the generic proxy.
SCOPES = {"cta": Scope.CTA, "cluster": Scope.CLUSTER, "gpu": Scope.GPU, "gl": Scope.GPU, "sys": Scope.SYS}
PROXIES = {
    "generic": Proxy.GENERIC, "alias": Proxy.ALIAS, "async": Proxy.ASYNC, "global": Proxy.ASYNC_GLOBAL,
    "shared::cta": Proxy.ASYNC_SHARED, "shared::cluster": Proxy.ASYNC_SHARED, "tensormap": Proxy.TENSORMAP,
    "mbarrier_init": Proxy.MBARRIER_INIT,
}  # fmt: skip


# By name: notations, since when, and the proxy and the scope where there is no word for them.
CLUSTER_RELEASE = ".release.sync_restrict::shared::cta.cluster"
CLUSTER_ACQUIRE = ".acquire.sync_restrict::shared::cluster.cluster"
RESTRICTED = {CLUSTER_RELEASE: "release", CLUSTER_ACQUIRE: "acquire"}  # the order that stands in their text
SPACES = "global shared::cta shared::cluster"
FORMS: dict[str, tuple[tuple[str, str, str | None, str | None, Options], ...]] = {
    "fence.proxy": (
        (".alias.order.sys", "9.4 sm_90", "alias", "sys", {"order": "acquire release"}),
        (".async::generic.release.sync_restrict::shared::cluster::read.cluster", "9.4 sm_90", "async", "cluster", {}),
        (f".async::generic{CLUSTER_RELEASE}", "8.6 sm_90", "async", "cluster", {}),
        (f".async::generic{CLUSTER_ACQUIRE}", "8.6 sm_90", "async", "cluster", {}),
        (".tensormap::generic.release.scope", "8.3 sm_90", "tensormap", None, {"scope": SCOPE}),
        (".async.proxy", "8.0 sm_90", None, "sys", {"proxy": SPACES}),
        (".async", "8.0 sm_90", "async", "sys", {}),
        (".alias", "7.5 sm_70", "alias", "sys", {}),
    ),
    "fence": (
        (".mbarrier_init.release.cluster", "8.0 sm_90", "mbarrier_init", "cluster", {}),
        (CLUSTER_RELEASE, "8.6 sm_90", "generic", "cluster", {}),
        (CLUSTER_ACQUIRE, "8.6 sm_90", "generic", "cluster", {}),
        (".order.scope", "8.6 sm_90 | 6.0 sm_70-sm_72", "generic", None, {"order": "acquire release", "scope": SCOPE}),
        ("{.order}.scope", "6.0 sm_70", "generic", None, {"order": "sc acq_rel", "scope": SCOPE}),
    ),
    "membar.proxy": ((".alias", "7.5 sm_70", "alias", "sys", {}),),
    "membar": ((".scope", "", "generic", None, {"scope": "cta gl sys"}),),
}


def fence(m: Port, *, scope: Word, proxy: Word) -> None:
    m.emit(Event.FENCE, addresses=[SCOPES[scope], PROXIES[proxy]])


for _name, _rows in FORMS.items():
    for _rest, _since, _proxy, _scope, _choices in _rows:
        _known = {"proxy": _proxy, "scope": _scope, "order": RESTRICTED.get(_rest)}
        instruction(
            _name + _rest, name=_name, requires=_since, facts=FACTS, **_choices,
            implies={slot: word for slot, word in _known.items() if word},
        )(fence)  # fmt: skip


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
    "fence.proxy.proxies.alias.order.sys", missing=SEVERAL_GPUS, name="fence.proxy", proxies="generic::fabric fabric::generic fabric::fabric",
    order="acquire release", requires="9.3 sm_100", facts=FACTS,
)  # fmt: skip

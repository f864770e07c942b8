"""clusterlaunchcontrol: bound, not modeled. PTX ISA, "Parallel Synchronization and Communication Instructions"."""

from __future__ import annotations

from ptxsim.isa.operand import Pred, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, declare

ANSWER: Kinds = {"a": Value("b128"), "d": Reg("b32"), "p": Pred()}
CANCEL = "clusterlaunchcontrol.try_cancel.async"
QUERY = "clusterlaunchcontrol.query_cancel"

declare(
    f"{CANCEL}{{.space}}.mbarrier::complete_tx::bytes.b128 [a], [mbar]", name=CANCEL, space="shared::cta",
    requires="8.6 sm_100",
)  # fmt: skip
declare(
    f"{CANCEL}{{.space}}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [a], [mbar]", name=CANCEL,
    space="shared::cta", requires="8.6 sm_100f sm_110f sm_120f",
)  # fmt: skip
declare(
    f"{QUERY}.is_canceled.pred.b128 p, a", name=f"{QUERY}.is_canceled", operands=ANSWER, writes="p",
    requires="8.6 sm_100",
)  # fmt: skip
declare(
    f"{QUERY}.get_first_ctaid.v4.b32.b128 d, a", name=f"{QUERY}.get_first_ctaid", requires="8.6 sm_100",
    operands={**ANSWER, "d": Vec(4, Reg("b32", sink=True))},
)  # fmt: skip
for axis in "xyz":
    name = f"{QUERY}.get_first_ctaid::{axis}"
    declare(f"{name}.b32.b128 d, a", name=name, operands=ANSWER, requires="8.6 sm_100")

"""Forms that PTX 9.1 to 9.4 added to older instructions; those for the memory of several GPUs are bound, not modeled.

PTX ISA, "Release Notes"; where the notes leave a combination open, what ptxas 13.5 takes.
"""

from __future__ import annotations

from ptxsim.instructions.access_rules import SCOPE
from ptxsim.instructions.bulk_copy import (
    FROM_SHARED,
    INTO_GLOBAL,
    INTO_SHARED,
    REDUCE_TO_GLOBAL,
    REDUCE_TO_SHARED,
    WEAK,
    global_to_shared,
    reduce_to_cluster,
    reduce_to_global,
    shared_to_cluster,
    shared_to_global,
    words,
)
from ptxsim.isa.facts import SEVERAL_GPUS
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Options, declare, instruction
from ptxsim.types import TYPES

NINE = "9.3 sm_90"

# ---- bulk copies of 128-bit units, with a memory order or without: modeled, as the copies they are ---------------------

CLUSTER = "cta cluster"  # scopes of what stays in a cluster
STRONG: Options = {"order": "relaxed", "scope": SCOPE}
NEAR_BY: Options = {"order": "relaxed", "scope": CLUSTER}
NOTHING: Options = {}
COPY: Options = {"name": "cp.async.bulk"}
TO_SHARED: Options = {**words("shared", "global"), **COPY, "ordered": (("dst", "global", "shared::cta"),)}
BYTES = "mbarrier::complete_tx::bytes"
GROUP = "global.shared::cta.bulk_group"
for order, wide, strong, near in (
    ("", "9.3 sm_90", NOTHING, NOTHING), (".order.scope", "9.3 sm_90a sm_100f sm_110f", STRONG, NEAR_BY),
):  # fmt: skip
    for hint, policy in (("", ""), (".L2::cache_hint", ", policy")):
        to_shared, to_global = f"cp.async.bulk{order}.dst.global.{BYTES}", f"cp.async.bulk{order}.{GROUP}{hint}"
        instruction(
            f"{to_shared}{hint}.b128 [a], [b], n, [c]{policy}", dst="shared::cta", requires=NINE, **strong, **TO_SHARED
        )(global_to_shared)
        for multicast, ctas in (("", ""), (".multicast::cluster", ", ctas")):
            instruction(
                f"{to_shared}{multicast}{hint}.b128 [a], [b], n, [c]{ctas}{policy}", dst="shared::cluster", requires=wide,
                **strong, **TO_SHARED,
            )(global_to_shared)  # fmt: skip
        for mask, bytes_, since in (("", "", NINE), (".cp_mask", ", bytes", "9.3 sm_100")):
            instruction(
                f"{to_global}{mask}.b128 [a], [b], n{policy}{bytes_}", requires=since, **strong, **COPY, **FROM_SHARED
            )(shared_to_global)  # fmt: skip
    instruction(
        f"cp.async.bulk{order}.dst.shared::cta.{BYTES}.b128 [a], [b], n, [c]", dst="shared::cluster",
        ordered=(("dst", "shared::cta"),), requires=NINE, **words("shared"), **COPY, **near,
    )(shared_to_cluster)  # fmt: skip

# ---- reductions with a memory order: modeled, as those without one are --------------------------------------------------

REDUCE: Options = {"name": "cp.reduce.async.bulk", "order": "relaxed", "scope": SCOPE, "requires": NINE}
for op, types in INTO_SHARED.items():
    instruction(
        f"cp.reduce.async.bulk.order.scope.dst.shared::cta.{BYTES}.op.type [a], [b], n, [c]", dst="shared::cluster", op=op,
        type=types, ordered=(("dst", "shared::cta"),), **words("shared", facts=REDUCE_TO_SHARED), **{**REDUCE, "scope": CLUSTER},
    )(reduce_to_cluster)  # fmt: skip
REDUCTIONS = [(op, types, ".op.type") for op, types in INTO_GLOBAL.items()]
REDUCTIONS += [("add", "f16 bf16 f32@9.4:sm_90", ".op.noftz.type")]
for hint, policy in (("", ""), (".L2::cache_hint", ", policy")):
    for op, types, end in REDUCTIONS:
        common: Options = {**REDUCE, **FROM_SHARED, "facts": REDUCE_TO_GLOBAL, "op": op, "type": types}
        instruction(f"cp.reduce.async.bulk.order.scope.{GROUP}{hint}{end} [a], [b], n{policy}", **common)(
            reduce_to_global
        )
    instruction(
        f"cp.reduce.async.bulk.{GROUP}{hint}.add.noftz.f32 [a], [b], n{policy}", name="cp.reduce.async.bulk",
        requires="9.4 sm_90", implies={"op": "add", "type": TYPES["f32"]}, **{**FROM_SHARED, "facts": REDUCE_TO_GLOBAL},
    )(reduce_to_global)  # fmt: skip

# ---- the memory of several GPUs, asynchronously -----------------------------------------------------------------------

SEVERAL: Options = {"name": "multimem.cp.async.bulk", "missing": SEVERAL_GPUS, **FROM_SHARED}
declare(f"multimem.cp.async.bulk{{.weak}}.{GROUP} [a], [b], n", weak=WEAK, requires="9.1 sm_90", **SEVERAL)
declare(
    f"multimem.cp.async.bulk{{.weak}}.{GROUP}.cp_mask [a], [b], n, bytes", weak=WEAK, requires="9.1 sm_100", **SEVERAL
)  # fmt: skip
for order, strong in (("", NOTHING), (".order.scope", STRONG)):
    declare(f"multimem.cp.async.bulk{order}.{GROUP}.b128 [a], [b], n", requires=NINE, **strong, **SEVERAL)
    declare(
        f"multimem.cp.async.bulk{order}.{GROUP}.cp_mask.b128 [a], [b], n, bytes", requires="9.3 sm_100", **strong,
        **SEVERAL,
    )  # fmt: skip
    since = NINE if order else "9.1 sm_90"
    for op, types, end in REDUCTIONS:
        declare(
            f"multimem.cp.reduce.async.bulk{order}.{GROUP}{end} [a], [b], n", name="multimem.cp.reduce.async.bulk", op=op,
            type=types, requires=since, missing=SEVERAL_GPUS, **strong, **FROM_SHARED,
        )  # fmt: skip
RELEASE: Options = {"missing": SEVERAL_GPUS, "scope": "gpu sys", "requires": "9.3 sm_100", "writes": ""}
declare(
    "multimem.st.async.release.scope{.global}.type [a], b", name="multimem.st.async",
    type="b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64", operands={"b": Value("type", wide=True)}, **RELEASE,
)  # fmt: skip
declare(
    "multimem.st.async.release.scope{.global}.type [a], b", name="multimem.st.async", type="f32 f64",
    operands={"b": Reg("type")}, **RELEASE,
)  # fmt: skip
declare(
    "multimem.red.async.release.scope{.global}.add.type [a], b", name="multimem.red.async", type="u32 s32 u64",
    operands={"b": Value("type")}, **RELEASE,
)  # fmt: skip

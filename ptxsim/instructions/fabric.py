"""Operations on the memory of other devices by fabric handles: bound, not modeled. PTX ISA, "Fabric Instructions".

A handle is a 32-bit endpoint and a 64-bit offset in it; completion counters have an offset of their own.
"""

from __future__ import annotations

from typing import Any

from ptxsim.isa.facts import SEVERAL_GPUS
from ptxsim.isa.operand import Addr, Either, Imm, Reg, Value
from ptxsim.isa.registry import Kinds, Options, declare

SINCE = "9.3 sm_100"
HANDLE = Addr("fabric", (Reg("u64"),))
COUNTED = Addr("fabric", (Reg("u64"), Reg("u64")))
KINDS: Kinds = {
    "handle": HANDLE, "place": Addr("shared"), "size": Either((Reg("u32"), Imm(0, multiple=16))), "bar": Addr("shared"),
    "bytes": Value("u16"), "policy": Value("u64"),
}  # fmt: skip
BYTES = ".shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric"
CHUNKS = ".shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric"
HINTS = (("", ""), (".L2::cache_hint", ", policy"))
COPIED = "[handle], [place], size, [bar]"

# Operations and types of what is pushed, of what is pulled, and of atomics.
BITS, EXTREMA = ("and xor or", "b32 b64"), ("min max", "u32 s32 u64 s64 f16 bf16")
PUSHED = (BITS, EXTREMA, ("add", "u32 u64 f16 bf16 f32 f64"))
PULLED = (BITS, EXTREMA, ("add", "u32 u64 f16 bf16 f32"))
SMALL = "e4m3 e5m2"
ATOMIC = (BITS, ("min max", "u32 s32 u64 s64"), ("add", "u32 u64 f32 f64"), ("exch", "b32 b64 b128"))


def form(name: str, rest: str, arguments: str, requires: str = SINCE, **options: Any) -> None:
    name = f"fabric.{name}"
    declared = {"operands": KINDS, **options}
    declare(
        f"{name}{rest} {arguments}".strip(), missing=SEVERAL_GPUS, name=name, requires=requires, writes="", **declared
    )


form("submit", "", "")
form("submit", ".op_restrict::fetching", "")
form("wait", ".sync_restrict::reads", "")
for hint, policy in HINTS:
    form("try_get", f".async{BYTES}{hint}.relaxed.sys.b128", f"[place], [handle], size, [bar]{policy}")
    form("try_put", f".async{{.multimem}}{CHUNKS}{hint}.relaxed.sys.b128", f"{COPIED}{policy}")
    form("try_put", f".async{{.multimem}}{CHUNKS}{hint}.cp_mask.relaxed.sys.b128", f"{COPIED}, bytes{policy}")
    counted: Options = {"operands": KINDS | {"handle": COUNTED}}
    form(
        "try_put", f".async{{.multimem}}{CHUNKS}.counted::bytes{hint}.relaxed.sys.b128", f"{COPIED}{policy}", **counted
    )
    for op, types in PUSHED:
        words: Options = {"op": op, "type": types}
        form("try_red", f".async{{.multimem}}{CHUNKS}{hint}.relaxed.sys.op.type", f"{COPIED}{policy}", **words)
        form(
            "try_red", f".async{{.multimem}}{CHUNKS}.counted::bytes{hint}.relaxed.sys.op.type", f"{COPIED}{policy}", **words,
            **counted,
        )  # fmt: skip
for op, types in ATOMIC:
    form(
        "try_atom", f".async{CHUNKS}.relaxed.sys.op.type", "[handle], [place], [b], [bar]", "9.4 sm_100", op=op, type=types,
        operands={**KINDS, "b": Addr("shared")},
    )  # fmt: skip
PULL: Options = {"operands": KINDS | {"members": Imm(choices=(0xFFFFFFFF,))}}
for rest, types, since in (
    *((f".{word}", types, SINCE) for ops, types in PULLED for word in ops.split()),
    (".add.acc::f32", "f16 bf16", "9.3 sm_100f sm_110f sm_120f"),
    (".add.acc::f16", SMALL, "9.3 sm_100f sm_110f sm_120f"),
    *((f".{word}", SMALL, "9.3 sm_100f sm_110f sm_120f") for word in ("min", "max")),
):
    form(
        "try_pullred", f".async.multimem{BYTES}.relaxed.sys{rest}.type.sync", "[place], [handle], size, [bar], members", since,
        type=types, **PULL,
    )  # fmt: skip

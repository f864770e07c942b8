"""multimem.ld_reduce, multimem.st, multimem.red: bound, not modeled (they address the memory of several GPUs).

PTX ISA, "Data Movement and Conversion Instructions: multimem.ld_reduce, multimem.st, multimem.red".
"""

from __future__ import annotations

from typing import Any

from ptxsim.instructions.access_rules import SCOPE, order_and_scope, vector_size
from ptxsim.isa.facts import SEVERAL_GPUS
from ptxsim.isa.operand import Reg, Value, Vec
from ptxsim.isa.registry import Options, declare

BYTES = "8.6 sm_100a sm_103a sm_110a sm_120a | 8.8 sm_100f sm_110f"
# What a reduction takes: operations, types, and the vectors of each group of types.
INTEGERS = (("add", "u32 s32 u64"), ("min max", "u32 s32 u64 s64"), ("and or xor", "b32 b64"), ("add", "f32 f64"))
PACKED = "f16x2 bf16x2"
SMALL = "e5m2x4 e4m3x4"
FLOAT_VECTORS = (("add", "v2 v4", "f32"), ("add min max", "v2 v4", PACKED), ("add min max", "v2 v4 v8", "f16 bf16"))
SMALL_VECTORS = (("v2 v4", SMALL), ("v2 v4 v8", "e5m2x2 e4m3x2"))

SCALAR: Options = {"operands": {"d": Reg("type"), "b": Value("type")}}
VECTOR: Options = {"operands": {"d": Vec("vec", Reg("type")), "b": Vec("vec", Reg("type"))}}
ORDER = {"scope": SCOPE}
LOAD = {**ORDER, "name": "multimem.ld_reduce", "order": "weak relaxed acquire"}
STORE = {**ORDER, "name": "multimem.st", "order": "weak relaxed release"}
REDUCE = {**ORDER, "name": "multimem.red", "order": "relaxed release"}


def form(words: Options, rest: str, arguments: str, requires: str = "8.1 sm_90", **options: Any) -> None:
    rules = (order_and_scope, vector_size) if "vec" in options else (order_and_scope,)
    declare(
        f"{words['name']}{{.order}}{{.scope}}{{.global}}{rest} {arguments}", missing=SEVERAL_GPUS, requires=requires, rules=rules,
        **options, **words,
    )  # fmt: skip


for op, types in (*INTEGERS, ("add min max", PACKED)):
    form(LOAD, ".op.type", "d, [a]", op=op, type=types, **SCALAR)
for op, types in (*INTEGERS, ("add", PACKED)):
    form(REDUCE, ".op.type", "[a], b", op=op, type=types, **SCALAR)
for op, lengths, types in FLOAT_VECTORS:
    form(LOAD, ".op.vec.type", "d, [a]", op=op, vec=lengths, type=types, **VECTOR)
    form(REDUCE, ".op.vec.type", "[a], b", op=op, vec=lengths, type=types, **VECTOR)
    form(STORE, ".vec.type", "[a], b", vec=lengths, type=types, **VECTOR)
form(LOAD, ".add.acc::f32.type", "d, [a]", "8.2 sm_90", type=PACKED, **SCALAR)
form(LOAD, ".add.acc::f32.vec.type", "d, [a]", "8.2 sm_90", vec="v2 v4", type=PACKED, **VECTOR)
form(LOAD, ".add.acc::f32.vec.type", "d, [a]", "8.2 sm_90", vec="v2 v4 v8", type="f16 bf16", **VECTOR)
form(STORE, ".type", "[a], b", type=f"b32 b64 u32 u64 s32 s64 f32 f64 {PACKED}", **SCALAR)

form(LOAD, ".op.type", "d, [a]", BYTES, op="add min max", type=SMALL, **SCALAR)
form(LOAD, ".add.acc::f16.type", "d, [a]", BYTES, type=SMALL, **SCALAR)
form(STORE, ".type", "[a], b", BYTES, type=SMALL, **SCALAR)
for lengths, types in SMALL_VECTORS:
    form(LOAD, ".op.vec.type", "d, [a]", BYTES, op="add min max", vec=lengths, type=types, **VECTOR)
    form(LOAD, ".add.acc::f16.vec.type", "d, [a]", BYTES, vec=lengths, type=types, **VECTOR)
    form(STORE, ".vec.type", "[a], b", BYTES, vec=lengths, type=types, **VECTOR)

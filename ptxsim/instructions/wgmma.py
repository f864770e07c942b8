"""wgmma: matrix products of a warpgroup. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

The effects here are the interpreter's; the products in flight are records of machine.warpgroup, which native code uses too
(engine.compiled.codegen.warpgroup) where no way through a program breaks the rules of fences and registers in flight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptxsim.instructions.mma import FP8
from ptxsim.isa.facts import ASSEMBLER, Access, AccessKind, Facts, Mechanism, Proxy, Role, Scope, Synchronisation, Words
from ptxsim.isa.operand import Either, Imm, Kind, Pred, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine import async_product as unit
from ptxsim.machine.fault import KEEP
from ptxsim.machine.port import Port
from ptxsim.machine.product import Product, product_of, register_type
from ptxsim.machine.tensor import check_metadata
from ptxsim.types import TYPES

Rows = list[tuple[Any, ...]]
EVERY_8 = tuple(range(8, 257, 8))
SAME = "all lanes of the warpgroup give wgmma the same descriptors and scale-d"
EVERY_16 = (8, 16, 24, 32, *range(48, 257, 16))

# K, types of A, types of B, types of D, values of N, operands after scale-d, words before the types; then since when.
DENSE: Rows = [
    (16, "f16", "f16", "f16 f32", EVERY_8, "trans", "", "8.0"),
    (16, "bf16", "bf16", "f32", EVERY_8, "trans", "", "8.0"),
    (8, "tf32", "tf32", "f32", EVERY_8, "scale", "", "8.0"),
    (32, FP8, FP8, "f16 f32", EVERY_8, "scale", "", "8.0"),
    (32, "s8", "s8 u8@8.4", "s32", EVERY_16, "", "{.satfinite}", "8.0"),
    (32, "u8", "u8 s8@8.4", "s32", EVERY_16, "", "{.satfinite}", "8.0"),
    (256, "b1", "b1", "s32", EVERY_16, "", ".and.popc", "8.0"),
]
# The same for the sparse forms, and the largest selector.
SPARSE: Rows = [
    (2 * k, a, b, d, n, after, words, "8.2", {16: 1, 8: 1}.get(k, 0)) for k, a, b, d, n, after, words, _ in DENSE[:-1]
]


def product(sparse: bool) -> Any:
    """The fact of dense or sparse forms."""

    def found(words: Words, target: str, numerics: str) -> Product:
        d, a, b = (words[slot].name for slot in ("dtype", "atype", "btype"))
        return product_of(
            "wgmma", words["shape"], (d, a, b, d), target, sparse=sparse, satfinite=bool(words.get("satfinite")),
            numerics_mode=numerics,
        )  # fmt: skip

    return found


def accesses(_words: Words) -> tuple[Access, ...]:
    return (Access(AccessKind.READ, "shared", proxy=Proxy.ASYNC),)


DENSE_PRODUCT, SPARSE_PRODUCT = (
    Facts(
        family="wgmma",
        scope=Scope.WARPGROUP,
        accesses=accesses,
        completes_by=Mechanism.PRODUCT_GROUP,
        product=product(sparse),
    )
    for sparse in (False, True)
)
FENCES, COMMITS, WAITS = (
    Facts(family=family, scope=Scope.WARPGROUP, synchronises=Synchronisation(Mechanism.PRODUCT_GROUP, role))
    for family, role in (
        ("warpgroup_fence", Role.FENCE),
        ("warpgroup_commit", Role.COMMIT),
        ("warpgroup_wait", Role.WAIT),
    )
)


def wgmma_mma_async(
    m: Port, a: LaneValue, b: LaneValue, p: LaneValue, sa: LaneValue, sb: LaneValue, ta: LaneValue, tb: LaneValue
) -> LaneValue:
    """The immediates are the instruction's (machine.async_product.MmaAsync)."""
    return _issue(m, a, b, p, None)


def wgmma_mma_async_sparse(
    m: Port, a: LaneValue, b: LaneValue, e: LaneValue, f: LaneValue, p: LaneValue, sa: LaneValue, sb: LaneValue,
    ta: LaneValue, tb: LaneValue,
) -> LaneValue:  # fmt: skip
    check_metadata(m, m.product(), e, f, ordered=False)
    return _issue(m, a, b, p, e)


def _issue(m: Port, a: LaneValue, b: LaneValue, p: LaneValue, metadata: LaneValue) -> LaneValue:
    descriptors = 0 if isinstance(a, list) else _descriptor(m, "A", a), _descriptor(m, "B", b)
    # The tensor core replaces the accumulators later.
    return unit.start(m, *descriptors, bool(m.uniform(p, "scale-d", SAME)), metadata) or KEEP


def _descriptor(m: Port, operand: str, value: LaneValue) -> int:
    descriptor = m.uniform(value, f"descriptor of {operand}", SAME)
    replaced = m.machine.replace_descriptor
    return descriptor if replaced is None else replaced(operand, descriptor)


def _factor_type(element: str) -> str:
    """The type of A's registers: floats of whatever size lie in those of packed halves, integers in any."""
    return "f16x2" if TYPES[element].is_float else "b32"


def declare_row(
    odd_word: Kind | None, k: int, a: str, b: str, d: str, ns: Any, after: str, words: str, since: str,
    selector: int | None = None,
) -> None:  # fmt: skip
    """Declare a row of a table: A from registers and from memory. With `odd_word`, the kind of the metadata (and
    predicates among the registers of integers), forms that are not modeled."""
    sparse = selector is not None
    name, family = "wgmma.mma_async", "wgmma.sp" if sparse else "wgmma"
    sp, metadata = (".sp", ", e, f") if sparse else ("", "")
    effect = None if odd_word else wgmma_mma_async_sparse if sparse else wgmma_mma_async
    facts = SPARSE_PRODUCT if sparse else DENSE_PRODUCT

    def count(operand: str, slot: str) -> Any:
        return lambda modifiers: fragment_layout(family, modifiers["shape"], operand, modifiers[slot].name).registers

    kinds: Kinds = {
        "d": Vec(count("D", "dtype"), Reg(lambda modifiers: register_type(modifiers["dtype"].name), unpacked=True)),
        "b": Value("u64"), "p": Either((Pred(negatable=True), Imm(0, 1))),
        "e": odd_word or Reg("b32"), "f": Imm(0, selector or 0),
        **{name: Imm(choices=(-1, 1)) for name in ("sa", "sb")}, **{name: Imm(0, 1) for name in ("ta", "tb")},
    }  # fmt: skip
    element: Reg | Either = Reg(lambda modifiers: _factor_type(modifiers["atype"].name))
    if odd_word and d == "s32":
        element = Either((element, Pred()))
    for source, kind in (("registers", Vec(count("A", "atype"), element)), ("descriptor", Value("u64"))):
        tail = {"": "", "scale": ", sa, sb", "trans": ", sa, sb, tb" if source == "registers" else ", sa, sb, ta, tb"}
        instruction(
            f"{name}{sp}.sync{{.aligned}}.shape{words}.dtype.atype.btype d, a, b{metadata}, p{tail[after]}",
            name=name, requires=f"{since} sm_90a", facts=replace(facts, missing=ASSEMBLER) if odd_word else facts, operands=kinds | {"a": kind},
            ordered=(("and", "popc"),), shape=" ".join(f"m64n{n}k{k}" for n in ns), dtype=d, atype=a, btype=b,
        )(effect)  # fmt: skip


for _row in DENSE + SPARSE:
    declare_row(None, *_row)


@instruction("wgmma.fence.sync{.aligned}", cost="nothing", name="wgmma.fence", requires="8.0 sm_90a", facts=FENCES)
def wgmma_fence(m: Port) -> None:
    unit.fence(m)


@instruction("wgmma.commit_group.sync{.aligned}", name="wgmma.commit_group", requires="8.0 sm_90a", facts=COMMITS)
def wgmma_commit_group(m: Port) -> None:
    unit.commit(m)


@instruction(
    "wgmma.wait_group.sync{.aligned} n", name="wgmma.wait_group", requires="8.0 sm_90a", facts=WAITS,
    operands={"n": Imm(0, 0xFFFFFFFF)}, writes="",
)  # fmt: skip
def wgmma_wait_group(m: Port, n: LaneValue) -> None:
    unit.wait(m, n)

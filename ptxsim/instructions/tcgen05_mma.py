"""Products on tensor memory. PTX ISA, "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws"."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ptxsim.instructions.tcgen05 import FAMILY, GROUP, ctas_of
from ptxsim.instructions.tcgen05_move import EXACT
from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Proxy, Word, Words
from ptxsim.isa.operand import Addr, Either, Imm, Pred, Value, Vec
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.instruction_descriptor import decode
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory.cells import group_of
from ptxsim.machine.tensor_memory.core import core_of, read_tiles
from ptxsim.machine.tensor_memory.product import TensorProduct, legal
from ptxsim.machine.tile import check_tile

TILE = Addr("tensor", untyped=True)


def accesses(_words: Words) -> tuple[Access, ...]:
    return (Access(AccessKind.READ, "shared", proxy=Proxy.ASYNC),)


def trust(words: Words, _recorded: bool) -> str:
    """Integers leave nothing open. MMA-Sim models no `.ws`, no pairs of CTAs, and of f8f6f4 neither e2m3 nor e3m2: they follow the rule of
    their kind (docs/limits.md)."""
    return "exact" if words["kind"] == "kind::i8" else "modeled"


FACTS = Facts(family="tensor_product", accesses=accesses, completes_by=Mechanism.MBARRIER, fidelity=trust)

PLAIN = "kind::f16 kind::tf32 kind::f8f6f4 kind::i8@8.6:sm_100a:sm_110a"
SCALED = (
    ("kind::mxf8f6f4", "", "8.8 sm_100f sm_110f"),
    ("kind::mxf8f6f4", ".scale_vec::1X", EXACT),
    ("kind::mxf8f6f4", ".block32", "8.8 sm_100f sm_110f"),
    ("kind::mxf4", "", "8.8 sm_100f sm_110f"),
    ("kind::mxf4", ".scale_vec::2X", EXACT),
    ("kind::mxf4", ".block32", "8.8 sm_100f sm_110f"),
    ("kind::mxf4nvf4", ".scale_vec::2X", EXACT.replace("8.6", "8.7")),
    ("kind::mxf4nvf4", ".scale_vec::4X", EXACT.replace("8.6", "8.7")),
    ("kind::mxf4nvf4", ".block16", "8.8 sm_100f sm_110f"),
    ("kind::mxf4nvf4", ".block32", "8.8 sm_100f sm_110f"),
)
USES = ("fill", "use", "lastuse", "discard")
COLLECTOR_A = " ".join(f"collector::a::{use}" for use in USES)
COLLECTOR_B = " ".join(f"collector::b{n}::{use}" for n in range(4) for use in USES)
PRODUCT: Kinds = {
    "a": Either((Value("u64"), TILE)), "b": Value("u64"), "idesc": Value("u32"),
    "enable": Pred(negatable=True, immediate=True),
    "d": TILE, "meta": TILE, "sa": TILE, "sb": TILE, "lanes": Vec(lambda modifiers: 8 if modifiers["cta_group"] == "cta_group::2" else 4, Value("b32")),
    "scale": Imm(0, 15), "columns": Value("u64"),
}  # fmt: skip
IN_MEMORY: Kinds = {**PRODUCT, "a": TILE}


# Scales of a row, by the words for them.
VECTORS = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4, "block16": 4, "block32": 2}


def product(
    m: Port, d: LaneValue, a: LaneValue, b: LaneValue, meta: LaneValue, idesc: LaneValue, sa: LaneValue, sb: LaneValue, lanes: LaneValue,
    enable: LaneValue, scale: LaneValue, columns: LaneValue, *, cta_group: str, kind: str, ws: bool, sparse: bool, blocks: int,
    ashift: Word,
) -> None:  # fmt: skip
    """Every executing lane starts one."""
    assert m.op is not None
    from_memory, ctas = not hasattr(m.op.source("a"), "type"), ctas_of(cta_group)
    group = group_of(m, ctas)
    for lane in map(int, np.flatnonzero(m.mask)):
        mask = 0 if columns is None else int(columns[lane])
        given = decode(int(idesc[lane]), kind.removeprefix("kind::"))
        words = legal(given, ctas, ws, sparse, bool(ashift), mask, blocks)
        one = TensorProduct(
            words, int(d[lane]), int(a[lane]), int(b[lane]), bool(np.broadcast_to(enable, 32)[lane]), from_memory, ws, scale or 0,
            sum(int(word[lane]) << 32 * i for i, word in enumerate(lanes or ())), ctas, int(meta[lane]) if sparse else 0,
            (int(sa[lane]), int(sb[lane])) if blocks else None, blocks, bool(ashift), mask,
        )  # fmt: skip
        for tile in one.tiles:
            check_tile(m, tile)
        port = snapshot(m, np.arange(32) == lane)
        read_tiles(port, one.tiles, group)
        core_of(m.cta).issue(port, partial(one.run, port), one.uses(port), one.load)


def form(
    notation: str, *, ws: bool = False, sparse: bool = False, blocks: int = 0, moves: bool = False, **options: Any
) -> None:  # fmt: skip
    """Declare a notation; `implies` tells the effect what no word says."""
    implied = {"ws": ws, "sparse": sparse, "blocks": blocks, "ashift": moves, **options.pop("implies", {})}
    instruction(notation, facts=FACTS, writes="", implies=implied, **options)(product)


for sparse, metadata in ((False, ""), (True, "[meta], ")):
    name = f"tcgen05.mma{'.sp' if sparse else ''}"
    for lanes in ("", "lanes, "):
        for scale, kinds, since in (("", PLAIN, FAMILY), (", scale", "kind::f16 kind::tf32", "8.6 sm_100f")):
            operands = f"[d], a, b, {metadata}idesc, {lanes}enable{scale}"
            words: Options = {"name": name, "kind": kinds, "requires": since, **GROUP}
            form(
                f"{name}.cta_group.kind{{.collector}} {operands}", sparse=sparse, collector=COLLECTOR_A, operands=PRODUCT, **words
            )  # fmt: skip
            form(
                f"{name}.cta_group.kind.ashift{{.collector}} {operands}", sparse=sparse, moves=True,
                collector="collector::a::lastuse collector::a::discard", operands=IN_MEMORY, **words,
            )  # fmt: skip
    for kind, vector, since in SCALED:
        if sparse and kind in ("kind::mxf4", "kind::mxf4nvf4"):
            since = EXACT.replace("8.6", since[:3])
        count = 1 if kind == "kind::mxf8f6f4" else VECTORS.get(vector[1:], 2)
        form(
            f"{name}.cta_group.{kind}.block_scale{vector}{{.collector}} [d], a, b, {metadata}idesc, [sa], [sb], enable",
            sparse=sparse, blocks=count, name=name, collector=COLLECTOR_A, operands=PRODUCT, requires=since,
            implies={"kind": kind}, **GROUP,
        )  # fmt: skip
    for columns in ("", ", columns"):
        form(
            f"tcgen05.mma.ws{name[11:]}.cta_group::1.kind{{.collector}} [d], a, b, {metadata}idesc, enable{columns}",
            ws=True, sparse=sparse, name=f"tcgen05.mma.ws{name[11:]}", kind=PLAIN, collector=COLLECTOR_B,
            operands=PRODUCT, requires=FAMILY, implies={"cta_group": "cta_group::1"},
        )  # fmt: skip

"""tensormap.replace and tensormap.cp_fenceproxy: tensor maps edited by the kernel itself.

PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy". Both take the slow path on the compiled engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Role, Synchronisation, Word, Words, access
from ptxsim.isa.facts import Scope as ThreadScope
from ptxsim.isa.operand import Addr, Imm, Value
from ptxsim.isa.registry import Options, instruction
from ptxsim.lanes import LANES, LaneValue
from ptxsim.machine.asynchronous import cluster_addresses
from ptxsim.machine.barriers.mbarrier import per_lane
from ptxsim.machine.copies.driver_map import ours
from ptxsim.machine.copies.tensor_map import DECLARED, SIZE, field_place
from ptxsim.machine.event import FLAG_TENSORMAP, Event, Proxy, Scope, Space
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import check_alignment, gather, scatter
from ptxsim.machine.port import Port

SINCE = "8.3 sm_90a sm_100f sm_110f sm_120f"
BLACKWELL = "sm_100f sm_110f sm_120f"


def _replaced(words: Words) -> tuple[Access, ...]:
    return (access(AccessKind.WRITE, words["space"]),)


def _copied(_words: Words) -> tuple[Access, ...]:
    return access(AccessKind.READ, "shared"), access(AccessKind.WRITE, "global")


REPLACES = Facts(family="tensormap", cost="nothing", accesses=_replaced)
PUBLISHES = Facts(
    family="tensormap", cost="nothing", scope=ThreadScope.WARP, accesses=_copied,
    synchronises=Synchronisation(Mechanism.FENCE, Role.FENCE),
)  # fmt: skip
WORD = Value(lambda modifiers: "u32")  # bits are asked for and integers are meant


def replace(m: Port, a: LaneValue, ordinal: LaneValue, value: LaneValue, *, space: Word, field: Word) -> None:
    offset, size = field_place(field, ordinal or 0)
    numbers = per_lane(value).astype(np.uint64)
    too_wide = m.mask & (numbers >> np.uint64(8 * size - 1) > 1)
    if too_wide.any():
        lane = int(np.argmax(too_wide))
        raise Fault(
            "illegal-instruction", f"tensormap.replace.{field} with {int(numbers[lane])}, which no map can hold", lane
        )
    check_alignment(a, m.mask, 64, "tensor map", DECLARED)
    data = np.ascontiguousarray(numbers).view(np.uint8).reshape(LANES, 8)[:, :size]
    for kind, memory, offsets, mask in m.resolve(space, a, SIZE, write=True):
        if kind == Space.LOCAL:
            raise Fault(
                "wrong-space", "a tensor map is modified in .shared or .global memory, here is a local address",
                int(np.argmax(mask)), "copy the map to a variable in .shared",
            )  # fmt: skip
        addresses = a if kind == Space.GLOBAL else cluster_addresses(m, memory, offsets) + np.uint64(offset)
        width, flags = (SIZE, FLAG_TENSORMAP) if kind == Space.GLOBAL else (size, 0)
        m.emit(Event.STORE, kind, width, flags, mask, addresses)
        _make_ours(memory, offsets, mask)
        scatter(memory, offsets + np.uint64(offset), mask, data)


def _make_ours(memory: np.ndarray, offsets: LaneValue, mask: LaneValue) -> None:
    """Maps that host code has written in the driver's format get the one that is edited here."""
    maps = gather(memory, offsets, mask, SIZE)
    for lane in np.flatnonzero(mask):
        kept = maps[lane].tobytes()
        maps[lane] = np.frombuffer(ours(kept), np.uint8)
        if maps[lane].tobytes() != kept:
            scatter(memory, offsets, np.arange(LANES) == lane, maps)


def _forms() -> None:
    words: Options = {
        "name": "tensormap.replace", "facts": REPLACES, "writes": "", "space": "global shared::cta", "mode": "tile",
    }  # fmt: skip
    opcode = "tensormap.replace.mode.field{.space}.b1024"

    def add(field: str, operands: str, type: str, since: str = SINCE, **kinds: Any) -> None:
        instruction(
            f"{opcode}.{type} [a]{operands}", requires=since, field=field, operands=kinds | {"a": Addr(whole=True)}, **words
        )(replace)  # fmt: skip

    add("global_address", ", value", "b64", value=Value("b64"))
    add("rank", ", value", "b32", value=Value("b32"))
    for field, type in (("box_dim", "b32"), ("global_dim", "b32"), ("element_stride", "b32"), ("global_stride", "b64")):
        add(field, ", ordinal, value", type, ordinal=Imm(0, 4), value=Value(type) if type == "b64" else WORD)
    add("elemtype", ", value", "b32", value=Imm(0, 12))
    add("elemtype", ", value", "b32", f"8.7 {BLACKWELL}", value=Imm(13, 15))
    add("interleave_layout", ", value", "b32", value=Imm(0, 2))
    add("swizzle_mode", ", value", "b32", value=Imm(0, 3))
    add("swizzle_mode", ", value", "b32", "8.8 sm_103a", value=Imm(4, 4))
    add("swizzle_atomicity", ", value", "b32", f"8.6 {BLACKWELL}", value=Imm(0, 3))
    add("fill_mode", ", value", "b32", value=Imm(0, 1))


_forms()


@instruction(
    "tensormap.cp_fenceproxy.dst.src.tensormap::generic.release.scope.sync.aligned [a], [b], size",
    name="tensormap.cp_fenceproxy", requires="8.3 sm_90", facts=PUBLISHES, writes="", dst="global", src="shared::cta",
    scope="cta cluster gpu sys", operands={"a": Addr("global"), "b": Addr("shared"), "size": Imm(choices=(SIZE,))}, ordered=(("dst", "src"),),
)  # fmt: skip
def cp_fenceproxy(m: Port, a: LaneValue, b: LaneValue, size: LaneValue, *, scope: Word) -> None:
    """The warp as one copies the map to global memory and publishes it to the tensormap proxy."""
    check_alignment(a, m.mask, SIZE, "tensormap.cp_fenceproxy write")
    check_alignment(b, m.mask, SIZE, "tensormap.cp_fenceproxy read")
    data = np.zeros((LANES, SIZE), np.uint8)
    for kind, memory, offsets, mask in m.resolve("shared::cta", b, SIZE):
        m.emit(Event.LOAD, kind, SIZE, 0, mask, cluster_addresses(m, memory, offsets))
        data[mask] = gather(memory, offsets, mask, SIZE)[mask]
    for kind, memory, offsets, mask in m.resolve("global", a, SIZE, write=True):
        m.emit(Event.STORE, kind, SIZE, FLAG_TENSORMAP, mask, a)
        scatter(memory, offsets, mask, data)
    m.emit(Event.FENCE, addresses=[Scope[scope.upper()], Proxy.TENSORMAP])

"""cp.async.bulk.tensor: one thread moves a box of a tensor between global and shared memory.

PTX ISA, "Data Movement and Conversion Instructions: Tensor copy". They take the slow path on the compiled engine,
and what they begin lands later (machine.bulk).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptxsim.instructions.bulk_copy import copies, load_to_shared
from ptxsim.isa.facts import Access, AccessKind, Facts, Proxy, Word, Words
from ptxsim.isa.operand import Addr, Value, Vec
from ptxsim.isa.registry import Kinds, Options, declare, instruction
from ptxsim.lanes import LANES, LaneValue
from ptxsim.machine.asynchronous import owner_of, snapshot
from ptxsim.machine.bulk import BulkCopies, BulkCopy, SharedTile, combine
from ptxsim.machine.event import FLAG_TENSORMAP, Event
from ptxsim.machine.fault import Fault
from ptxsim.machine.mbarrier import each, per_lane
from ptxsim.machine.memory import check_alignment, gather
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_map import SIZE, TensorDescription, decode
from ptxsim.machine.tensor_tile import GlobalTile, box_tile, gathered_tile, im2col_tile

DIMENSIONS = "1d 2d 3d 4d 5d"
IM2COL = "3d 4d 5d"
BLACKWELL = "8.6 sm_100a | 8.8 sm_100f | 9.0 sm_110f"


def _with_map(facts: Facts) -> Facts:
    """The same, reading its tensor map too."""

    def accesses(words: Words) -> tuple[Access, ...]:
        return *facts.accesses(words), Access(AccessKind.READ, None, proxy=Proxy.TENSORMAP)

    return replace(facts, accesses=accesses)


LOAD = _with_map(copies("tensor_copy", "shared", "global"))
STORE = _with_map(copies("tensor_copy", "global", "shared"))
REDUCTION = _with_map(copies("tensor_copy", "global", "shared", AccessKind.ATOMIC))
PREFETCH = _with_map(Facts(family="tensor_prefetch"))


def _coordinates(count: LaneValue = "dim") -> Addr:
    return Addr("global", (Vec(count, Value("s32")),))


def _offsets(modifiers: Words) -> int:
    return int(str(modifiers["dim"])[0]) - 2


KINDS: Kinds = {
    "a": Addr("shared"), "b": Addr("shared"), "c": Addr("shared"), "policy": Value("u64"), "ctas": Value("u16"), "offsets": Vec(_offsets, Value("u16")), "t": _coordinates(),
}  # fmt: skip


# ---- what a lane names -----------------------------------------------------------------------------------------------


def description(m: Port, lane: int, address: np.ndarray) -> TensorDescription:
    """The tensor map at a lane's address. Raises Fault `illegal-instruction` for bytes that are none."""
    one = snapshot(m, np.arange(LANES) == lane)
    check_alignment(address, one.mask, 64, "tensor map")
    for kind, memory, offsets, mask in one.resolve(None, address, SIZE):
        one.emit(Event.ASYNC_READ, kind, SIZE, FLAG_TENSORMAP, mask, address)
        data = gather(memory, offsets, mask, SIZE)[lane].tobytes()
    maps = m.machine.tensor_maps
    found = maps.get(data)
    if found is None:
        try:
            found = maps[data] = decode(data)
        except ValueError as error:
            raise Fault(
                "illegal-instruction", f"the 128 bytes at {int(address[lane]):#x} are no tensor map: {error}", lane,
                "pass a ptxsim.TensorMap, or set every field with tensormap.replace",
            ) from None  # fmt: skip
    return found


def global_tile(
    m: Port, lane: int, tensor: list[LaneValue], dim: str, mode: str | None, offsets: LaneValue = None
) -> tuple[TensorDescription, GlobalTile]:
    """The box that a lane's tensor operand `[map, {coordinates}]` names."""
    address, coordinates = tensor
    t = description(m, lane, address)
    at = tuple(int(per_lane(c)[lane]) for c in coordinates)
    if t.rank != int(dim[0]):
        raise Fault("illegal-instruction", f".{dim} copy with a tensor map of {t.rank} dimensions", lane)
    im2col = mode is not None and mode.startswith("im2col")
    if im2col != (t.lower_corner is not None):
        raise Fault(
            "illegal-instruction", f"an {'im2col' if im2col else 'tiled'} copy with the other kind of tensor map", lane,
            "encode the map for the mode of the instruction",
        )  # fmt: skip
    memory = m.machine.memory
    if mode in ("tile::gather4", "tile::scatter4"):
        return t, gathered_tile(memory, t, at[0], at[1:], lane)
    if im2col:
        taps = tuple(int(per_lane(o)[lane]) & 0xFFFF for o in offsets) if offsets else (0,) * (t.rank - 2)
        return t, im2col_tile(memory, t, at, taps, lane)
    return t, box_tile(memory, t, at, lane)


def shared_tile(
    m: Port, lane: int, space: str, address: np.ndarray, tile: GlobalTile, t: TensorDescription, write: bool
) -> SharedTile:
    """The place of a tile in shared memory; its bytes are permuted as the map says."""
    one = snapshot(m, np.arange(LANES) == lane)
    check_alignment(address, one.mask, 128, "tile in shared memory")
    place = SharedTile(m.cta, 0, tile.size, t.swizzle, tile.row_bytes)
    for _, memory, offsets, _ in one.resolve(space, address, place.extent, write=write):
        place.cta, place.start = owner_of(m, memory), int(offsets[lane])
        return place
    raise AssertionError("a lane names one memory")


# ---- loads -----------------------------------------------------------------------------------------------------------


def load(
    m: Port, a: LaneValue, t: list[LaneValue], c: LaneValue, offsets: LaneValue, ctas: LaneValue, *, dim: Word,
    dst: Word, mode: Word,
) -> None:  # fmt: skip
    for lane, barrier in each(m, dst, c):
        tensor, source = global_tile(m, lane, t, dim, mode, offsets)
        target = shared_tile(m, lane, dst, a, source, tensor, write=True)
        load_to_shared(m, lane, source, target, barrier, ctas)


def _load_forms() -> None:
    name = "cp.async.bulk.tensor"
    hints = (("", ""), (".L2::cache_hint", ", policy"))
    words: Options = {"name": name, "facts": LOAD, "writes": "", "ordered": (("dst", "global"),)}
    for group, groups in (("", {}), (".cta_group", {"cta_group": "cta_group::1 cta_group::2"})):
        since = BLACKWELL if group else "8.0 sm_90"
        for casts in ("", ".multicast::cluster"):
            dst = "shared::cluster" if casts else "shared::cluster shared::cta@8.6"
            for hint, policy in hints:
                end = f".mbarrier::complete_tx::bytes{casts}{group}{hint}"
                tail = (", ctas" if casts else "") + policy
                common: Options = dict(words, dst=dst, **groups)
                _add(
                    load,
                    f"{name}.dim.dst.global{{.mode}}{end} [a], [t], [c]{tail}",
                    since,
                    dim=DIMENSIONS,
                    mode="tile",
                    **common,
                )
                _add(
                    load,
                    f"{name}.dim.dst.global.mode{end} [a], [t], [c], offsets{tail}",
                    since,
                    dim=IM2COL,
                    mode="im2col",
                    **common,
                )
                _add(
                    load, f"{name}.dim.dst.global.mode{end} [a], [t], [c]{tail}", BLACKWELL, dim="2d", mode="tile::gather4",
                    kinds={"t": _coordinates(5)}, **dict(common, dst="shared::cluster"),
                )  # fmt: skip
                if not casts:
                    _add(
                        load, f"{name}.dim.dst.global.mode{end} [a], [t], [c]{tail}", BLACKWELL if group else "8.6 sm_100",
                        dim="2d", mode="tile::gather4", kinds={"t": _coordinates(5)}, **dict(common, dst="shared::cta"),
                    )  # fmt: skip
                _add(
                    None, f"{name}.dim.dst.global.mode{end} [a], [t], [c], offsets{tail}", BLACKWELL, dim=IM2COL,
                    mode="im2col::w im2col::w::128", kinds={"offsets": Vec(2, Value("u16"))}, **common,
                )  # fmt: skip


def _add(effect: Any, notation: str, since: str, kinds: Any = None, **words: Any) -> None:
    instruction(notation, requires=since, operands={**KINDS, **(kinds or {})}, **words)(effect)


# ---- stores and reductions -------------------------------------------------------------------------------------------


# Which element types each reduction takes; measured on sm_90, the others fault.
REDUCTIONS = {
    "add": "u32 s32 u64 f16 bf16 f32 f32.ftz f64 tf32 tf32.ftz",
    **dict.fromkeys(("min", "max"), "u32 s32 u64 s64 f16 bf16"),
    **dict.fromkeys(("inc", "dec"), "u32"),
    **dict.fromkeys(("and", "or", "xor"), "u32 s32 u64"),
}


def reduction(op: str, t: TensorDescription, lane: int) -> LaneValue:
    """How old and incoming bytes of a tensor combine. Raises Fault where the element type has no such reduction."""
    if t.type.name not in REDUCTIONS[op].split():
        raise Fault(
            "illegal-instruction", f"cp.reduce .{op} on a tensor of {t.type.name}", lane, f"it takes {REDUCTIONS[op]}"
        )
    return combine(op, t.type.numpy, flush=t.type.name.endswith(".ftz"))


def check_store(t: TensorDescription, lane: int) -> None:
    """Raise for an im2col map that cannot be stored through; measured on sm_90."""
    if min((*(t.lower_corner or ()), *(-c for c in t.upper_corner)), default=0) < 0:
        raise Fault(
            "illegal-instruction", "an im2col store with a pixels' bounding box that leaves the tensor", lane,
            "store with a map whose lower corners are not negative and upper corners not positive",
        )  # fmt: skip


def _to_global(m: Port, t: list[LaneValue], b: LaneValue, dim: Word, mode: Word, reduce: Any = None) -> None:
    copies = BulkCopies.of(m.warp)
    for lane in map(int, np.flatnonzero(m.mask)):
        tensor, target = global_tile(m, lane, t, dim, "im2col" if mode == "im2col_no_offs" else mode)
        source = shared_tile(m, lane, "shared::cta", b, target, tensor, write=False)
        check_store(tensor, lane)
        combined = reduction(reduce, tensor, lane) if reduce else None
        copies.issue(BulkCopy(snapshot(m), lane, source, replace(target, tf32=False), combined))


def store(m: Port, t: list[LaneValue], b: LaneValue, *, dim: Word, mode: Word) -> None:
    _to_global(m, t, b, dim, mode)


def reduce_tensor(m: Port, t: list[LaneValue], b: LaneValue, *, dim: Word, mode: Word, op: Word) -> None:
    _to_global(m, t, b, dim, mode, op)


def _store_forms() -> None:
    for name, effect, op, ops, facts in (
        ("cp.async.bulk.tensor", store, "", {}, STORE),
        ("cp.reduce.async.bulk.tensor", reduce_tensor, ".op", {"op": "add min max inc dec and or xor"}, REDUCTION),
    ):
        words: Options = {
            "name": name,
            "facts": facts,
            "writes": "",
            "ordered": (("global", "shared::cta"),),
            **ops,
        }
        for hint, policy in (("", ""), (".L2::cache_hint", ", policy")):
            end = f".bulk_group{hint} [t], [b]{policy}"
            opcode = f"{name}.dim.global.shared::cta{op}"
            _add(effect, f"{opcode}{{.mode}}{end}", "8.0 sm_90", dim=DIMENSIONS, mode="tile", **words)
            _add(effect, f"{opcode}.mode{end}", "8.0 sm_90", dim=IM2COL, mode="im2col_no_offs", **words)
            if not op:
                _add(
                    effect,
                    f"{opcode}.mode{end}",
                    BLACKWELL,
                    dim="2d",
                    mode="tile::scatter4",
                    kinds={"t": _coordinates(5)},
                    **words,
                )


# ---- prefetch --------------------------------------------------------------------------------------------------------


def prefetch(m: Port, t: list[LaneValue], offsets: LaneValue, *, dim: Word, mode: Word) -> None:
    """Caches are not modeled; the tensor map is checked."""
    for lane in map(int, np.flatnonzero(m.mask)):
        global_tile(m, lane, t, dim, mode, offsets)


def _prefetch_forms() -> None:
    name = "cp.async.bulk.prefetch.tensor"
    words: Options = {"name": name, "facts": PREFETCH, "writes": ""}
    for hint, policy in (("", ""), (".L2::cache_hint", ", policy")):
        opcode = f"{name}.dim.L2.global"
        _add(prefetch, f"{opcode}{{.mode}}{hint} [t]{policy}", "8.0 sm_90", dim=DIMENSIONS, mode="tile", **words)
        _add(prefetch, f"{opcode}.mode{hint} [t], offsets{policy}", "8.0 sm_90", dim=IM2COL, mode="im2col", **words)
        _add(
            prefetch,
            f"{opcode}.mode{hint} [t]{policy}",
            BLACKWELL,
            dim="2d",
            mode="tile::gather4",
            kinds={"t": _coordinates(5)},
            **words,
        )
        declare(
            f"{opcode}.mode{hint} [t], offsets{policy}", requires=BLACKWELL, dim=IM2COL, mode="im2col::w im2col::w::128",
            operands={**KINDS, "offsets": Vec(2, Value("u16"))}, **words,
        )  # fmt: skip


_load_forms()
_store_forms()
_prefetch_forms()

"""cp.async.bulk.tensor: one thread moves a box of a tensor between global and shared memory.

PTX ISA, "Data Movement and Conversion Instructions: Tensor copy". What they begin lands later (machine.copies.bulk).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptxsim.instructions.bulk_copy import copies, load_to_shared
from ptxsim.isa.facts import PAIR, Access, AccessKind, Facts, Proxy, Word, Words
from ptxsim.isa.operand import Addr, Value, Vec
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LANES, LaneValue
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.barriers.mbarrier import each, per_lane
from ptxsim.machine.copies.bulk import Bulk, side_at
from ptxsim.machine.copies.bulk_events import extent_of
from ptxsim.machine.copies.bulk_records import BulkCopy, Side
from ptxsim.machine.copies.reduction import OPERATIONS, number_of
from ptxsim.machine.copies.tensor_map import DECLARED, ELEMENT_TYPES, SIZE, NotModeled
from ptxsim.machine.copies.tensor_tile import (
    LOADED_ONLY,
    MAP_OF,
    WIDE,
    TensorRecord,
    count_rows,
    end_inside,
    first_inside,
    mode_of,
    row_bytes,
)
from ptxsim.machine.event import FLAG_TENSORMAP, Event
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import RANK_SHIFT, check_alignment, gather
from ptxsim.machine.port import Port

DIMENSIONS = "1d 2d 3d 4d 5d"
IMAGES = "3d 4d 5d"
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
# Words of forms, and kinds of operands that are other than KINDS has them.
TILES: Options = {"dim": DIMENSIONS, "mode": "tile"}
ROWS: Options = {"dim": "2d", "kinds": {"t": _coordinates(5)}}
WIDE_IMAGES: Options = {"dim": IMAGES, "mode": "im2col::w im2col::w::128", "kinds": {"offsets": Vec(2, Value("u16"))}}


# ---- what a lane names -----------------------------------------------------------------------------------------------


def description(m: Port, lane: int, address: np.ndarray) -> TensorRecord:
    """The tensor map at the address of a lane, the only one that the port executes. Raises Fault `illegal-instruction` or `not-modeled`."""
    check_alignment(address, m.mask, 64, "tensor map", DECLARED)
    for kind, memory, offsets, mask in m.resolve(None, address, SIZE):
        m.emit(Event.ASYNC_READ, kind, SIZE, FLAG_TENSORMAP, mask, address)
        data = gather(memory, offsets, mask, SIZE)[lane].tobytes()
    try:
        return Bulk.of(m.machine).tensor(data)
    except NotModeled as missing:
        raise Fault("not-modeled", f"the tensor map at {int(address[lane]):#x}: {missing}", lane) from None
    except ValueError as error:
        raise Fault(
            "illegal-instruction", f"the 128 bytes at {int(address[lane]):#x} are no tensor map: {error}", lane,
            "pass a ptxsim.TensorMap, or set every field with tensormap.replace",
        ) from None  # fmt: skip


def tile(
    m: Port, lane: int, tensor: list[LaneValue], dim: Word, mode: Word, offsets: LaneValue = None
) -> tuple[BulkCopy, TensorRecord]:
    """What a lane's tensor operand `[map, {coordinates}]` names: a copy that lacks its sides. Raises Fault."""
    address, coordinates = tensor
    one = snapshot(m, np.arange(LANES) == lane)
    t = description(one, lane, address)
    if t.rank != int(str(dim)[0]):
        raise Fault("illegal-instruction", f".{dim} copy with a tensor map of {t.rank} dimensions", lane)
    if MAP_OF[mode_of(mode)] != t.im2col:
        kinds = ("a tiled map", "an im2col map", "a map of im2col::w", "a map of im2col::w::128")
        raise Fault(
            "illegal-instruction", f"a copy with {kinds[t.im2col]}; its mode takes {kinds[MAP_OF[mode_of(mode)]]}", lane,
            "encode the map for the mode of the instruction",
        )  # fmt: skip
    copy = BulkCopy(lane=lane, tensor=t.address, mode=mode_of(mode))
    for i, value in enumerate(coordinates):
        copy.at[i] = int(per_lane(value)[lane])
    for i, value in enumerate(offsets or ()):
        copy.taps[i] = int(per_lane(value)[lane]) & 0xFFFF
    copy.size = count_rows(t, copy.mode, copy.taps[0] if copy.mode >= WIDE else 0) * row_bytes(t)
    rows, space = Bulk.of(m.machine).rows(copy), m.machine.memory
    size = end_inside(t, copy.at[0]) - first_inside(t, copy.at[0])
    if size > 0 and (space.find(rows.astype(np.uint64), size) < 0).any():
        at = int(rows[int(np.argmin(space.find(rows.astype(np.uint64), size)))])
        dims = " x ".join(map(str, t.dims[: t.rank]))
        raise Fault(
            "out-of-bounds",
            f"tensor copy of {size} bytes at {at:#x}: {space.describe(at)}; the tensor map says the tensor begins at "
            f"{t.start:#x} and has dimensions {dims}", lane, "check the map's address, dimensions and strides",
        )  # fmt: skip
    return copy, t


def shared_tile(m: Port, copy: BulkCopy, t: TensorRecord, space: str, address: np.ndarray, write: bool) -> Side:
    """The place of a tile in shared memory; its bytes are permuted as the map says."""
    one = snapshot(m, np.arange(LANES) == copy.lane)
    check_alignment(
        address, one.mask, 128, "tile in shared memory", ": the array is declared .align 128, or more for a swizzle"
    )
    return side_at(one, space, address, copy.lane, extent_of(t, copy.size), write)


# ---- loads -----------------------------------------------------------------------------------------------------------


def load(
    m: Port, a: LaneValue, t: list[LaneValue], c: LaneValue, offsets: LaneValue, ctas: LaneValue, *, dim: Word,
    dst: Word, mode: Word, cta_group: Word = None,
) -> None:  # fmt: skip
    for lane, barrier in each(m, dst, c):
        copy, tensor = tile(m, lane, t, dim, mode, offsets)
        if not tensor.loadable:
            raise Fault("illegal-instruction", f"{m.machine.target} loads no tensors of elements below 8 bits", lane)
        copy.target = shared_tile(m, copy, tensor, str(dst), a, write=True)
        load_to_shared(m, copy, barrier, ctas, int(c[lane]) >> RANK_SHIFT & 1 if cta_group == PAIR else None)


def _load_forms() -> None:
    name = "cp.async.bulk.tensor"
    hints, given = (("", ""), (".L2::cache_hint", ", policy")), "[a], [t], [c]"
    words: Options = {"name": name, "facts": LOAD, "writes": "", "ordered": (("dst", "global"),)}
    for group, groups in (("", {}), (".cta_group", {"cta_group": "cta_group::1 cta_group::2"})):
        since = BLACKWELL if group else "8.0 sm_90"
        for casts in ("", ".multicast::cluster"):
            dst = "shared::cluster" if casts else "shared::cluster shared::cta@8.6"
            for hint, policy in hints:
                end = f".mbarrier::complete_tx::bytes{casts}{group}{hint}"
                tail = (", ctas" if casts else "") + policy
                common: Options = {**words, "dst": dst, **groups}
                tile, other = f"{name}.dim.dst.global{{.mode}}{end} {given}", f"{name}.dim.dst.global.mode{end} {given}"
                _add(load, f"{tile}{tail}", since, **TILES, **common)
                _add(load, f"{other}, offsets{tail}", since, dim=IMAGES, mode="im2col", **common)
                rows: Options = {**common, **ROWS, "mode": "tile::gather4"}
                _add(load, f"{other}{tail}", BLACKWELL, **{**rows, "dst": "shared::cluster"})
                if not casts:
                    own = BLACKWELL if group else "8.6 sm_100"
                    _add(load, f"{other}{tail}", own, **{**rows, "dst": "shared::cta"})
                _add(load, f"{other}, offsets{tail}", BLACKWELL, **WIDE_IMAGES, **common)


def _add(effect: Any, notation: str, since: str, kinds: Any = None, **words: Any) -> None:
    instruction(notation, requires=since, operands={**KINDS, **(kinds or {})}, **words)(effect)


# ---- stores and reductions -------------------------------------------------------------------------------------------


def reduction(op: str, t: TensorRecord, lane: int) -> int:
    """The number of the reduction of a tensor's elements. Raises Fault where their type has none."""
    name = ELEMENT_TYPES[t.type].name
    if name not in OPERATIONS[op].split():
        raise Fault("illegal-instruction", f"cp.reduce .{op} on a tensor of {name}", lane, f"it takes {OPERATIONS[op]}")
    return number_of(op, name)


def check_store(t: TensorRecord, lane: int) -> None:
    """Raise for a map that cannot be stored through."""
    if t.unit == LOADED_ONLY:
        raise Fault("illegal-instruction", "a tensor of b4x16_p64 is stored to", lane, "b4x16 has no padding")
    if not t.storable:
        raise Fault(
            "illegal-instruction", "an im2col store with a pixels' bounding box that leaves the tensor", lane,
            "store with a map whose lower corners are not negative and upper corners not positive",
        )  # fmt: skip


def _to_global(m: Port, t: list[LaneValue], b: LaneValue, dim: Word, mode: Word, op: str = "") -> None:
    for lane in map(int, np.flatnonzero(m.mask)):
        copy, tensor = tile(m, lane, t, dim, mode)
        copy.source = shared_tile(m, copy, tensor, "shared::cta", b, write=False)
        check_store(tensor, lane)
        copy.reduction = reduction(op, tensor, lane) if op else 0
        Bulk.of(m.machine).begin(m, copy)


def store(m: Port, t: list[LaneValue], b: LaneValue, *, dim: Word, mode: Word) -> None:
    _to_global(m, t, b, dim, mode)


def reduce_tensor(m: Port, t: list[LaneValue], b: LaneValue, *, dim: Word, mode: Word, op: Word) -> None:
    _to_global(m, t, b, dim, mode, str(op))


def _store_forms() -> None:
    for name, effect, op, ops, facts in (
        ("cp.async.bulk.tensor", store, "", {}, STORE),
        ("cp.reduce.async.bulk.tensor", reduce_tensor, ".op", {"op": "add min max inc dec and or xor"}, REDUCTION),
    ):
        words: Options = {"name": name, "facts": facts, "writes": "", "ordered": (("global", "shared::cta"),), **ops}
        for hint, policy in (("", ""), (".L2::cache_hint", ", policy")):
            end = f".bulk_group{hint} [t], [b]{policy}"
            opcode = f"{name}.dim.global.shared::cta{op}"
            _add(effect, f"{opcode}{{.mode}}{end}", "8.0 sm_90", **TILES, **words)
            _add(effect, f"{opcode}.mode{end}", "8.0 sm_90", dim=IMAGES, mode="im2col_no_offs", **words)
            if not op:
                _add(effect, f"{opcode}.mode{end}", BLACKWELL, mode="tile::scatter4", **ROWS, **words)


# ---- prefetch --------------------------------------------------------------------------------------------------------


def prefetch(m: Port, t: list[LaneValue], offsets: LaneValue, *, dim: Word, mode: Word) -> None:
    """Caches are not modeled; the tensor map is checked."""
    for lane in map(int, np.flatnonzero(m.mask)):
        tile(m, lane, t, dim, mode, offsets)


def _prefetch_forms() -> None:
    name = "cp.async.bulk.prefetch.tensor"
    words: Options = {"name": name, "facts": PREFETCH, "writes": ""}
    for hint, policy in (("", ""), (".L2::cache_hint", ", policy")):
        opcode = f"{name}.dim.L2.global"
        _add(prefetch, f"{opcode}{{.mode}}{hint} [t]{policy}", "8.0 sm_90", **TILES, **words)
        _add(prefetch, f"{opcode}.mode{hint} [t], offsets{policy}", "8.0 sm_90", dim=IMAGES, mode="im2col", **words)
        _add(prefetch, f"{opcode}.mode{hint} [t]{policy}", BLACKWELL, mode="tile::gather4", **ROWS, **words)
        _add(prefetch, f"{opcode}.mode{hint} [t], offsets{policy}", BLACKWELL, **WIDE_IMAGES, **words)


_load_forms()
_store_forms()
_prefetch_forms()

"""What special registers hold. PTX ISA, "Special Registers"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import SHARED_RESERVED
from ptxsim.machine.places import coordinates
from ptxsim.machine.state import Machine, max_shared_bytes, shared_start

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cta, Warp
    from ptxsim.types import Target

_LANE = np.arange(LANES, dtype=np.uint32)
_ONE = np.uint32(1)
# Multiprocessors by compute capability, for %nsmid: the largest product of each (NVIDIA data sheets).
_MULTIPROCESSORS = {70: 80, 72: 8, 75: 72, 80: 108, 86: 84, 87: 16, 89: 142, 90: 132, 100: 148, 103: 160, 120: 170}
CTAS = 32  # that an SM holds at most, of any target
# Warps an SM holds (CUDA C++ Programming Guide, "Compute Capabilities").
_WARPS = {75: 32, 86: 48, 87: 48, 89: 48, 110: 48, 120: 48, 121: 48}

_MASKS = {
    "eq": _ONE << _LANE,
    "lt": (_ONE << _LANE) - _ONE,
    "le": ((_ONE << _LANE) - _ONE) | (_ONE << _LANE),
    "ge": ~((_ONE << _LANE) - _ONE),
    "gt": ~(((_ONE << _LANE) - _ONE) | (_ONE << _LANE)),
}


def value(name: str, warp: Warp, machine: Machine) -> np.ndarray:
    """A special register (`"%tid.x"`) as a lane value of its type. Raises Fault not-modeled where nothing can be said."""
    if name == "WARP_SZ":
        return np.full(LANES, LANES, np.uint32)
    base, _, component = name[1:].partition(".")
    if component == "w":
        return np.zeros(LANES, np.uint32)
    if component:
        axis = "xyz".index(component)
        return warp.tid[axis] if base == "tid" else np.full(LANES, _VECTORS[base](warp.cta, machine)[axis], np.uint32)
    if base.startswith("lanemask_"):
        return _MASKS[base.removeprefix("lanemask_")]
    if base == "laneid":
        return _LANE
    scalar = _SCALARS.get(base)
    if scalar is None:
        raise Fault("not-modeled", f"{name}: what it holds is not modeled")
    dtype, function = scalar
    return np.full(LANES, function(warp, machine), dtype)


def clock(machine: Machine) -> int:
    """The cycle counter of a functional run: the warp instructions the machine has executed; it only ever grows."""
    return machine.warp_instructions


def _rank(cta: Cta) -> tuple[int, int, int]:
    x, y, _ = cta.cluster.shape
    return coordinates(cta.rank, x, y)


def _clusters(machine: Machine) -> tuple[int, ...]:
    return tuple(-(-grid // cluster) for grid, cluster in zip(machine.grid, machine.cluster))


_VECTORS: dict[str, Callable[[Cta, Machine], tuple[int, ...]]] = {
    "ntid": lambda cta, machine: cta.block_shape,
    "ctaid": lambda cta, machine: cta.index,
    "nctaid": lambda cta, machine: machine.grid,
    "clusterid": lambda cta, machine: cta.cluster.index,
    "nclusterid": lambda cta, machine: _clusters(machine),
    "cluster_ctaid": lambda cta, machine: _rank(cta),
    "cluster_nctaid": lambda cta, machine: cta.cluster.shape,
}


def multiprocessors(target: Target) -> int:
    """How many multiprocessors a target has."""
    known = [number for number in _MULTIPROCESSORS if number <= target.number]
    return _MULTIPROCESSORS[max(known, default=min(_MULTIPROCESSORS))]


def resident_warps(target: Target) -> int:
    """How many warps one of its multiprocessors holds."""
    return _WARPS.get(target.number, 64)


def resident_ctas(machine: Machine) -> int:
    """How many CTAs of a launch its target holds at most, whatever registers they take. CUDA C++ Programming Guide, "Compute Capabilities"."""
    shared = max_shared_bytes(machine.target) + shared_start(machine.target)
    by_warps = resident_warps(machine.target) // -(-math.prod(machine.block) // LANES)
    fit = min(CTAS, by_warps, shared // max(machine.shared_bytes, 1))
    return max(1, fit) * multiprocessors(machine.target)


def _cluster_size(warp: Warp) -> int:
    x, y, z = warp.cta.cluster.shape
    return x * y * z


_SCALARS: dict[str, tuple[type, Callable[[Warp, Machine], int | bool]]] = {
    "warpid": (np.uint32, lambda warp, machine: warp.index),
    "nwarpid": (np.uint32, lambda warp, machine: resident_warps(machine.target)),
    "smid": (np.uint32, lambda warp, machine: warp.cta.linear % multiprocessors(machine.target)),
    "nsmid": (np.uint32, lambda warp, machine: multiprocessors(machine.target)),
    "gridid": (np.uint64, lambda warp, machine: 1),
    "is_explicit_cluster": (np.bool_, lambda warp, machine: _cluster_size(warp) > 1),
    "cluster_ctarank": (np.uint32, lambda warp, machine: warp.cta.rank),
    "cluster_nctarank": (np.uint32, lambda warp, machine: _cluster_size(warp)),
    "clock": (np.uint32, lambda warp, machine: clock(machine) & 0xFFFFFFFF),
    "clock_hi": (np.uint32, lambda warp, machine: clock(machine) >> 32),
    "clock64": (np.uint64, lambda warp, machine: clock(machine)),
    # Nanoseconds: one per cycle, which is right for no GPU and near enough for time-outs.
    "globaltimer": (np.uint64, lambda warp, machine: clock(machine)),
    "globaltimer_lo": (np.uint32, lambda warp, machine: clock(machine) & 0xFFFFFFFF),
    "globaltimer_hi": (np.uint32, lambda warp, machine: clock(machine) >> 32),
    "total_smem_size": (np.uint32, lambda warp, machine: warp.cta.shared_bytes - shared_start(machine.target)),
    "aggr_smem_size": (np.uint32, lambda warp, machine: warp.cta.shared_bytes),
    "dynamic_smem_size": (np.uint32, lambda warp, machine: machine.dynamic_shared),
    # What the system keeps of shared memory, and the part of it that cooperative_groups works in: an H200 with CUDA 13.0.
    "reserved_smem_offset_begin": (np.uint32, lambda warp, machine: 0),
    "reserved_smem_offset_end": (np.uint32, lambda warp, machine: 288),
    "reserved_smem_offset_cap": (np.uint32, lambda warp, machine: SHARED_RESERVED),
    "reserved_smem_offset_0": (np.uint32, lambda warp, machine: 0),
    "reserved_smem_offset_1": (np.uint32, lambda warp, machine: 0),
    "current_graph_exec": (np.uint64, lambda warp, machine: 0),
    **{f"envreg{i}": (np.uint32, lambda warp, machine: 0) for i in range(32)},
    # What the driver passes in them: halves of the address of the grid's workspace (as cooperative_groups reads them).
    "envreg1": (np.uint32, lambda warp, machine: machine.grid_workspace >> 32),
    "envreg2": (np.uint32, lambda warp, machine: machine.grid_workspace & 0xFFFFFFFF),
    **{f"pm{i}": (np.uint32, lambda warp, machine: 0) for i in range(8)},
    **{f"pm{i}_64": (np.uint64, lambda warp, machine: 0) for i in range(8)},
}

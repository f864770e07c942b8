"""Special registers: their types, and since when and where they exist. PTX ISA, "Special Registers"."""

from __future__ import annotations

from ptxsim.isa.availability import Availability, parse_availability
from ptxsim.types import TYPES, ScalarType

# Instructions that may have a special register as a source; all others want it moved into a register first.
SPECIAL_READERS = ("mov", "cvt")

# Widths that registers had in old versions of PTX and may still be read in.
NARROW_ONCE = {**dict.fromkeys(("%tid", "%ntid", "%ctaid", "%nctaid"), (16,)), "%gridid": (32,)}

_CLUSTER = "7.8 sm_90"
_VECTORS = {
    **dict.fromkeys(("tid", "ntid", "ctaid", "nctaid"), ""),
    **dict.fromkeys(("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"), _CLUSTER),
}

# (names, type, availability)
_SCALARS: tuple[tuple[str, str, str], ...] = (
    ("laneid warpid nwarpid smid nsmid", "u32", ""),
    ("lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt", "u32", "2.0"),
    ("clock", "u32", ""),
    ("clock_hi", "u32", "5.0"),
    ("clock64", "u64", "2.0"),
    ("gridid", "u64", ""),
    ("globaltimer", "u64", "3.1"),
    ("globaltimer_lo globaltimer_hi", "u32", "3.1"),
    (" ".join(f"pm{i}" for i in range(8)), "u32", ""),
    (" ".join(f"pm{i}_64" for i in range(8)), "u64", "4.0"),
    (" ".join(f"envreg{i}" for i in range(32)), "b32", "2.1"),
    ("total_smem_size dynamic_smem_size", "u32", "4.1"),
    ("aggr_smem_size", "u32", "8.1 sm_90"),
    (" ".join(f"reserved_smem_offset_{n}" for n in ("begin", "end", "cap", "0", "1")), "b32", "7.6 sm_80"),
    ("current_graph_exec", "u64", "8.0"),
    ("cluster_ctarank cluster_nctarank", "u32", _CLUSTER),
    ("is_explicit_cluster", "pred", _CLUSTER),
)

SPECIAL_REGISTERS: dict[str, ScalarType] = {
    **{f"%{vector}.{c}": TYPES["u32"] for vector in _VECTORS for c in "xyzw"},
    **{f"%{name}": TYPES[kind] for names, kind, _ in _SCALARS for name in names.split()},
    "WARP_SZ": TYPES["u32"],
}

# Those that count: the bit of the count that they begin at.
CLOCKS = {
    "%clock": 0, "%clock_hi": 32, "%clock64": 0, "%globaltimer": 0, "%globaltimer_lo": 0, "%globaltimer_hi": 32,
}  # fmt: skip

_REQUIRES: dict[str, Availability] = {
    **{f"%{vector}.{c}": parse_availability(since) for vector, since in _VECTORS.items() for c in "xyzw"},
    **{f"%{name}": parse_availability(since) for names, _, since in _SCALARS for name in names.split()},
    "WARP_SZ": parse_availability(""),
}


def availability(name: str) -> Availability:
    """Since when and where a special register exists."""
    return _REQUIRES[name]

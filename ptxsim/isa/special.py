"""Special registers and their types. PTX ISA, "Special Registers"."""

from __future__ import annotations

from ptxsim.types import TYPES, ScalarType

_VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")

SPECIAL_REGISTERS: dict[str, ScalarType] = {
    **{f"%{v}.{c}": TYPES["u32"] for v in _VECTORS for c in "xyzw"},
    **{
        f"%{n}": TYPES["u32"]
        for n in (
            "laneid", "warpid", "nwarpid", "smid", "nsmid", "cluster_ctarank", "cluster_nctarank",
            "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt",
            "clock", "clock_hi", "pm0", "pm1", "pm2", "pm3", "pm4", "pm5", "pm6", "pm7",
            "globaltimer_lo", "globaltimer_hi", "total_smem_size", "aggr_smem_size", "dynamic_smem_size",
            "reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap",
            *(f"envreg{i}" for i in range(32)), *(f"reserved_smem_offset_{i}" for i in (0, 1)),
        )
    },
    **{f"%{n}": TYPES["u64"] for n in ("gridid", "clock64", "globaltimer", "current_graph_exec")},
    "%is_explicit_cluster": TYPES["pred"],
    "WARP_SZ": TYPES["u32"],
}  # fmt: skip

"""Names of the special registers. PTX ISA, "Special Registers"."""

from __future__ import annotations

import re

# Those with components: `%tid.x` is one name; the bare name is a vector.
COMPONENT_REGISTERS = frozenset(
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"]
)
_COMPONENTS = "|".join(name[1:] for name in sorted(COMPONENT_REGISTERS))
_SPECIAL = re.compile(
    rf"""%(?:
    (?:{_COMPONENTS})(?:\.[xyzw])?
    | laneid | warpid | nwarpid | smid | nsmid | gridid | is_explicit_cluster | cluster_ctarank | cluster_nctarank
    | lanemask_(?:eq|le|lt|ge|gt) | clock | clock_hi | clock64 | pm[0-7] | pm[0-7]_64 | envreg(?:[12]?[0-9]|3[01])
    | globaltimer(?:_lo|_hi)? | reserved_smem_offset_(?:begin|end|cap|[01]) | total_smem_size | aggr_smem_size
    | dynamic_smem_size | current_graph_exec
    )\Z""",
    re.VERBOSE,
)

# What a misspelt name may have meant: those that kernels read, spelt with a component where they have some.
SUGGESTED = (
    *(f"{name}.{component}" for name in sorted(COMPONENT_REGISTERS) for component in "xyz"),
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%cluster_ctarank", "%cluster_nctarank",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%clock", "%clock64",
    "%globaltimer", "%dynamic_smem_size", "%total_smem_size",
)  # fmt: skip


def is_special_register(name: str) -> bool:
    """Whether `name` (as the AST spells it: `%tid.x`, `%laneid`) is a special register."""
    return _SPECIAL.match(name) is not None

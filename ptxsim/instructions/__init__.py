"""Instruction families, one small file each: syntax in the manual's notation, static rules, effect, cost class."""

from __future__ import annotations

import importlib

MODULES: tuple[str, ...] = (
    "integer",
    "integer_product",
    "bit_field",
    "logic",
    "shift",
    "permute",
    "compare",
    "select",
    "move",
    "convert",
    "convert_packed",
    "floating",
    "floating_half",
    "floating_double",
    "extrema",
    "sign",
    "division",
    "transcendental",
    "carry",
    "dot_product",
    "video",
    "mma",
    "mma_sparse",
    "load",
    "store",
    "address",
    "control",
    "shuffle",
    "vote",
    "barrier",
    "mbarrier",
    "cp_async",
    "bulk_copy",
    "bulk_tensor",
    "tensormap",
    "ldmatrix",
    "stmatrix",
    "movmatrix",
    "atomic",
    "match",
    "redux",
    "elect",
    "cluster_address",
    "prefetch",
    "cache_policy",
    "fence",
    "wmma",
    "cluster_barrier",
    "system",
    "async_store",
    "stack",
    "multimem",
    "cluster_launch",
    "texture",
    "surface",
    "wgmma",
    "mma_block_scale",
    "assembler",
    "tcgen05",
)


def load_families() -> None:
    """Declare every family."""
    for name in MODULES:
        importlib.import_module(f"ptxsim.instructions.{name}")

"""Instruction families, one small file each: syntax in the manual's notation, static rules, effect, cost class."""

from __future__ import annotations

import importlib
from functools import cache

from ptxsim.isa import registry

# Every family with the first words of the names it declares.
FAMILIES: dict[str, str] = {
    "integer": "add sub div rem abs neg min max sad",
    "integer_product": "mul mad mul24 mad24",
    "bit_field": "popc clz brev bfind fns bfe bfi szext bmsk",
    "logic": "and or xor not cnot lop3",
    "shift": "shl shr shf",
    "permute": "prmt",
    "compare": "setp set",
    "select": "selp slct",
    "move": "mov",
    "convert": "cvt",
    "convert_packed": "cvt",
    "floating": "add sub mul fma mad",
    "floating_half": "add sub mul fma",
    "floating_double": "add sub mul fma mad",
    "packed_mixed": "add sub mul fma",
    "extrema": "min max",
    "sign": "neg abs copysign testp",
    "division": "div rcp sqrt",
    "transcendental": "div rcp sqrt rsqrt sin cos lg2 ex2 tanh",
    "carry": "add addc sub subc mad madc",
    "dot_product": "dp4a dp2a",
    "video": "vadd vsub vabsdiff vmin vmax vshl vshr vset vmad vadd2 vsub2 "
    "vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4",
    "mma": "mma",
    "mma_sparse": "mma",
    "load": "ld ldu",
    "store": "st",
    "address": "cvta",
    "control": "bra brx ret exit call",
    "shuffle": "shfl",
    "vote": "vote",
    "barrier": "bar barrier",
    "mbarrier": "mbarrier",
    "cp_async": "cp",
    "bulk_copy": "cp",
    "bulk_tensor": "cp",
    "tensormap": "tensormap",
    "ldmatrix": "ldmatrix",
    "stmatrix": "stmatrix",
    "movmatrix": "movmatrix",
    "atomic": "atom red",
    "match": "match",
    "redux": "redux",
    "elect": "activemask elect",
    "cluster_address": "mapa getctarank isspacep",
    "prefetch": "prefetch prefetchu applypriority discard",
    "cache_policy": "createpolicy",
    "fence": "membar fence",
    "carryless": "clmad",
    "fabric": "fabric",
    "ptx9_forms": "cp multimem",
    "wmma": "wmma",
    "cluster_barrier": "barrier",
    "system": "trap brkpt griddepcontrol pmevent nanosleep setmaxnreg",
    "async_store": "st red",
    "stack": "alloca stacksave stackrestore",
    "multimem": "multimem",
    "cluster_launch": "clusterlaunchcontrol",
    "texture": "tex tld4 txq istypep",
    "surface": "suld sust sured suq",
    "wgmma": "wgmma",
    "mma_block_scale": "mma",
    "ptxas_forms": "mma ldmatrix movmatrix wgmma wmma",
    "tcgen05": "tcgen05",
    "tcgen05_move": "tcgen05",
    "tcgen05_mma": "tcgen05",
}


@cache
def offer_families() -> None:
    """Let every family be declared when one of its names is asked for: most programs need few of them."""
    registry.offer({f"{__name__}.{family}": words.split() for family, words in FAMILIES.items()})


def load_families() -> None:
    """Declare every family."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")

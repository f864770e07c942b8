"""The warps with which a cluster begins: made once for all launches of a program that are alike."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ptxsim.engine.clusters import cluster_at
from ptxsim.engine.program.operation import Program, fact
from ptxsim.engine.turns import Engine

Template: TypeAlias = tuple[np.ndarray, list[np.ndarray | None]]  # memory of warps, and the copies that it points to
KEPT = 16  # of a program


def first_warps(engine: Engine) -> Template:
    """The warps of a cluster before its first instruction."""
    machine, known = engine.machine, _known(engine.program)
    sizes = (machine.shared_bytes, machine.shared_start, machine.dynamic_shared, machine.local_bytes)
    key = (machine.target, machine.grid, machine.block, machine.cluster, *sizes, machine.grid_workspace)
    if key not in known:
        first = cluster_at(machine, 0, engine.warp_bytes)
        warps = [warp for cta in first.ctas for warp in cta.warps]
        for warp in warps:
            engine.prepare(warp)
        if len(known) == KEPT:
            known.clear()
        known[key] = np.concatenate([cta.memory for cta in first.ctas]), [warp.copies for warp in warps]
    return known[key]


@fact
def _known(program: Program) -> dict[tuple[object, ...], Template]:
    """Those of a program, by all that they depend on: launches add to it."""
    return {}

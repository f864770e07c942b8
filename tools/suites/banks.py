"""Shared-memory wavefronts of recorded address patterns: equal to the profiler's counters."""

from __future__ import annotations

import numpy as np

from suites.common import Options, Tally

WIDTHS = {"u8": 1, "u16": 2, "b32": 4, "v2b32": 8, "v4b32": 16}


def kind_of(operation: str) -> tuple[str, int, int | None]:
    """`ld_v4b32`, `ldmatrix_x4_trans`, `atom_cas`, ...: kind, width in bytes, matrices."""
    words = operation.replace(".", "_").split("_")
    if words[0] in ("ldmatrix", "stmatrix"):
        return words[0], 16, int(words[1][1:])
    if words[0] in ("atom", "red"):
        return ("cas" if "cas" in words else words[0]), 4, None
    return words[0], WIDTHS[words[1]], None


def run(options: Options, tally: Tally) -> bool:
    from ptxsim import shared_wavefronts

    arrays = np.load(options.folder / "bank_conflicts.npz")
    for operation in sorted({key.rpartition(".")[0] for key in arrays}):
        kind, width, matrices = kind_of(operation)
        names, offsets = arrays[f"{operation}.name"], arrays[f"{operation}.offsets"]
        counted = arrays[f"{operation}.wavefronts"]
        masks = arrays[f"{operation}.mask"]
        for i, name in enumerate(names):
            if not options.selects("bank_conflicts.npz", operation, f"{operation}.{name}"):
                continue
            if np.isnan(counted[i]):
                tally.skipped["not counted"] += 1
                continue
            mask = int(masks[i])
            if matrices:
                mask &= (1 << (8 * matrices)) - 1
            got = shared_wavefronts(offsets[i].astype(np.int64), width, kind, mask)
            if got == round(float(counted[i])):
                tally.passed += 1
            else:
                tally.failures.append(f"{operation}:{name}: {got} wavefronts, the profiler counted {counted[i]:g}")
    return not tally.failures and tally.passed > 0

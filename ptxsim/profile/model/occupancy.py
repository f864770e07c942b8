"""How many CTAs an SM holds at once, and what limits it. CUDA C++ Programming Guide, "Hardware Multithreading"."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ptxsim.profile.figures import Figures


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs and warps an SM holds; `share` of the warps it could hold at most; `limiter` names what there is least of.

    `limits`: the CTAs that each resource has room for. `shared_bytes`: of a CTA, with what the system keeps. `between`: the fewest and the most
    CTAs for as many registers as there may be, where their number is an estimate and CTAs hang on it.
    """

    ctas: int
    warps: int
    share: float
    limiter: str
    registers: int
    limits: dict[str, int] = field(default_factory=dict, hash=False)
    shared_bytes: int = 0
    between: tuple[int, int] | None = None


def occupancy(figures: Figures, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Residency of CTAs of `threads` threads with `registers` each; `shared_bytes`: what the CTA asks for, static and dynamic."""
    warps = -(-threads // 32)
    unit = figures.register_unit
    per_warp = -(-registers * 32 // unit) * unit
    held = -(-(shared_bytes + figures.shared_reserved) // 128) * 128
    limits = {
        "warps": figures.warps // warps,
        "CTAs": figures.ctas,
        "registers": figures.registers // (per_warp * warps),
        "shared memory": figures.shared_bytes // held
        if held
        else figures.ctas,  # early targets keep none for themselves
    }
    limiter = min(limits, key=lambda name: limits[name])
    ctas = max(1, limits[limiter])
    return Occupancy(ctas, ctas * warps, ctas * warps / figures.warps, limiter, registers, limits, held)


def estimated(figures: Figures, threads: int, registers: int, shared_bytes: int, off: float) -> Occupancy:
    """The same of registers that are an estimate, which may be off by such a share of it."""
    held, fewest, most = (
        occupancy(figures, threads, max(1, round(registers * scale)), shared_bytes) for scale in (1, 1 + off, 1 - off)
    )
    return held if fewest.ctas == most.ctas else replace(held, between=(fewest.ctas, most.ctas))

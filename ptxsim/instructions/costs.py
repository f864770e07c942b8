"""Costs that depend on the type of an instruction, by its words.

A cost is the name of a row of the cycle model: profile.figures.UNITS for one machine instruction,
profile.lowering.emulated.SEQUENCES for several. None where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxsim.isa.facts import Words

Cost = Callable[[Words], "str | None"]


def by_width(word: str, double: str, slot: str = "type") -> Cost:
    """One cost for types of up to 32 bits, another for those of 64."""

    def cost(words: Words) -> str | None:
        bits = words[slot].bits
        return word if bits <= 32 else double if bits == 64 else None

    return cost


def by_type(**costs: str) -> Cost:
    """Costs by the name of the type."""
    return lambda words: costs.get(words["type"].name)


FLOATING = by_type(f32="fma", f64="fp64", f16="half", bf16="half", f16x2="half2", bf16x2="half2")

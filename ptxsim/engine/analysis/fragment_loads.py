"""Which loads fill the registers of the factors of products, as they are: ldmatrix, and ordinary loads of any size."""

from __future__ import annotations

from dataclasses import dataclass

from ptxsim.engine.analysis.def_use import def_use, slots_of
from ptxsim.engine.analysis.loaded_bytes import ZERO, Bytes, LoadedBytes
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Program, fact

FACTORS = ("a", "b")


@dataclass(frozen=True, slots=True)
class Filled:
    """The registers of a factor: for each the ways in which it is made of loaded bytes."""

    product: int  # site
    factor: str
    registers: tuple[frozenset[Bytes], ...]

    @property
    def sites(self) -> set[int]:
        """Of the loads."""
        ways = (way for register in self.registers for way in register)
        return {byte.site for way in ways for byte in way if byte is not None and byte != ZERO}


@fact
def filled_factors(program: Program) -> tuple[Filled, ...]:
    """The factors of products that loads fill, in the order of the program."""
    found, filled = def_use(program), []
    loaded = LoadedBytes(found)
    for op in program.ops:
        for factor in FACTORS if op.facts.product is not None and op.site in found.reads else ():
            operand = op.source(factor)
            if isinstance(operand, Vector):
                start = len(slots_of(op.sources[: op.sources.index(operand)]))
                slots = found.reads[op.site][start : start + len(slots_of([operand]))]
                filled.append(Filled(op.site, factor, tuple(loaded.of(slot) for slot in slots)))
    return tuple(each for each in filled if any(each.registers))

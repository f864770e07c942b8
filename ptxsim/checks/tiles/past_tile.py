"""Products that read past the end of the tile that was copied for them, into another tile, which may lack a wait or a fence.

The code that fills that other tile is not wrong. So this finding replaces what else is found at the product, and never stands alone:
the end of a tile is known only by where its bytes came from, and rows may come from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxsim.diagnostic import BESIDE, Finding, Label
from ptxsim.engine.program.operation import Program
from ptxsim.machine.shared_names import Variables, shared_name

HALF = 16  # bits of the elements that a product may take in either direction


@dataclass(frozen=True, slots=True)
class PastTile:
    """Of `rows` rows of an operand only the first, `inside` of them, are where the copy at `writer` (a site) has put them; 0: it lies with the
    other direction side by side."""

    operand: str
    start: int
    inside: int
    rows: int
    writer: int

    def finding(self, program: Program, site: int, variables: Variables) -> Finding:
        op, tile = program.ops[site], f"the tile of {self.operand} at {shared_name(variables, self.start)}"
        message = f"{tile} ends before its descriptor does: the first {self.inside} of {self.rows} rows come from even places, the others from elsewhere"
        help = (
            "a step along K is so many bytes of a row, by 16, and stays within the row of the swizzle (128 bytes: 4 steps of 32); look at what is "
            "added to the descriptor"
        )
        if not self.inside:
            side = "M" if self.operand == "A" else "N"
            message = f"{tile} lies with {side} side by side, and {op.name} takes it with K side by side, over the end of what was copied"
            help = f"say so by the transpose bit of {self.operand}, the last operands of the product"
        return Finding(
            "descriptor-past-tile", message, labels=(Label.at(program.ops[self.writer], "written here"),), help=help,
            notes=("judged by where in global memory the bytes came from",), case=BESIDE,
        ).at(op)  # fmt: skip

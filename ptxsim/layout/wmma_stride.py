"""Strides and alignment of wmma.load and wmma.store. PTX ISA, "Matrix Storage for WMMA"; hardware.md for the GPU."""

from __future__ import annotations

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.layout.fragments import dimensions, fragment_layout
from ptxsim.layout.tables import SHAPES


def wmma_stride(shape: str, operand: str, layout: str, type: str | None = None) -> int:
    """The default stride in elements: the size of the leading dimension.

    operand: A B C D. layout: "row" or "col". The stride does not depend on `type`; with it, the shape must be one
    that the type has. Raises PtxError.
    """
    legal = {s for t, names in SHAPES["wmma"].items() for s in names if type is None or t == type}
    if type is not None and operand.upper() in "CD":
        fragment_layout("wmma", shape, operand, type)
    elif shape not in legal:
        raise PtxError(
            Finding("illegal-form", f"no {shape} for wmma{f' {type}' if type else ''}", help=f"shapes: {sorted(legal)}")
        )
    if layout not in ("row", "col") or operand.upper() not in ("A", "B", "C", "D"):
        raise PtxError(
            Finding(
                "illegal-form", f"no operand {operand!r} with layout {layout!r}", help="operands A B C D, row or col"
            )
        )
    m, n, k = dimensions(shape)
    rows, columns = {"A": (m, k), "B": (k, n)}.get(operand.upper(), (m, n))
    return columns if layout == "row" else rows


def fragment_bytes(shape: str, operand: str, type: str) -> int:
    """Bytes of a lane's fragment, which the manual wants every row (column) start to be a multiple of."""
    return 4 * fragment_layout("wmma", shape, operand, type).words

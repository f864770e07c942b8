"""Who has written the registers that a product of a warpgroup takes without a fence. PTX ISA, "wgmma.fence"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.analysis.def_use import slots_of, writes
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Op, Program


def with_writers(program: Program, findings: Sequence[Finding]) -> list[Finding]:
    """Findings, those of fences that lack with a label where the registers were written last, as the text stands."""
    if not any(finding.name == "missing-wgmma-fence" for finding in findings):
        return list(findings)
    products = {(op.line, op.column): op for op in program.ops if op.facts.product is not None}
    return [
        _with_writer(program, finding, products[finding.line, finding.column])
        if finding.name == "missing-wgmma-fence" and not finding.labels and (finding.line, finding.column) in products
        else finding
        for finding in findings
    ]  # fmt: skip


def _with_writer(program: Program, finding: Finding, product: Op) -> Finding:
    used = {
        slot
        for each in (*product.destinations, *product.sources)
        if isinstance(each, Vector)
        for slot in slots_of([each])
    }
    ops = [op for op in program.ops if op.facts.product is None and not used.isdisjoint(writes(op))]
    before = [op for op in ops if op.site < product.site]
    if not ops:
        return finding
    return replace(finding, labels=(Label.at((before or ops)[-1], "registers that it uses are written here"),))

"""`ptxsim layout`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ptxsim.report.drawing import Drawing


@click.command("layout")
@click.argument("form")
@click.option("--operand", metavar="A|B|C|D", help="The operand to show (default A; D for ldmatrix and its kin).")
@click.option("--lane", type=int, help="List the elements of this lane alone.")
@click.option("--list", "listed", is_flag=True, help="List the elements of every lane.")
@click.option("--layout", metavar="row|col|trans", help="Where the form leaves it open.")
@click.option("--format", "format", type=click.Choice(["text", "svg", "latex", "json"]), default="text")
def command(form: str, operand: str | None, lane: int | None, listed: bool, layout: str | None, format: str) -> int:
    """Show where a matrix operand's elements live.

    FORM is an opcode (mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32) or a short form that has one meaning
    (mma.m16n8k16.f16). ldmatrix and stmatrix show their row pointers too. swizzle.128B shows a swizzle atom.
    """
    from ptxsim.report import pictures
    from ptxsim.report.layouts import lane_line, lane_table, summary
    from ptxsim.report.style import coloured, paint_for

    colour = paint_for() is coloured
    name, _, mode = form.partition(".")
    if name == "swizzle":
        click.echo(pictures.swizzle_atom(mode or "128B", colour))
        return 0
    from ptxsim import fragment

    found = fragment(form, (operand or ("D" if "matrix" in name else "A")).upper(), layout)
    if lane is not None:
        click.echo(lane_line(found, lane))
    elif listed:
        click.echo(f"{summary(found)}\n{lane_table(found)}")
    elif format == "text":
        click.echo(f"{summary(found)}\n\n{pictures.fragment_text(found, colour)}")
    else:
        click.echo(_other(pictures.fragment_map(found), format))
    return 0


def _other(drawing: Drawing, format: str) -> str:
    if format == "json":
        from ptxsim.report.records import to_json

        return to_json(drawing.to_dict())
    return drawing.svg() if format == "svg" else drawing.latex()

"""`ptxsim layout`."""

from __future__ import annotations

import click


@click.command("layout")
@click.argument("form")
@click.option("--operand", default=None, help="A, B, C or D.")
@click.option("--lane", type=int, help="Show this lane alone.")
@click.option("--layout", "layout", help="row, col or trans, where the form leaves it open.")
@click.option("--table", is_flag=True, help="All lanes as a list instead of a picture.")
@click.option("--svg", metavar="FILE", help="Write the picture as SVG.")
def command(form: str, operand: str | None, lane: int | None, layout: str | None, table: bool, svg: str | None) -> int:
    """Show where a matrix operand's elements live.

    FORM is an opcode (mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32) or a short form with one meaning
    (mma.m16n8k16.f16); ldmatrix and stmatrix show the row pointers too; swizzle.128B shows a swizzle atom.
    """
    from ptxsim.report import pictures
    from ptxsim.report.layouts import lane_line, lane_table, summary

    if form.startswith("swizzle"):
        click.echo(pictures.swizzle_atom(form.partition(".")[2] or "128B"))
        return 0
    from ptxsim.session import fragment

    names = [operand] if operand else ["A"] if "matrix" not in form else ["D"]
    for name in names:
        found = fragment(form, name.upper(), layout)
        click.echo(summary(found))
        if lane is not None:
            click.echo(lane_line(found, lane))
        elif table:
            click.echo(lane_table(found))
        elif svg:
            _write(svg, pictures.fragment_svg(found))
        else:
            click.echo(pictures.fragment_text(found))
    return 0


def _write(file: str, text: str) -> None:
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)
    click.echo(f"wrote {file}", err=True)

"""`ptxsim layout`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ptxsim.layout.fragments import Fragment
    from ptxsim.report.drawing import Drawing


@click.command("layout")
@click.argument("form", required=False)
@click.option(
    "--operand",
    metavar="A|B|C|D|E",
    help="The operand to show (default A; D for ldmatrix and its kin; E: the metadata of a sparse form).",
)
@click.option("--lane", type=int, help="List the elements of this lane alone.")
@click.option("--list", "listed", is_flag=True, help="List the elements of every lane.")
@click.option("--layout", metavar="row|col|trans", help="Where the form leaves it open.")
@click.option("--pitch", type=click.IntRange(16), default=16, help="Bytes between rows, for ldmatrix and rows.x4.")
@click.option("--metadata", metavar="HEX[,HEX...]", help="Draw the dense A that this metadata means (sparse forms).")
@click.option("--selector", type=int, default=0, help="Sparsity selector of the metadata.")
@click.option("--format", "format", type=click.Choice(["text", "json", "svg", "latex"]), default="text")
@click.option("--gallery", metavar="DIR", help="Write every picture there is into a folder.")
def command(form: str | None, gallery: str | None, format: str, lane: int | None, listed: bool, **options: Any) -> int:
    """Show where a matrix operand's elements live.

    FORM is an opcode (mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32) or a short form that has one meaning
    (mma.m16n8k16.f16). ldmatrix and stmatrix show their row pointers too. Other pictures: swizzle.128B (or
    swizzle.128B.MN) is a swizzle atom, tile.K.128B.tf32 a canonical tile of a descriptor, rows.x4 the row pointers alone.
    Of tensor memory: tcgen05.ld.32x32b.x4 (or .st), tcgen05.mma.m64n32 (where D is), tcgen05.scales.m128.4X.
    """
    if gallery:
        from ptxsim.report.gallery import gallery as write

        click.echo(f"wrote {len(write(gallery))} files to {gallery}", err=True)
        return 0
    if form is None:
        raise click.UsageError("Missing argument 'FORM', such as mma.m16n8k16.f16 or swizzle.128B.")
    from ptxsim.report.style import coloured, paint_for
    from ptxsim.report.tensor_memory_pictures import picture

    colour = paint_for() is coloured
    drawing = _named(form, options["pitch"]) or picture(form) or _metadata(form, options)
    if drawing is None:
        from ptxsim.report.pictures import fragment_drawing

        found = _fragment(form, options)
        if lane is not None or listed or format == "json":
            click.echo(_lanes(found, lane, format))
            return 0
        if format == "text":
            from ptxsim.report.layouts import summary

            click.echo(f"{summary(found)}\n")
        drawing = fragment_drawing(found, options["pitch"])
    elif lane is not None or listed:
        click.echo(_moved(form, lane))
        return 0
    click.echo(drawing.render(format, colour))
    return 0


def _fragment(form: str, options: dict[str, Any]) -> Fragment:
    from ptxsim.session.form_names import fragment

    default = "D" if "matrix" in form.partition(".")[0] else "A"
    return fragment(form, (options["operand"] or default).upper(), options["layout"])


def _moved(form: str, lane: int | None) -> str:
    """The cells of tensor memory that each lane moves, or one of them."""
    from ptxsim.report.layouts import cells_line
    from ptxsim.report.tensor_memory_pictures import moved_by_lane

    found = moved_by_lane(form)
    if found is None:
        raise click.UsageError("--lane and --list are of what lanes hold; this picture shows a memory")
    if lane is not None and not 0 <= lane < len(found):
        raise click.UsageError(f"--lane {lane}: a warp has lanes 0 to {len(found) - 1}")
    return "\n".join(cells_line(each, found[each]) for each in (range(len(found)) if lane is None else (lane,)))


def _lanes(found: Fragment, lane: int | None, format: str) -> str:
    """Elements by lane, in words or as JSON."""
    from ptxsim.report.layouts import lane_line, lane_table, summary

    if format == "json":
        import json

        from ptxsim.report.layouts import fragment_record

        return json.dumps(fragment_record(found, lane))
    return lane_line(found, lane) if lane is not None else f"{summary(found)}\n{lane_table(found)}"


def _named(form: str, pitch: int) -> Drawing | None:
    """A swizzle atom, a canonical tile, row pointers; None if the form is an instruction's."""
    from ptxsim.report import pictures

    match form.split("."):
        case ["swizzle", *words] if len(words) < 3:
            return pictures.swizzle_atoms(words[0] if words else "128B", tuple(words[1:]) or ("K", "MN"))
        case ["tile", major, mode, type_]:
            from ptxsim.layout.shared_layout import SharedLayout
            from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle_width

            # Two patterns each way; a swizzled K-major row is as long as its swizzle.
            whole = major == "K" and mode != "none" and mode in SWIZZLE_BITS
            layout = SharedLayout(major, mode, type_, m=2, k=swizzle_width(mode) // 32 if whole else 2)
            return pictures.shared_tile(layout)
        case ["rows", number] if number in ("x1", "x2", "x4"):
            return pictures.row_pointers(f"m8n8.{number}", pitch=pitch)
    return None


def _metadata(form: str, options: dict[str, Any]) -> Drawing | None:
    if options["metadata"] is None:
        return None
    import numpy as np

    from ptxsim.layout.sparsity import sparsity
    from ptxsim.report.pictures import metadata_map

    found = _fragment(form, options | {"operand": "A"})
    kept = sparsity(found.family, found.shape_name, found.type)
    try:
        given = [int(word, 0) for word in options["metadata"].split(",")]
    except ValueError:
        raise click.UsageError(f"--metadata {options['metadata']!r}: give 0x4444 or one number for each lane") from None
    if len(given) not in (1, found.lanes) or any(not 0 <= word < 1 << 32 for word in given):
        raise click.UsageError(f"--metadata takes one 32-bit number for all lanes, or {found.lanes} of them")
    words = np.array(given * (found.lanes // len(given)), np.uint32)
    title = f"{found.family} {found.shape_name} .{found.type}: dense A, {kept.rows} x {kept.k}"
    return metadata_map(kept, words, options["selector"], title)

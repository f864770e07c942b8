"""All pictures of the manual's layout chapters, written to a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from ptxsim.layout.fragments import fragment_layout, register_operands
from ptxsim.layout.shared_layout import SharedLayout
from ptxsim.layout.sparsity import sparsity
from ptxsim.layout.swizzle import SWIZZLE_BITS
from ptxsim.layout.tables import SHAPES, TILES
from ptxsim.report import pictures
from ptxsim.report.drawing import Drawing

# One type stands for all of one width; the accumulator each shape is drawn with.
_ACCUMULATORS = {"f64": "f64", "s8": "s32", "s4": "s32", "b1": "s32"}
_ALIASES = {"bf16", "u8", "u4", "e4m3", "e5m2", "e2m3"}
# "Canonical Layouts", the worked examples; and the two 128-byte tf32 examples.
_EXAMPLES = (
    ("K", "none", "tf32", 2, 2), ("K", "32B", "tf32", 2, 2), ("MN", "none", "bf16", 2, 2), ("MN", "32B", "bf16", 2, 2),
    ("MN", "64B", "bf16", 2, 2), ("K", "128B", "tf32", 1, 4), ("MN", "128B", "tf32", 1, 1),
)  # fmt: skip

_SPARSE = (("m16n8k16", "tf32"), ("m16n8k32", "f16"), ("m16n8k64", "s8"), ("m16n8k128", "s4"))


def drawings() -> Iterator[tuple[str, Drawing]]:
    """(name, drawing) of every picture: fragments by family, row pointers, swizzle atoms, canonical tiles, descriptors."""
    yield from _fragments()
    for family, forms in TILES.items():
        for (shape, type_, layout), tile in forms.items():
            operand = "D" if layout == "trans" or family == "ldmatrix" else "A"
            given = None if family == "movmatrix" else layout
            found = fragment_layout(family, f"{shape}.x{tile.counts[0]}", operand, type_, given)
            yield _name(family, shape, type_, layout, operand), pictures.fragment_map(found)
    for count in (1, 2, 4):
        yield f"row-pointers-x{count}", pictures.row_pointers(f"m8n8.x{count}", pitch=16)
    yield "row-pointers-x4-pitch-128", pictures.row_pointers("m8n8.x4", pitch=128)
    yield from _metadata()
    for mode in SWIZZLE_BITS:
        for major in ("K", "MN"):
            yield f"atom-{mode}-{major}", pictures.swizzle_atom_map(mode, major)
    for major, mode, type_, m, k in _EXAMPLES:
        shared = SharedLayout(major, mode, type_, m=m, k=k)
        reads = pictures.descriptor_reads(shared.descriptor(0x400), major, shared.shape[0], shared.bits)
        yield f"tile-{major}-{mode}-{type_}", pictures.shared_tile(shared)
        yield f"descriptor-{major}-{mode}-{type_}", reads


def _metadata() -> Iterator[tuple[str, Drawing]]:
    """One sparse shape of each way to store metadata: every second row keeps the first columns, the others the last."""
    for shape, type_ in _SPARSE:
        found = sparsity("mma.sp", shape, type_)
        nibbles = np.where(np.arange(found.rows)[:, None] % 2, 14, 4) + np.zeros(found.k // found.group, int)
        title = f"metadata of mma.sp {shape} .{type_}: dense A, {found.rows} x {found.k}"
        yield f"metadata-{shape}-{type_}", pictures.metadata_map(found, found.words(nibbles), title=title)


def _fragments() -> Iterator[tuple[str, Drawing]]:
    for family, types in SHAPES.items():
        for type_, shapes in types.items():
            if type_ in _ALIASES:
                continue
            for shape in shapes:
                shape = shape.replace("N", "32")
                for operand in register_operands(family):
                    named = _ACCUMULATORS.get(type_, "f32") if operand == "D" else type_
                    for layout in ("row", "col") if _asks(family, shape, type_, operand) else (None,):
                        found = fragment_layout(family, shape, operand, named, layout)
                        yield _name(family, shape, named, layout, operand, type_), pictures.fragment_map(found)


def _asks(family: str, shape: str, type_: str, operand: str) -> bool:
    return (family, shape, type_) == ("mma", "m8n8k4", "f16") and operand != "D"


def _name(*parts: str | None) -> str:
    return "-".join(dict.fromkeys(part for part in parts if part))


def gallery(folder: str | Path) -> list[Path]:
    """Write every picture as .txt, .svg, .tex and .json into `folder`, which is made; the files written."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawing in drawings():
        forms = {
            "txt": drawing.text() + "\n",
            "svg": drawing.svg(),
            "tex": drawing.latex(),
            "json": json.dumps(drawing.to_dict()) + "\n",
        }
        for extension, text in forms.items():
            file = folder / f"{name}.{extension}"
            file.write_text(text, encoding="utf-8")
            written.append(file)
    written.append(folder / "index.html")
    written[-1].write_text(_index(file.stem for file in written if file.suffix == ".svg"), encoding="utf-8")
    return written


def _index(names: Iterable[str]) -> str:
    """A page that shows all pictures, one below the other."""
    pictures = "\n".join(
        f'<figure id="{name}"><img src="{name}.svg" alt="{name}"><figcaption><a href="#{name}">{name}</a>: '
        f'<a href="{name}.txt">text</a> <a href="{name}.tex">LaTeX</a> <a href="{name}.json">JSON</a></figcaption></figure>'
        for name in names
    )
    style = "body{font-family:sans-serif;margin:1em} figure{margin:2em 0} img{max-width:100%}"
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>Layouts</title>\n<style>{style}</style>\n{pictures}\n'

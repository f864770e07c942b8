"""A drawing is panels of labelled cells; here are its four forms: text, SVG, LaTeX and JSON."""

from __future__ import annotations

import html
import textwrap
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ptxsim.report.style import WIDTH

# Eight fills after Okabe and Ito, lightened so that black text is readable (contrast at least 7) and kept apart for
# protan, deutan and tritan eyes too (at least 10 CIELAB units); with each, its place in the 256 colours of terminals.
PALETTE = (
    ("#f2b84b", 215), ("#a8d8f0", 153), ("#4fb594", 72), ("#f7f0a0", 229),
    ("#6f9fd0", 68), ("#e0826a", 173), ("#e3a8d0", 182), ("#d8d8d8", 252),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one cell and which of the eight colours it has; None is no colour."""

    text: str
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """A table of cells with labels for rows and columns; `corner` names what the labels count."""

    rows: list[str]
    columns: list[str]
    cells: list[list[Cell]]
    title: str = ""
    corner: str = ""


@dataclass(frozen=True)
class Drawing:
    """Panels under one title, with notes below."""

    title: str
    panels: list[Panel]
    notes: list[str] = field(default_factory=list)

    def above(self, other: Drawing) -> Drawing:
        """Both in one; the title of `other` becomes that of its first panel."""
        first, *rest = other.panels
        title = f"{other.title}, {first.title}" if first.title else other.title
        return Drawing(self.title, [*self.panels, replace(first, title=title), *rest], [*self.notes, *other.notes])

    def render(self, format: str, colour: bool = False, width: int = WIDTH) -> str:
        """One of text, json, svg and latex."""
        if format == "json":
            import json

            return json.dumps(self.to_dict(), indent=1)
        return {"svg": self.svg, "latex": self.latex}[format]() if format != "text" else self.text(colour, width)

    def to_dict(self) -> dict[str, Any]:
        """The drawing as JSON takes it."""
        return asdict(self)

    def text(self, colour: bool = False, width: int = WIDTH) -> str:
        """Lines of at most `width` columns; wide panels continue below. `colour` adds ANSI backgrounds."""
        lines = textwrap.wrap(self.title, width)
        for panel in self.panels:
            lines += ["", *([panel.title] if panel.title else []), *_panel_lines(panel, colour, width)]
        notes = [line for note in self.notes for line in textwrap.wrap(note, width)]
        return "\n".join([*lines, *([""] if notes else []), *notes])

    def svg(self) -> str:
        """An SVG image; cells are rectangles with their text."""
        shapes, top, widest = [_svg_text(10, 20, self.title, 14)], 34, 10 + 9 * len(self.title)
        for panel in self.panels:
            body, height, right = _panel_svg(panel, top)
            shapes += body
            top += height
            widest = max(widest, right)
        for note in self.notes:
            top += 16
            shapes.append(_svg_text(10, top, note, 11))
            widest = max(widest, 10 + 7 * len(note))
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{widest + 10}" height="{top + 14}"'
        return "\n".join([f'{head} font-family="monospace">', *shapes, "</svg>\n"])

    def latex(self) -> str:
        """A standalone LaTeX document that draws the panels with TikZ."""
        lines = [r"\documentclass[tikz]{standalone}", r"\begin{document}"]
        for index, (colour, _) in enumerate(PALETTE):
            lines.append(rf"\definecolor{{c{index}}}{{HTML}}{{{colour[1:].upper()}}}")
        for panel in self.panels:
            lines += _panel_latex(panel, panel.title or self.title)
        return "\n".join([*lines, r"\end{document}", ""])


def _panel_lines(panel: Panel, colour: bool, width: int) -> list[str]:
    size = max(len(text) for text in [*panel.columns, *(c.text for row in panel.cells for c in row)])
    margin = max(len(text) for text in [panel.corner, *panel.rows])
    per_part = max(1, (width - margin - 1) // (size + 1))
    if per_part < len(panel.columns):
        # Parts of equal power-of-two width keep the repeating structure in sight.
        per_part = 1 << per_part.bit_length() - 1
    lines: list[str] = []
    for first in range(0, len(panel.columns), per_part):
        part = slice(first, first + per_part)
        if lines:
            lines.append("")
        lines.append(f"{panel.corner:>{margin}} " + " ".join(f"{c:^{size}}" for c in panel.columns[part]).rstrip())
        for label, row in zip(panel.rows, panel.cells):
            cells = " ".join(_painted(cell, size, colour) for cell in row[part])
            lines.append(f"{label:>{margin}} {cells}".rstrip())
    return lines


def _painted(cell: Cell, size: int, colour: bool) -> str:
    text = f"{cell.text:^{size}}"
    if not colour or cell.colour is None:
        return text
    return f"\x1b[30;48;5;{PALETTE[cell.colour % len(PALETTE)][1]}m{text}\x1b[0m"


def _panel_svg(panel: Panel, top: int) -> tuple[list[str], int, int]:
    """(shapes, height, right edge) of a panel that starts at y = top."""
    size = max([len(text) for text in [*panel.columns, *(c.text for row in panel.cells for c in row)]])
    margin = max(len(text) for text in [panel.corner, *panel.rows])
    wide, high, left = 7 * size + 10, 20, 7 * margin + 20
    shapes = []
    y = top + 16
    if panel.title:
        shapes.append(_svg_text(10, y, panel.title, 12))
        y += 18
    shapes.append(_svg_text(left - 6, y, panel.corner, 11, "end"))
    shapes += [_svg_text(left + i * wide + wide // 2, y, c, 11, "middle") for i, c in enumerate(panel.columns)]
    y += 6
    across, down = wide * len(panel.columns), high * len(panel.rows)
    texts = []
    for number, (label, row) in enumerate(zip(panel.rows, panel.cells)):
        middle = y + number * high + 14
        shapes.append(_svg_text(left - 6, middle, label, 11, "end"))
        for i, cell in enumerate(row):
            if cell.colour is not None:
                box = f'x="{left + i * wide}" y="{y + number * high}" width="{wide}" height="{high}"'
                shapes.append(f'<rect {box} fill="{PALETTE[cell.colour % len(PALETTE)][0]}"/>')
            if cell.text:
                texts.append(f'<text x="{left + i * wide + wide // 2}" y="{middle}">{html.escape(cell.text)}</text>')
    lines = [f"M{left} {y + i * high}h{across}" for i in range(len(panel.rows) + 1)]
    lines += [f"M{left + i * wide} {y}v{down}" for i in range(len(panel.columns) + 1)]
    shapes.append(f'<path d="{"".join(lines)}" stroke="#444" stroke-width="0.6" fill="none"/>')
    shapes += ['<g font-size="11" text-anchor="middle">', *texts, "</g>"]
    y += down
    return shapes, y - top, left + across


def _svg_text(x: int, y: int, text: str, size: int, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _panel_latex(panel: Panel, title: str) -> list[str]:
    size = max(len(text) for text in [*panel.columns, *(c.text for row in panel.cells for c in row)])
    wide = 0.16 * size + 0.3
    lines = [r"\begin{tikzpicture}[x=1cm,y=-0.5cm,font=\ttfamily\scriptsize]"]
    lines.append(rf"\node[anchor=west] at (0,-1.6) {{{_escaped(title)}}};")
    for i, column in enumerate(panel.columns):
        lines.append(rf"\node at ({(i + 0.5) * wide:.2f},-0.5) {{{_escaped(column)}}};")
    for j, (label, row) in enumerate(zip(panel.rows, panel.cells)):
        lines.append(rf"\node[anchor=east] at (0,{j + 0.5}) {{{_escaped(label)}}};")
        for i, cell in enumerate(row):
            fill = "" if cell.colour is None else f"[fill=c{cell.colour % len(PALETTE)}]"
            corners = f"({i * wide:.2f},{j}) rectangle ({(i + 1) * wide:.2f},{j + 1})"
            middle = f"({(i + 0.5) * wide:.2f},{j + 0.5})"
            lines.append(rf"\draw{fill} {corners}; \node at {middle} {{{_escaped(cell.text)}}};")
    return [*lines, r"\end{tikzpicture}"]


def _escaped(text: str) -> str:
    for special in "&%$#_{}":
        text = text.replace(special, "\\" + special)
    return text.replace("<", r"\textless{}").replace(">", r"\textgreater{}")

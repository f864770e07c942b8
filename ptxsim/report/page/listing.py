"""The text of a kernel for the page: PTX beside the CUDA or Python that it was made from; the script adds numbers and findings."""

from __future__ import annotations

from html import escape

from ptxsim.source import Source

CHUNK = 100  # lines that the browser lays out together when they come into sight


def listing(source: Source, prefix: str) -> str:
    """Both texts; lines of PTX have ids `{prefix}line-N`, and name the line that they were made from as `data-o="FILE:LINE"`."""
    origins, files = _origins(source)
    ptx = f'<div class="pane ptx" tabindex="0" aria-label="PTX">{_lines(source, f"{prefix}line-", origins)}</div>'
    if not files:
        return f'<div class="listing">{ptx}</div>'
    panes = "".join(
        f'<h4>{escape(original.name)}</h4><div class="original" data-file="{number}">'
        f"{_lines(original, f'{prefix}file-{number}-', {})}</div>"
        for number, original in enumerate(files)
    )
    return f'<div class="listing sides"><div class="pane" tabindex="0" aria-label="CUDA or Python">{panes}</div>{ptx}</div>'


def _origins(source: Source) -> tuple[dict[int, str], list[Source]]:
    """The origin of each line, and the files that are at hand."""
    names: dict[str, int] = {}
    files: list[Source] = []
    origins = {}
    for number in range(1, len(source.lines) + 1):
        origin = source.origin(number)
        if origin is None:
            continue
        if origin.file not in names:
            original = source.original(origin.file)
            names[origin.file] = len(files) if original is not None else -1
            files += [original] if original is not None else []
        if names[origin.file] >= 0:
            origins[number] = f"{names[origin.file]}:{origin.line}"
    return origins, files


def _lines(source: Source, prefix: str, origins: dict[int, str]) -> str:
    rows = [
        f'<div class="l" id="{prefix}{number}"{_origin(origins.get(number))}><b>{number}</b><code>{escape(line)}</code></div>'
        for number, line in enumerate(source.lines, 1)
    ]
    chunks = (rows[first : first + CHUNK] for first in range(0, len(rows), CHUNK))
    return "".join(f'<div class="chunk" style="--lines:{len(chunk)}">{"".join(chunk)}</div>' for chunk in chunks)


def _origin(origin: str | None) -> str:
    return f' data-o="{origin}"' if origin else ""

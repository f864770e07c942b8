"""Findings as text: an excerpt of the file with what is meant underlined, then notes, help and how often it was seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ptxsim.diagnostic import Finding, one_line
from ptxsim.report.origins import told
from ptxsim.report.style import WIDTH, Paint, plain, printable
from ptxsim.source import Source

_WORD = re.compile(r"[\w.%$:]+")


def render(finding: Finding, paint: Paint = plain, width: int = WIDTH, also: Sequence[int] = ()) -> str:
    """One finding in full, lines joined by newlines, without a newline at the end. `also`: lines that have the same."""
    finding = told(finding)
    level = str(finding.level)
    head = f"{level}[{finding.code}]"
    lines = [f"{paint(level, head)} {paint('strong', finding.name)}: {paint('strong', printable(finding.message))}"]
    marks, outer = _marks(finding), _outer_marks(finding)
    gutter = max([len(str(mark.line)) for mark in marks + outer] + [3])
    if finding.origin is not None:
        origin, original = finding.origin, finding.original
        name = original.name if original else origin.file
        lines.append(f"{' ' * gutter}{paint('gutter', '-->')} {name}:{origin.line}:{origin.column}")
        if original is not None:
            lines += _excerpt(original, finding, outer, gutter, paint, width)
        lines += [f"{' ' * gutter}{paint('gutter', '...')} inlined at {line}" for line in finding.inlined_at]
    if finding.line:
        lines.append(f"{' ' * gutter}{paint('gutter', '-->')} {finding.file}:{finding.line}:{finding.column}")
    if marks and finding.source is not None:
        lines += _excerpt(finding.source, finding, marks, gutter, paint, width)
    for note in finding.notes:
        lines += _remark("note", note, gutter, paint, width)
    if finding.help:
        lines += _remark("help", finding.help, gutter, paint, width)
    for fix in finding.fixes:
        if fix.tried:
            lines += _remark("tried", f"{fix.title}: {fix.tried.removeprefix('tried: ')}", gutter, paint, width)
    if seen := _seen(finding):
        lines += _remark("seen", seen, gutter, paint, width)
    if also:
        lines += _remark(
            "also", f"the same at line{'' if len(also) == 1 else 's'} {ranges(also)}", gutter, paint, width
        )
    lines += _remark("more", f"ptxsim explain {finding.name}", gutter, paint, width)
    return "\n".join(lines)


def render_all(findings: Iterable[Finding], paint: Paint = plain, width: int = WIDTH) -> str:
    """Findings in full, an empty line between two. What differs by its line alone is shown once."""
    return "\n\n".join(
        render(first, paint, width, [finding.line for finding in more]) for first, *more in alike(findings)
    )


def alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings in groups that differ by their line alone."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        place = finding.line if finding.labels or finding.notes else None
        key: tuple[object, ...] = finding.file, finding.name, finding.message, finding.help, place
        if finding.origin is not None:  # a loop that is unrolled, a function that is inlined
            key = finding.origin.file, finding.origin.line, finding.name
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def ranges(lines: Sequence[int]) -> str:
    """Line numbers as `75-78, 80`."""
    runs: list[list[int]] = []
    for line in sorted(set(lines)):
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def render_concise(findings: Iterable[Finding], paint: Paint = plain) -> str:
    """One line per finding."""
    return "\n".join(printable(one_line(told(finding))) for finding in findings)


def where(finding: Finding) -> str:
    """`CTA (0,0,0) warp 1 lane 5`, as far as it is known."""
    parts = []
    if finding.cta is not None:
        parts.append(f"CTA ({','.join(map(str, finding.cta))})")
    if finding.warp is not None:
        parts.append(f"warp {finding.warp}")
    if finding.lane is not None:
        parts.append(f"lane {finding.lane}")
    return " ".join(parts)


def _seen(finding: Finding) -> str:
    place = where(finding)
    if finding.count > 1:
        return f"{finding.count} times{f', first in {place}' if place else ''}"
    return f"in {place}" if place else ""


@dataclass(frozen=True, slots=True)
class _Mark:
    line: int
    column: int
    length: int
    text: str
    is_primary: bool


def _marks(finding: Finding) -> list[_Mark]:
    """The places to show, in the order of the file; none where the text is not at hand."""
    if finding.source is None or not finding.line:
        return []
    marks = [_Mark(finding.line, finding.column, finding.length, "", True)]
    marks += [
        _Mark(label.line, label.column, label.length, label.text, False) for label in finding.labels if label.line
    ]
    return sorted(marks, key=lambda mark: (mark.line, not mark.is_primary, mark.column))


def _outer_marks(finding: Finding) -> list[_Mark]:
    """The same places in the file that the PTX was made from, as far as they are in one file that is at hand."""
    if finding.origin is None or finding.original is None or finding.source is None:
        return []
    marks = {finding.origin.line: _Mark(finding.origin.line, finding.origin.column, 1, "", True)}
    for label in finding.labels:
        origin = finding.source.origin(label.line)
        if origin is not None and origin.file == finding.origin.file:
            marks.setdefault(origin.line, _Mark(origin.line, origin.column, 1, label.text, False))
    return [marks[line] for line in sorted(marks)]


def _excerpt(source: Source, finding: Finding, marks: list[_Mark], gutter: int, paint: Paint, width: int) -> list[str]:
    lines = [paint("gutter", f"{' ' * gutter} |")]
    shown = 0
    room = width - gutter - 3
    for mark in marks:
        text = source.line(mark.line)
        start, length = _place(text, mark)
        text, column = _window(printable(text), len(printable(text[:start])), room)
        if mark.line != shown:
            lines.append(f"{paint('gutter', f'{mark.line:>{gutter}} |')} {text}".rstrip())
            shown = mark.line
        length = max(1, min(length, room - column))
        rule = paint(str(finding.level) if mark.is_primary else "note", ("^" if mark.is_primary else "-") * length)
        under = f"{paint('gutter', ' ' * gutter + ' |')} {' ' * column}{rule}"
        if mark.text and column + length + 1 + len(mark.text) <= room:
            lines.append(f"{under} {mark.text}")
        elif mark.text:
            lines.append(under)
            lines += [f"{paint('gutter', ' ' * gutter + ' |')} {part}" for part in wrap(mark.text, room - 4, "    ")]
        else:
            lines.append(under)
    return lines


def _place(text: str, mark: _Mark) -> tuple[int, int]:
    """Offset and length to underline: what begins after the blanks where only a line is known, the whole word where no length is."""
    start = min(max(0, mark.column - 1), len(text))
    if mark.column == 1:
        start = len(text) - len(text.lstrip())
    if mark.length > 1:
        return start, mark.length
    word = _WORD.match(text, start)
    return start, len(word[0]) if word else 1


def _window(text: str, column: int, room: int) -> tuple[str, int]:
    """The part of a long line around a column, and the column within it."""
    if len(text) <= room:
        return text, column
    if column <= room - 24:
        return text[: room - 3] + "...", column
    first = min(column - 20, len(text) - room + 3)
    last = first + room - 3
    end = text[first:] if last >= len(text) else text[first : last - 3] + "..."
    return "..." + end, column - first + 3


def _remark(kind: str, text: str, gutter: int, paint: Paint, width: int) -> list[str]:
    style = kind if kind in ("help", "note") else "faint"
    opening = f"{' ' * gutter} {paint('gutter', '=')} {paint(style, kind)}: "
    indent = " " * (gutter + 3 + len(kind) + 2)
    parts = wrap(printable(text), width - len(indent), "")
    return [opening + parts[0], *(indent + part for part in parts[1:])]


def wrap(text: str, width: int, indent: str) -> list[str]:
    """Words in lines of `width`; code in a remark keeps its spaces, and a long word stays whole."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [indent + line for line in lines]

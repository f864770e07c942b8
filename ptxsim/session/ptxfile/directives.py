"""The `// ptxsim:` comments of a PTX file: how to launch it, with what, and what to expect of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from ptxsim.diagnostic import KINDS, Finding, PtxError, find_kind
from ptxsim.edits import Fix, instead
from ptxsim.session.initialiser import Initialiser, parse_initialiser
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.expectations import Comparison, parse_comparison
from ptxsim.source import Source, Span
from ptxsim.spelling import did_you_mean, nearest
from ptxsim.types import TARGETS

Dim3 = tuple[int, int, int]

_COMMENT = re.compile(r"^\s*//\s*ptxsim:\s*")
# What looks like a directive and is none, so that it would be passed over: `// ptxsim expect ...`, `ret; // ptxsim: expect ...`.
_LIKE_ONE = re.compile(
    r"^(?P<before>\s*|(?:(?!//).)*\S\s*)(?P<open>//|/\*)\s*(?P<tag>[A-Za-z]\w*)(?P<colon>\s*:)?\s*"
    r"(?:launch\s+\w+\s*=|arg\s+[\w$%]+\s*=|expect\s+\S|seed\s+\d|target\s+sm_)"
)
_SETTING = re.compile(r"\s*([^\s=]+)(?:\s*=\s*(\S*))?")
_ARGUMENT_NAME = re.compile(r"([A-Za-z_$%][\w$]*)\s*=(?!=)\s*")
_FINDING = re.compile(r"([A-Za-z][\w-]*)(?:\s+at\s+(?:line\s+)?(\S+))?\s*$")
_LAUNCH_WORDS = ("grid", "block", "cluster", "shared_mem", "entry", "after")


@dataclass(frozen=True, slots=True)
class Argument:
    """`arg NAME = initialiser`; arguments bind to the kernel's parameters by position."""

    name: str
    initialiser: Initialiser
    span: Span


@dataclass(frozen=True, slots=True)
class ExpectedFinding:
    """`expect NAME at LINE`: a finding that must appear; `line` is None for any line. In a .cu file it is one of that file."""

    name: str
    line: int | None
    span: Span

    def matches(self, finding: Finding) -> bool:
        compiled = finding.source is not None and finding.source.made_from is not None
        return finding.name == self.name and self.line in (None, finding.source_line if compiled else finding.line)


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """`expect EXPR == EXPR rtol= atol=`: a comparison of results or counts."""

    comparison: Comparison
    span: Span


@dataclass(slots=True)
class Directives:
    """Everything the directives of one file say; what none of them says is None or empty."""

    launch: LaunchOptions = field(default_factory=LaunchOptions)
    entry: str | None = None
    after: tuple[str, ...] = ()  # kernels that are launched before, in one stream with it
    arguments: list[Argument] = field(default_factory=list)
    findings: list[ExpectedFinding] = field(default_factory=list)
    values: list[ExpectedValue] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)  # options and directives that say one thing, with what

    @property
    def has_launch(self) -> bool:
        return self.launch.block is not None or self.launch.grid is not None


class _Bad(Exception):
    """A directive that cannot be understood: offset in the line, length, message, help, what would do."""

    def __init__(self, offset: int, length: int, message: str, help: str | None = None, fixes: tuple[Fix, ...] = ()):
        self.offset, self.length, self.message, self.help, self.fixes = offset, length, message, help, fixes


def _unknown(offset: int, word: str, message: str, choices: Iterable[str]) -> _Bad:
    """A word that is none of the choices."""
    choices = list(choices)
    close = nearest(word.lower(), choices)
    return _Bad(offset, len(word), message, did_you_mean(word, choices), (instead(word, close),) if close else ())


def _say(directives: Directives, name: str, value: str, offset: int, length: int) -> None:
    """Keep what is said once: of two values one would be passed over."""
    before = directives.said.setdefault(name, value)
    if before != value:
        raise _Bad(
            offset,
            length,
            f"{name} is {before} already",
            f"leave one of the two out: {name}={before} or {name}={value}",
        )


def parse_directives(source: Source) -> Directives:
    """Read the directives of a file. Raises PtxError with one `bad-directive` per comment that is not understood."""
    directives = Directives()
    problems: list[Finding] = []
    for number, line in enumerate(source.lines, 1):
        opening = _COMMENT.match(line)
        if not opening:
            if like := _like_a_directive(line):
                problems.append(like.at(Span(number, like.column, like.length)).of(source))
            continue
        try:
            _read(directives, line.rstrip(), opening.end(), number)
        except _Bad as bad:
            place = Span(number, bad.offset + 1, max(1, bad.length))
            problems.append(Finding("bad-directive", bad.message, help=bad.help, fixes=bad.fixes).at(place).of(source))
    if problems:
        raise PtxError(problems)
    return directives


def says_launch(text: str) -> bool:
    """Whether a line of a text begins as the directive of a launch does."""
    openings = ((line, _COMMENT.match(line)) for line in text.splitlines() if "ptxsim" in line)
    return any(opening and line.startswith("launch", opening.end()) for line, opening in openings)


def _like_a_directive(line: str) -> Finding | None:
    """What is wrong with a line that means to be a directive and does not begin as one."""
    like = _LIKE_ONE.match(line) if "//" in line or "/*" in line else None
    if like is None or not get_close_matches(like["tag"].lower(), ["ptxsim"], cutoff=0.8):
        return None
    column, length = like.start("tag") + 1, len(like["tag"])
    begins = "a directive begins with // ptxsim:"
    if like["open"] == "/*":
        return Finding("bad-directive", f"{begins}, not with /*", column=column, length=length, help="write // ptxsim:")
    if like["before"].strip():
        help = "put it on a line of its own"
        return Finding("bad-directive", "a directive stands alone in its line", column=column, length=length, help=help)
    written = line[like.start("tag") : like.end("colon") if like["colon"] else like.end("tag")]
    fixes = (instead(written, "ptxsim:"),)
    help = "write // ptxsim:"
    return Finding(
        "bad-directive", f"{begins}, not // {written}", column=column, length=len(written), help=help, fixes=fixes
    )


def _read(directives: Directives, line: str, start: int, number: int) -> None:
    word = re.split(r"\s", line[start:], maxsplit=1)[0]
    reader = _READERS.get(word)
    if reader is None:
        raise _unknown(start, word, f"no directive is called {word!r}", _READERS)
    rest = start + len(word)
    while rest < len(line) and line[rest].isspace():
        rest += 1
    reader(directives, line, rest, number)


def _read_launch(directives: Directives, line: str, start: int, number: int) -> None:
    for offset, key, value in _settings(line, start):
        if key not in _LAUNCH_WORDS:
            raise _unknown(offset, key, f"launch has no option {key!r}", _LAUNCH_WORDS)
        if not value:
            raise _Bad(
                offset,
                len(key),
                f"{key} needs a value",
                f"write {key}=1" if key not in ("entry", "after") else f"write {key}=NAME",
            )
        try:
            _set_option(directives, key, value)
        except ValueError as error:
            raise _Bad(line.find(value, offset + len(key)), len(value), f"{key}: {error}") from None
        _say(directives, key, value, offset, len(key) + 1 + len(value))


def _set_option(directives: Directives, key: str, value: str) -> None:
    """Keep an option of a launch. Raises ValueError."""
    if key == "entry":
        directives.entry = value
    elif key == "after":
        directives.after = tuple(value.split(","))
    else:
        said: Any = {key: parse_size(value) if key == "shared_mem" else parse_dim3(value)}
        directives.launch = replace(directives.launch, **said)


def _read_target(directives: Directives, line: str, start: int, number: int) -> None:
    name = line[start:].strip()
    if name not in TARGETS:
        raise _unknown(start, name, f"{name!r} is no target", TARGETS)
    _say(directives, "target", name, start, len(name))
    directives.launch = replace(directives.launch, target=name)


def _read_seed(directives: Directives, line: str, start: int, number: int) -> None:
    try:
        directives.launch = replace(directives.launch, seed=parse_size(line[start:].strip()))
    except ValueError as error:
        raise _Bad(start, len(line) - start, f"seed: {error}") from None
    _say(directives, "seed", line[start:].strip(), start, len(line) - start)


def _read_arguments(directives: Directives, line: str, start: int, number: int) -> None:
    pieces = list(_split_arguments(line, start))
    if not pieces:
        raise _Bad(start, len(line) - start, "an argument is written NAME = value", "arg A = ints(64,16):f16")
    for offset, name, value_offset, value in pieces:
        if any(argument.name == name for argument in directives.arguments):
            raise _Bad(offset, len(name), f"a second argument is called {name}")
        try:
            initialiser = parse_initialiser(value)
        except PtxError as error:
            finding = error.findings[0]
            raise _Bad(value_offset, len(value), finding.message, finding.help) from None
        directives.arguments.append(Argument(name, initialiser, Span(number, offset + 1, len(name))))


def _read_expectation(directives: Directives, line: str, start: int, number: int) -> None:
    text = line[start:]
    span = Span(number, start + 1, len(text))
    if finding := _FINDING.fullmatch(text):
        kind = find_kind(finding[1])
        if kind is None:
            help = did_you_mean(finding[1], KINDS)
            if not help.startswith("did you mean"):
                help = f"write expect {finding[1]} == ..., or the name of a finding; {help}"
            raise _Bad(start, len(finding[1]), f"no finding is called {finding[1]!r}", help)
        if finding[2] and not finding[2].isdigit():
            raise _Bad(start + finding.start(2), len(finding[2]), f"{finding[2]!r} is no line number")
        directives.findings.append(ExpectedFinding(kind.name, int(finding[2]) if finding[2] else None, span))
        return
    if (first := re.match(r"([A-Za-z][\w-]*)\s+\w", text)) and find_kind(first[1]):
        raise _Bad(start + first.end() - 1, len(text) - first.end() + 1, f"after {first[1]} comes only: at LINE")
    try:
        comparison = parse_comparison(text)
    except PtxError as error:
        wrong = error.findings[0]
        raise _Bad(start + wrong.column - 1, wrong.length, wrong.message, wrong.help) from None
    directives.values.append(ExpectedValue(comparison, span))


_READERS = {
    "launch": _read_launch, "target": _read_target, "seed": _read_seed, "arg": _read_arguments,
    "expect": _read_expectation,
}  # fmt: skip


def parse_dim3(text: str) -> Dim3:
    """`"4"`, `"4,2"` or `"4,2,1"` as (x, y, z). Raises ValueError."""
    try:
        sizes = [int(part, 0) for part in text.strip("()").split(",")]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise ValueError(f"{text!r} is not X, X,Y or X,Y,Z with sizes of 1 or more")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def parse_size(text: str) -> int:
    """A count of 0 or more, decimal or 0x. Raises ValueError."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError(f"{text!r} is not a number of 0 or more")
    return value


def _settings(line: str, start: int) -> Iterator[tuple[int, str, str | None]]:
    while match := _SETTING.match(line, start):
        yield match.start(1), match[1], match[2]
        start = match.end()


def _split_arguments(line: str, start: int) -> Iterator[tuple[int, str, int, str]]:
    """(offset, name, offset of the value, value) of each `NAME = value`; an = inside parentheses is the value's."""
    heads: list[re.Match[str]] = []
    depth = 0
    position = start
    while position < len(line):
        depth += {"(": 1, ")": -1}.get(line[position], 0)
        at_word = position == start or line[position - 1].isspace()
        if depth == 0 and at_word and (head := _ARGUMENT_NAME.match(line, position)):
            heads.append(head)
            position = head.end()
        else:
            position += 1
    if heads and heads[0].start() != start:
        return
    for head, end in zip(heads, [head.start() for head in heads[1:]] + [len(line)]):
        yield head.start(), head[1], head.end(), line[head.end() : end].rstrip()

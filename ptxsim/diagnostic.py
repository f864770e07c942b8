"""Findings: what ptxsim says when something is wrong, and the catalogue of everything it can say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

from ptxsim.edits import Edit, Fix, Where, changed, changes
from ptxsim.shown import Shown
from ptxsim.source import Place, Source
from ptxsim.source_lines import SourceLine

Level = Literal["error", "warning", "note", "doubtful"]
_WORD = re.compile(r"[\w.:%$]+")
# Cases of findings: what only some of a name are, for those who treat them apart.
ASSERTION: Final = "assertion"  # a trap that an assertion of the program caused
NOT_BEGUN: Final = "not begun"  # a use of shared memory of a CTA that may not have begun
LEFT_OVER: Final = "left over"  # what a CTA leaves at its end: a phase of an mbarrier, a copy that reads
NOT_OVER: Final = "not over"  # a use of tensor memory before work on it that nobody has waited for
SURPLUS: Final = "surplus"  # more bytes have come for an mbarrier than were announced
MIXED_SIZES: Final = "mixed sizes"  # a race only because two strong accesses are of different sizes
BESIDE: Final = "beside"  # a layout that explains what else is found at its line, and is no finding alone
Case = Literal["assertion", "not begun", "left over", "not over", "surplus", "mixed sizes", "beside"]
DOUBTFUL: Final = "doubtful"  # level of a finding until it is known whether it shows in the results


@dataclass(frozen=True, slots=True)
class Label:
    """Another place that belongs to a finding, with a few words about it."""

    line: int
    text: str
    column: int = 1
    length: int = 1

    @classmethod
    def at(cls, place: Place, text: str) -> Label:
        return cls(place.line, text, place.column, place.length)


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the catalogue: what findings of this name share."""

    name: str
    code: str
    level: Level
    title: str


# Families: 0 syntax, 1 target and types, 2 addresses, 3 matrices, layouts and descriptors, 4 synchronisation,
# 5 speed, 9 not modeled or failed expectations. Names are fixed by the contract; numbers are free.
_ROWS: list[tuple[str, Level, str, str]] = [
    ("PTX001", "error", "syntax-error", "the text is not PTX"),
    ("PTX002", "error", "unknown-instruction", "no instruction has this name"),
    ("PTX003", "error", "undeclared-name", "a name is used that nothing declares"),
    ("PTX004", "error", "bad-directive", "a ptxsim directive or a launch cannot be understood"),
    ("PTX101", "error", "illegal-form", "no target has this form of the instruction"),
    ("PTX102", "error", "wrong-target", "other targets have this form, the module's does not"),
    ("PTX103", "error", "wrong-version", "the form is newer than the module's .version"),
    ("PTX104", "error", "operand-mismatch", "an operand's number, kind or type is wrong"),
    ("PTX201", "error", "out-of-bounds", "an address lies in no allocation"),
    ("PTX202", "error", "misaligned-address", "an address is not a multiple of the access size"),
    ("PTX203", "error", "uninitialized-read", "a value is used that was never written"),
    ("PTX204", "error", "wrong-space", "an address lies in another state space's window"),
    ("PTX205", "error", "read-only-write", "a store goes to read-only memory"),
    ("PTX206", "error", "stack-overflow", "calls or local memory need more stack than there is"),
    ("PTX207", "error", "illegal-instruction", "the GPU refuses this instruction when it runs"),
    ("PTX208", "error", "trap", "the kernel stopped itself"),
    ("PTX301", "warning", "wmma-alignment", "a wmma row does not start on a multiple of the fragment size"),
    ("PTX302", "error", "wmma-stride-too-small", "a wmma stride is below the default stride"),
    ("PTX303", "error", "operands-not-uniform", "lanes disagree on an operand that must be the same in the warp"),
    ("PTX304", "error", "fragment-mismatch", "a fragment is used as another shape, operand, type or layout"),
    ("PTX305", "error", "ldmatrix-row-address", "a lane that must supply a row address holds nothing valid"),
    ("PTX306", "error", "sparse-metadata", "sparsity metadata or selector is not valid"),
    ("PTX307", "error", "descriptor-invalid", "a wgmma descriptor has an invalid field"),
    ("PTX308", "error", "descriptor-past-tile", "a wgmma descriptor reads past the memory it should read"),
    ("PTX309", "error", "swizzle-mismatch", "a tile was written with one swizzle or stride and is read with another"),
    ("PTX310", "warning", "swizzle-start", "a swizzled tile does not start where its pattern starts"),
    ("PTX311", "warning", "descriptor-overlap", "rows of an operand read the same bytes"),
    ("PTX312", "error", "tensor-memory-allocation", "tensor memory is allocated or given back wrongly"),
    ("PTX313", "error", "tensor-memory-lanes", "a warp accesses lanes of tensor memory that it does not reach"),
    ("PTX314", "warning", "fragment-order", "registers of a product hold parts of a tile in another order"),
    ("PTX401", "error", "divergent-aligned", "an .aligned instruction is executed by part of a warp"),
    ("PTX402", "error", "exited-lane", "a lane that must take part has exited"),
    ("PTX403", "error", "member-mask", "a member mask names lanes that are not there"),
    ("PTX404", "error", "barrier-count", "a barrier's thread count is not valid"),
    ("PTX405", "error", "mbarrier-init", "an mbarrier is used before it is initialised, or initialised wrongly"),
    ("PTX406", "error", "mbarrier-phase", "an mbarrier phase or parity is used wrongly"),
    ("PTX407", "error", "mbarrier-overflow", "an mbarrier count leaves its range"),
    ("PTX408", "error", "deadlock", "every running warp waits for something that cannot come"),
    ("PTX409", "error", "cluster-exit", "shared memory of a CTA is used that may not have begun, or have ended"),
    ("PTX410", "error", "mbarrier-visibility", "an mbarrier is used before its initialisation is visible"),
    ("PTX411", "error", "cancel-after-failure", "a cluster is asked for after an answer that there is none"),
    ("PTX420", "error", "race-warp", "two lanes of a warp touch the same bytes without order"),
    ("PTX421", "error", "race-shared", "two warps touch the same shared bytes without order"),
    ("PTX422", "error", "race-global", "two warps or CTAs touch the same global bytes without order"),
    ("PTX430", "error", "missing-proxy-fence", "the async proxy reads what no proxy fence has published"),
    ("PTX431", "note", "needless-fence", "a fence orders nothing"),
    ("PTX432", "error", "missing-wgmma-fence", "wgmma uses registers that no wgmma.fence has ordered"),
    ("PTX433", "error", "missing-commit", "asynchronous work is waited for but never committed"),
    ("PTX434", "error", "missing-wait", "results of asynchronous work are used before a wait"),
    ("PTX435", "error", "register-in-flight", "a register is touched while the tensor core owns it"),
    ("PTX436", "error", "tile-overwritten", "shared memory is overwritten while asynchronous work still reads it"),
    ("PTX437", "error", "cp-async-not-waited", "data of cp.async is read before its group was waited for"),
    ("PTX438", "error", "tensormap-fence", "a tensormap was changed and not published"),
    ("PTX439", "error", "tensor-memory-order", "tensor memory is accessed before work on it is known to be done"),
    (
        "PTX440",
        "error",
        "missing-grid-wait",
        "memory of a grid that may still run is touched before griddepcontrol.wait",
    ),
    ("PTX501", "note", "bank-conflict", "shared-memory lanes meet in the same banks"),
    ("PTX502", "note", "uncoalesced", "global accesses touch more sectors than they need"),
    ("PTX901", "error", "not-modeled", "ptxsim does not model this yet"),
    ("PTX902", "error", "expectation-failed", "an expectation of the file was not met"),
    ("PTX903", "error", "limit-reached", "the run was stopped by a limit"),
    ("PTX904", "error", "schedule-dependent", "results differ from one schedule to another"),
]
KINDS = {name: Kind(name, code, level, title) for code, level, name, title in _ROWS}

BY_CODE = {kind.code: kind for kind in KINDS.values()}


def find_kind(name_or_code: str) -> Kind | None:
    """The catalogue row for a name (`misaligned-address`) or a code (`PTX202`), or None."""
    return KINDS.get(name_or_code) or BY_CODE.get(name_or_code.upper())


@dataclass(frozen=True, slots=True)
class Finding(Shown):
    """One thing that is wrong, where, and how to correct it.

    `name` is stable and a key of KINDS; `level` defaults to the catalogue's. `cta` is (x, y, z); `warp` counts
    within the CTA, `lane` within the warp. `count` says how often the same finding was seen (same name and line).
    `fixes` are changes of the text that may correct it, the likeliest first; `fixed` makes them. `case` is for ptxsim itself.
    """

    name: str
    message: str
    line: int = 0
    column: int = 1
    length: int = 1
    level: Level | None = None
    file: str = "<text>"
    help: str | None = None
    notes: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    cta: tuple[int, int, int] | None = None
    warp: int | None = None
    lane: int | None = None
    count: int = 1
    fixes: tuple[Fix, ...] = ()
    case: Case | None = field(default=None, repr=False, compare=False)
    source: Source | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.level is None:
            object.__setattr__(self, "level", KINDS[self.name].level)

    def __str__(self) -> str:
        """One line: place, level, code, name, message, help."""
        return one_line(self)

    @property
    def code(self) -> str:
        return KINDS[self.name].code

    @property
    def origin(self) -> SourceLine | None:
        """The user's line of CUDA or Python, where the PTX has line information (nvcc -lineinfo)."""
        return self.source.origin(self.line) if self.source and self.line else None

    @property
    def original(self) -> Source | None:
        """The text of that file, if it is at hand."""
        return self.source.original(self.origin.file) if self.source and self.origin else None

    @property
    def source_file(self) -> str | None:
        return self.origin.file if self.origin else None

    @property
    def source_line(self) -> int | None:
        return self.origin.line if self.origin else None

    @property
    def inlined_at(self) -> tuple[SourceLine, ...]:
        """Where the function of that line was inlined, from the inside out."""
        return tuple(self.origin.chain())[1:] if self.origin else ()

    def at(self, place: Place) -> Finding:
        """The same finding at another place."""
        return replace(self, line=place.line, column=place.column, length=place.length)

    def of(self, source: Source) -> Finding:
        """The same finding, tied to the text it speaks of."""
        return replace(self, file=source.name, source=source)

    def extent(self, text: str) -> tuple[int, int]:
        """Offsets of what it underlines: the whole word where only its start is known, of its line where not even that."""
        lines = text.split("\n")
        number = min(max(self.line - 1, 0), len(lines) - 1)
        start, end = self.columns(lines[number])
        before = sum(map(len, lines[:number])) + number
        return before + start, min(before + end, len(text))

    def columns(self, line: str) -> tuple[int, int]:
        """The same in its line, counted from 0."""
        start = min(max(self.column - 1, 0), len(line))
        if self.column == 1 and self.length == 1:
            start = len(line) - len(line.lstrip())
        word = _WORD.match(line, start) if self.length == 1 else None
        return start, start + (len(word[0]) if word else self.length)

    def fixed(self, text: str, fix: Fix) -> str:
        """The text after one of its fixes; as it was where that finds no place."""
        return changed(text, changes(text, fix.edits, self.extent(text)))

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain values; the case and the source text are left out."""
        record = {"code": self.code, **asdict(replace(self, source=None))}
        del record["case"], record["source"]
        if self.origin:
            places = [str(line) for line in self.inlined_at]
            record |= {"source_file": self.source_file, "source_line": self.source_line, "inlined_at": places}
        return record


def beside(place: Place, where: Where, text: str) -> Fix:
    """A fix that puts a statement before or after the one at a place, or in its stead."""
    title = {"before": "Put {} before line {}", "after": "Put {} after line {}"}.get(where, "Make line {1} {0}")
    return Fix(title.format(text.rstrip(";"), place.line), (Edit(text, where, place.line, place.column),))


class PtxError(Exception):
    """The text cannot be parsed or bound, or a request makes no sense. Has `.findings`."""

    def __init__(self, findings: Finding | Iterable[Finding]):
        self.findings: list[Finding] = [findings] if isinstance(findings, Finding) else list(findings)
        super().__init__("\n".join(one_line(f) for f in self.findings))

    def __reduce__(self) -> tuple[type[PtxError], tuple[list[Finding]]]:
        """An exception is made anew of its arguments, which are not its text: process pools bring it to their callers."""
        return type(self), (self.findings,)

    def of(self, source: Source) -> PtxError:
        """The same, with its findings tied to a source."""
        return PtxError(finding.of(source) for finding in self.findings)


def problem(name: str, message: str, help: str | None = None) -> PtxError:
    """A request that makes no sense, without a place."""
    return PtxError(Finding(name, message, help=help))


MOST_LINES = 8  # that a sentence lists


def lines_of(numbers: list[int]) -> str:
    """Lines in a sentence; of many, as an unrolled loop has, the first and the last."""
    some = [*map(str, numbers)] if len(numbers) <= MOST_LINES else [*map(str, numbers[:3]), "...", str(numbers[-1])]
    in_all = f" ({len(numbers)} in all)" if len(numbers) > MOST_LINES else ""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(some)}{in_all}"


def one_line(finding: Finding) -> str:
    """`file:line:column: error[PTX202] name: message (help)`; without the place where there is none.

    The place is the one in the file that the PTX was made from, if that is known; the line of PTX then follows the message.
    """
    place = f"{finding.file}:{finding.line}:{finding.column}: " if finding.line else ""
    text = f"{finding.level}[{finding.code}] {finding.name}: {finding.message}"
    if finding.origin is not None:
        name = finding.original.name if finding.original else finding.origin.file
        text += f" ({finding.file}:{finding.line})"
        place = f"{name}:{finding.origin.line}:{finding.origin.column}: "
    text = place + text
    return f"{text} (help: {finding.help})" if finding.help else text

"""What changed since an earlier run, or against another kernel's: `--against`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ptxsim.arrays import bad
from ptxsim.report import against_profile
from ptxsim.source import read_bytes

# Counts that are compared, each better when smaller: (title, path in the document).
_INSTRUCTIONS = "warp instructions"
_COUNTS = (
    (_INSTRUCTIONS, ("warp_instructions",)),
    ("cycles", ("cycles",)),
    ("shared-memory wavefronts", ("banks", "wavefronts")),
    ("worst bank conflict", ("banks", "worst")),
    ("global-memory sectors", ("banks", "global", "sectors")),
)


def is_document(path: Path) -> bool:
    """Whether a file is meant as the document of a run, and not as one with a kernel. Raises PtxError where there is none."""
    return path.suffix == ".json" or _content(path).lstrip()[:1] == b"{"


def load(path: Path) -> dict[str, Any]:
    """The document of an earlier `--format json`. Raises PtxError if it is none."""
    import msgspec

    try:
        document = msgspec.json.decode(_content(path))
    except msgspec.DecodeError as error:
        raise bad(f"--against: {path} is not JSON: {error}", "write it with ptxsim run FILE --format json") from None
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise bad(f"--against: {path} is not the document of a run", "write it with ptxsim run FILE --format json")
    return document


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise bad(f"--against: cannot read {path}: {error.strerror}") from None


def lines(changed: Mapping[str, Any]) -> list[str]:
    """What `document` says, to be read."""
    told: list[str] = []
    for title, (before, after) in changed["counts"].items():
        if before is None or after is None:
            continue
        change = after - before
        percent = f" ({100 * change / before:+.1f} %)" if before and change else ""
        told.append(f"{title}: {before} -> {after}{percent}" if change else f"{title}: {after}, unchanged")
    told += against_profile.text(changed["profile"])
    told += [f"worse: {', '.join(changed['grown'])}"] if changed["grown"] else []
    told += [f"{word}: {each['name']}: {each['message']}" for word in ("new", "gone") for each in changed[word]]
    return told


def document(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values, for JSON: counts before and after, profiles, new and gone findings, and whether anything got worse: a larger count or
    a finding that was not there.

    More instructions are no loss where cycles or wavefronts say what they cost: a swizzle takes some.
    """
    # Lines move between versions of a file, so findings are distinguished by name and message alone.
    known, found = ({(f.get("name"), f.get("message")) for f in record["findings"]} for record in (old, new))
    counts = {title: [_pick(old, path), _pick(new, path)] for title, path in _COUNTS}
    compared = {title: pair for title, pair in counts.items() if None not in pair}
    if len(compared) > 1:
        compared.pop(_INSTRUCTIONS, None)
    grown = [title for title, (before, after) in compared.items() if after > before]
    return {
        "worse": bool(grown or found - known),
        "grown": grown,
        "counts": counts,
        "profile": against_profile.changes(old, new),
        "new": [{"name": name, "message": message} for name, message in sorted(found - known)],
        "gone": [{"name": name, "message": message} for name, message in sorted(known - found)],
    }


def _pick(document: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = document
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) else None

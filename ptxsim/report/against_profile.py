"""What changed in a profile since an earlier run: cycles, stalls by reason and line, pipes, memory, occupancy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from ptxsim.profile.accuracy import ratio

MOST_LINES = 8
SAME = 0.005  # of the larger total: changes below are left out of the text


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Before and after of two documents' `profile`, as plain values; {} where one of them has none.

    Stalls are warp cycles. Lines move between versions of a file: instructions are matched in their order.
    """
    before, after = old.get("profile"), new.get("profile")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {}
    return {
        **{name: [before.get(name), after.get(name)] for name in ("machine", "cycles", "time_us", "issued", "issue", "waves")},
        "ratio": list(_ratio(before, after)),
        "estimated": [bool(profile.get("no_assembly")) for profile in (before, after)],
        "occupancy": {
            name: [before.get("occupancy", {}).get(name), after.get("occupancy", {}).get(name)]
            for name in ("ctas", "warps", "registers", "limiter")
        },
        **{name: _pairs(before.get(name, {}), after.get(name, {})) for name in ("stalls", "pipes", "memory")},
        "lines": sorted(_matched(before, after), key=lambda row: -abs(_change(row))),
    }  # fmt: skip


def text(found: Mapping[str, Any]) -> list[str]:
    """Those changes as lines to read; cycles themselves are left to who compares the counts."""
    if not found:
        return []
    shown: list[str] = []
    if found["machine"][0] != found["machine"][1]:
        shown.append(f"machine: {found['machine'][0]} -> {found['machine'][1]}")
    if found["estimated"][0] != found["estimated"][1]:
        was, now = ("estimated" if it else "machine code of the assembler" for it in found["estimated"])
        shown.append(f"code: {was} -> {now}; that alone changes cycles: profile both with ptxas, or both without")
    shown += _faster(*found["ratio"])
    held = found["occupancy"]
    if any(a != b for a, b in held.values()):
        shown.append("occupancy: " + ", ".join(f"{name} {_arrow(*held[name])}" for name in held))
    shown.append(
        f"issue: {_percent(found['issue'][0])} -> {_percent(found['issue'][1])} of the slots; {_arrow(*found['issued'])} instructions"
    )
    pipes = {name: pair for name, pair in found["pipes"].items() if abs(pair[1] - pair[0]) >= 0.01}
    if pipes:
        shown.append(
            "pipes: " + ", ".join(f"{name} {_percent(a)} -> {_percent(b)}" for name, (a, b) in _largest(pipes))
        )
    stalls = found["stalls"]
    total = max(sum(a for a, _ in stalls.values()), sum(b for _, b in stalls.values())) or 1.0
    kept = {name: pair for name, pair in stalls.items() if abs(pair[1] - pair[0]) >= SAME * total}
    if kept:
        shown.append("stalls (warp cycles):")
        shown += [f"  {name:<20} {a:>10.0f} -> {b:>10.0f}  {b - a:+.0f}" for name, (a, b) in _largest(kept)]
    rows = [row for row in found["lines"] if abs(_change(row)) >= SAME * total]
    if rows:
        shown.append("lines that wait longer or shorter:")
    for row in rows[:MOST_LINES]:
        was, now = ("-" if value is None else f"{value:.0f}" for value in row["waited"])
        known = [line for line in row["line"] if line is not None]
        number = _arrow(known[0], known[-1])
        shown.append(f"  {number:>10}  {row['instruction'][:40]:<40}  {was:>9} -> {now:>9}  {_change(row):+.0f}")
    return shown


def _ratio(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, ...]:
    """Between what the ratio of the cycles lies, for three quarters of the measured pairs of variants; empty where none were measured or nothing changed."""
    if (
        before.get("cycles") == after.get("cycles")
        or not all(profile.get("judged") for profile in (before, after))
        or before.get("machine") != after.get("machine")
    ):
        return ()
    assembled = not before.get("no_assembly") and not after.get("no_assembly")
    return ratio(before["cycles"], after["cycles"], assembled, after["machine"])


def _faster(low: float = 1.0, high: float = 1.0) -> list[str]:
    """How much faster or slower the new one is, in words."""
    if low == high or low < 1 < high:
        return ["the model does not tell which is faster"] if low < high else []
    word, least, most = ("slower", low - 1, high - 1) if low >= 1 else ("faster", 1 / high - 1, 1 / low - 1)
    return [f"the new one is {least:.0%} to {most:.0%} {word} (three quarters of the measured pairs of variants)"]


def _pairs(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, list[float]]:
    return {name: [before.get(name, 0.0), after.get(name, 0.0)] for name in {**before, **after}}


def _matched(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Lines of both with what their warps waited; None where the other program has no such instruction there."""
    old, new = (sorted(profile.get("lines", ()), key=lambda row: row["line"]) for profile in (before, after))
    was, now = ([str(row["instruction"]) for row in rows] for rows in (old, new))
    for tag, i, i_end, j, j_end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (_row(a, b) for a, b in zip(old[i:i_end], new[j:j_end]))
        else:
            yield from (_row(a, None) for a in old[i:i_end])
            yield from (_row(None, b) for b in new[j:j_end])


def _row(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "instruction": next(row["instruction"] for row in (a, b) if row),
        "line": [row["line"] if row else None for row in (a, b)],
        "waited": [round(sum(row["stalls"].values()), 1) if row else None for row in (a, b)],
    }


def _change(row: Mapping[str, Any]) -> float:
    was, now = row["waited"]
    return (now or 0.0) - (was or 0.0)


def _largest(pairs: Mapping[str, list[float]]) -> list[tuple[str, list[float]]]:
    return sorted(pairs.items(), key=lambda item: -abs(item[1][1] - item[1][0]))


def _arrow(a: object, b: object) -> str:
    return f"{b}" if a == b else f"{a} -> {b}"


def _percent(share: float | None) -> str:
    return f"{share or 0:.0%}"

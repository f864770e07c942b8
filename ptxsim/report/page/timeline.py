"""A timeline as the page's script takes it: tracks, and spans in columns of whole cycles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.profile.model.encode import STALLS
from ptxsim.profile.timeline import Timeline

MOST = 30_000  # spans of a kind; the shortest beyond them are left out, and the page says so


def timeline_data(timeline: Timeline) -> dict[str, Any]:
    """Tracks are `[name, kind]` in the order they are drawn: engines, then warp slots.

    `blocks`, `waits` and `work` are lists of columns: track, begin (each the difference to the one before), length; then for blocks
    the CTA, the first and the last line; for waits the reason, the line, the track of who ended it or -1. `left_out`: by kind, the
    length up to which spans are missing.
    """
    engines = sorted(
        {(span.track) for span in timeline.engine_spans()}, key=lambda name: (name.startswith("sub"), name)
    )
    slots = [f"warp slot {slot}" for slot in sorted({int(slot) for slot in timeline.warps[:, 0]})]
    tracks = {name: number for number, name in enumerate([*engines, *slots])}
    kinds = {"blocks": _blocks(timeline, tracks), "waits": _waits(timeline, tracks), "work": _work(timeline, tracks)}
    left_out, spans = {}, {}
    for name, rows in kinds.items():
        kept, shortest = _longest(rows)
        spans[name] = _columns(kept)
        if shortest:
            left_out[name] = shortest
    named = [[name, "engine" if name in set(engines) else "warp"] for name in tracks]
    return {"sm": timeline.sm, "tracks": named, "reasons": list(STALLS), **spans, "left_out": left_out}


def _longest(rows: np.ndarray) -> tuple[np.ndarray, int]:
    """At most MOST rows (track, begin, length, ...), and the length up to which others are left out."""
    if len(rows) <= MOST:
        return rows, 0
    shortest = int(np.partition(rows[:, 2], len(rows) - MOST)[len(rows) - MOST])
    return rows[rows[:, 2] > shortest], shortest


def _columns(rows: np.ndarray) -> list[list[int]]:
    """Rows by begin, as columns; of the begins, the differences."""
    rows = rows[np.argsort(rows[:, 1], kind="stable")]
    rows[:, 1] = np.diff(rows[:, 1], prepend=0)
    listed: list[list[int]] = rows.T.tolist()
    return listed


def _rows(count: int, columns: int) -> np.ndarray:
    return np.zeros((count, columns), np.int64)


def _blocks(timeline: Timeline, tracks: dict[str, int]) -> np.ndarray:
    blocks = timeline.program.blocks
    lines = np.array([(ops[0].line, ops[-1].line) if ops else (0, 0) for ops in blocks], np.int64).reshape(-1, 2)
    found, given = _rows(len(timeline.warps), 6), timeline.warps
    found[:, 0] = [tracks[f"warp slot {int(slot)}"] for slot in given[:, 0]]
    found[:, 1], found[:, 2] = np.round(given[:, 3]), np.round(given[:, 4]) - np.round(given[:, 3])
    found[:, 3] = given[:, 1]
    found[:, 4:6] = lines[given[:, 2].astype(np.int64)]
    return found


def _waits(timeline: Timeline, tracks: dict[str, int]) -> np.ndarray:
    ops = timeline.program.ops
    found, given = _rows(len(timeline.waits), 6), timeline.waits
    for row, (slot, _, site, reason, begin, end, who) in zip(found, given.tolist()):
        waker = tracks.get(timeline.waker(int(slot), int(who)), -1)
        row[:] = (
            tracks[f"warp slot {int(slot)}"],
            round(begin),
            round(end) - round(begin),
            reason,
            ops[int(site)].line,
            waker,
        )
    return found


def _work(timeline: Timeline, tracks: dict[str, int]) -> np.ndarray:
    found = _rows(len(timeline.work), 3)
    for row, span in zip(found, timeline.engine_spans()):
        row[:] = tracks[span.track], round(span.begin), max(1, round(span.end) - round(span.begin))
    return found

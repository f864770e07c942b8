"""Timelines for ui.perfetto.dev: tracks per warp and engine, in the Chrome trace format that Perfetto reads."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxsim.profile.cycles import Cycles
    from ptxsim.profile.timeline import Span


def events(cycles: Cycles) -> list[dict[str, Any]]:
    """Trace events, one cycle shown as 1 us: first a process for the engines with a thread for each unit of the SM and each
    pipe of its sub-cores, then a process per CTA with a thread per warp; a slice is a stretch of work, or of a block."""
    timeline = cycles.timeline
    if timeline is None:
        return []
    return _tracks(chain(timeline.engine_spans(), timeline.warp_spans()))


def _tracks(spans: Iterable[Span]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    processes: dict[str, int] = {}
    threads: dict[tuple[str, str], int] = {}
    for span in spans:
        if span.group not in processes:
            pid = processes[span.group] = len(processes) + 1
            found.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": span.group}})
            found.append({"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}})
        pid, track = processes[span.group], (span.group, span.track)
        if track not in threads:
            tid = threads[track] = len(threads) + 1
            found.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": span.track}})
        found.append(
            {"ph": "X", "name": span.name, "pid": pid, "tid": threads[track], "ts": span.begin, "dur": span.end - span.begin}
        )  # fmt: skip
    return found


def write_trace(path: Path, cycles: Cycles) -> None:
    """Write the timeline of a profiled run. Raises OSError."""
    import msgspec

    document = {"traceEvents": events(cycles), "otherData": {"unit": "1 us is one SM cycle", "machine": cycles.machine}}
    path.write_bytes(msgspec.json.encode(document))

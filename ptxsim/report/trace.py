"""Timelines for ui.perfetto.dev: one track per warp, in the Chrome trace format that Perfetto reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxsim.profile.cycles import Cycles


def events(cycles: Cycles) -> list[dict[str, Any]]:
    """Trace events: a process per CTA, a thread per warp, a slice per block of the program. One cycle is shown as 1 us."""
    found: list[dict[str, Any]] = []
    tracks: set[tuple[int, int]] = set()
    for segment in cycles.segments:
        if (segment.cta, segment.warp) not in tracks:
            tracks.add((segment.cta, segment.warp))
            found += [
                {"ph": "M", "name": "process_name", "pid": segment.cta, "args": {"name": f"SM {segment.sm}, CTA {segment.cta}"}},
                {"ph": "M", "name": "thread_name", "pid": segment.cta, "tid": segment.warp, "args": {"name": f"warp slot {segment.warp}"}},
            ]  # fmt: skip
        found.append(
            {"ph": "X", "name": segment.name, "pid": segment.cta, "tid": segment.warp, "ts": segment.start, "dur": segment.end - segment.start}
        )  # fmt: skip
    return found


def write_trace(path: Path, cycles: Cycles) -> None:
    """Write the timeline of a profiled run. Raises OSError."""
    import msgspec

    document = {"traceEvents": events(cycles), "otherData": {"unit": "1 us is one SM cycle", "machine": cycles.machine}}
    path.write_bytes(msgspec.json.encode(document))

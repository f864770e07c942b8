"""What the processes of a program have left, together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ptxsim.demangle import short_name
from ptxsim.report.summary import plural

Record = dict[str, Any]
RUNNING = ".running"  # a process' file that says which launch runs
SAME_AS = "same_as"  # in place of a record: the number of a launch of the process that has given the same


def read(folder: Path) -> list[Record]:
    """The records of all launches that were looked at, by process and then in order. The last of a process that was killed while it
    wrote is left out."""
    return [record for path in sorted(folder.glob("*.jsonl")) for record in _of_process(path)]


def _of_process(path: Path) -> Iterator[Record]:
    known: dict[int, Record] = {}
    for line in path.read_text().split("\n")[:-1]:
        record = json.loads(line)
        if SAME_AS in record:
            yield known[record[SAME_AS]] | {"launch": record["launch"]}
        else:
            known[record["launch"]] = record
            yield record


def unfinished(folder: Path) -> list[str]:
    """The launches in whose midst processes were ended: kernel and number."""
    return [text for path in sorted(folder.glob(f"*{RUNNING}")) if (text := path.read_text())]


def by_kernel(records: list[Record]) -> dict[str, list[Record]]:
    """The records of each kernel."""
    kernels: dict[str, list[Record]] = {}
    for record in records:
        kernels.setdefault(record.get("entry") or "(not launched)", []).append(record)
    return kernels


def finding_names(records: list[Record]) -> list[tuple[str, str]]:
    """(Level, name) of every finding."""
    return [(finding["level"], finding["name"]) for record in records for finding in record["findings"]]


def summary(records: list[Record], unfinished: Sequence[str] = ()) -> str:
    """A line for each kernel, and one for all. unfinished: launches that had not ended when the program was ended."""
    lines = [_kernel(name, launches) for name, launches in by_kernel(records).items()]
    lines += [f"{launch}: ended before it was done" for launch in unfinished]
    levels = Counter(level for level, _ in finding_names(records))
    found = ", ".join(plural(levels[level], level) for level in ("error", "warning", "note") if levels[level])
    total = sum(record.get("warp_instructions", 0) for record in records)
    launches = sum("grid" in record for record in records)
    lines.append(
        f"{plural(launches, 'launch')}, {found or 'no findings'}; {plural(total, 'warp instruction')}"
        if records or unfinished
        else "no launch came to ptxsim"
    )
    return "\n".join(lines)


def unanswered(records: list[Record], why: Sequence[str]) -> list[str]:
    """The questions that no launch has answered."""
    answered = {text for record in records for text in record.get("answered", ())}
    return [text for text in why if text not in answered]


def remarks(records: list[Record], why: Sequence[str]) -> list[str]:
    """What else there is to say: questions that no launch has answered, and how to find what is wrong where no rule is broken."""
    found = [
        f"--why {text}: no launch has a parameter of that name whose array has such an element and is stored to"
        for text in unanswered(records, why)
    ]
    levels = {level for level, _ in finding_names(records)}
    if "note" in levels:
        found.append("notes, of what is no error, stand in --format json")
    if records and not why and not levels - {"note"}:
        found.append(
            "where numbers are wrong all the same: --why 'NAME[INDEX]', of a kernel's parameter, says who wrote an element, and from what"
        )
    return found


def _kernel(name: str, launches: list[Record]) -> str:
    names = Counter(finding["name"] for record in launches for finding in record["findings"])
    parts = [plural(len(launches), "launch")] if "grid" in launches[0] else []
    parts += [f"{name} {count}" for name, count in names.most_common()]
    cycles = [record["cycles"] for record in launches if record.get("cycles") is not None]
    if cycles:
        low, high = round(min(cycles)), round(max(cycles))
        told = plural(low, "cycle") if low == high else f"{low:,} to {high:,} cycles".replace(",", " ")
        sampled = sum(record.get("sample", False) for record in launches)
        # A sample's results, findings and counts are those of its CTAs alone.
        parts.append(f"{told} ({plural(sampled, 'launch')} by a sample of the CTAs)" if sampled else told)
    banks = [record["banks"] for record in launches if record.get("banks")]
    if banks:
        wavefronts, ideal = (sum(table[key] for table in banks) for key in ("wavefronts", "ideal"))
        parts.append(f"{plural(wavefronts, 'shared-memory wavefront')} (ideal {ideal})")
    return f"{short_name(name)}: {', '.join(parts)}"

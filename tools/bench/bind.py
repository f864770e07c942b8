#!/usr/bin/env python3
"""How fast PTX is checked: JSON on standard output, medians of several rounds.

`lines_per_second` is reading and binding together (what `ptxsim check` does after start-up) on a file of about 5,000
lines made of compiler output; `bind_lines_per_second` is binding alone, of a tree that is already there, with a binder
that has seen nothing; `peak_mb` is the memory of a process that checks 200,000 lines, and `start_mb` what it takes
before it has read one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from parse import SAMPLES, make_file, median_of

CHECK = """
import resource, sys
from ptxsim.session.module import check
from ptxsim.source import Source
check(Source(".version 8.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<2>; mov.u32 %r1, 0; ret; }"))
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
findings = check(Source.from_file(sys.argv[1]))
assert not findings, findings[:3]
print(start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure_memory(lines: int, folder: Path) -> dict[str, float]:
    """Megabytes of a fresh process before and at the height of checking a file of so many lines."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "big.ptx"
        path.write_text(make_file(lines, folder))
        command = [sys.executable, "-c", CHECK, str(path)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    start, peak = (round(int(word) / 1024, 1) for word in output.split())
    return {"start_mb": start, "peak_mb": peak}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=5_000)
    options.add_argument("--big", type=int, default=200_000, help="lines for the memory measurement")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--files", type=Path, default=SAMPLES, help="folder of *.sm_90.ptx files to draw on")
    chosen = options.parse_args()

    from ptxsim.session.module import Module, check, check_module
    from ptxsim.source import Source

    source = Source(make_file(chosen.lines, chosen.files))
    lines = source.text.count("\n")
    assert not check(source), check(source)[:3]
    # A text of its own for every round: one that was read before is not read again.
    texts = (Source(f"{source.text}// {number}\n") for number in range(10 * chosen.rounds))
    checking = median_of(chosen.rounds, lambda: check(next(texts)))
    module = Module(source)
    binding = median_of(chosen.rounds, lambda: check_module(module, module.target))
    result = {
        "lines": lines,
        "check_ms": round(checking * 1e3, 1),
        "lines_per_second": round(lines / checking),
        "bind_lines_per_second": round(lines / binding),
        **measure_memory(chosen.big, chosen.files),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

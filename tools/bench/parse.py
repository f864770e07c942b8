#!/usr/bin/env python3
"""How fast PTX is read: JSON on standard output, medians of several rounds.

`lines_per_second` is parsing alone, on a file of about 5,000 lines made of compiler output; `cold_ms` is a fresh
interpreter that imports ptxsim.syntax.parser and reads one line (`import_ms` and `first_parse_ms` of it inside); `peak_mb` is
the memory that 200,000 lines add, nodes included.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "tests" / "data" / "ptx"
COLD = """
import time; a = time.perf_counter()
import ptxsim.syntax.parser; b = time.perf_counter()
ptxsim.syntax.parser.parse_body("add.s32 %r1, %r2, %r3;"); c = time.perf_counter()
print((b - a) * 1e3, (c - b) * 1e3)
"""


def make_file(lines: int, folder: Path) -> str:
    """Kernels of the folder's files one after the other, renamed, until there are `lines` lines."""
    from ptxsim.syntax import ast
    from ptxsim.syntax.parser import parse

    bodies = []
    for path in sorted(folder.glob("*.sm_90.ptx")):
        text = path.read_text()
        defined = [item.name for item in parse(text).items if isinstance(item, ast.Function | ast.Variable)]
        names = re.compile(rf"(?<![\w$])({'|'.join(map(re.escape, defined))})(?![\w$])")
        text = re.sub(r"\n\s*\.section.*\Z", "\n", text.partition(".address_size 64\n")[2], flags=re.DOTALL)
        text = re.sub(r"^\s*\.file[^\n]*$", "", text, flags=re.MULTILINE)  # every number once
        bodies.append((names, text))
    parts, count = [".version 8.6\n.target sm_90a\n.address_size 64\n"], 3
    while count < lines:
        for names, text in bodies:
            parts.append(names.sub(rf"\1_{len(parts)}", text))
            count += text.count("\n")
            if count >= lines:
                break
    return "".join(parts)


def median_of(rounds: int, action: Callable[[], object]) -> float:
    """Seconds of processor time of one call."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times)


def measure_cold(rounds: int) -> dict[str, float]:
    whole, imports, parses = [], [], []
    for _ in range(rounds):
        start = time.perf_counter()
        output = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True).stdout
        whole.append((time.perf_counter() - start) * 1e3)
        first, second = map(float, output.split())
        imports.append(first)
        parses.append(second)
    keys = ("cold_ms", "import_ms", "first_parse_ms")
    return {key: round(statistics.median(times), 1) for key, times in zip(keys, (whole, imports, parses), strict=True)}


def measure_memory(lines: int, folder: Path) -> float:
    from ptxsim.syntax.parser import parse

    text = make_file(lines, folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    module = parse(text)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert module.functions()
    return round((after - before) / 1024, 1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=5_000)
    options.add_argument("--big", type=int, default=200_000, help="lines for the memory measurement")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--files", type=Path, default=SAMPLES, help="folder of *.sm_90.ptx files to draw on")
    chosen = options.parse_args()

    from ptxsim.syntax.flatten import flatten
    from ptxsim.syntax.parser import parse
    from ptxsim.syntax.printer import print_module

    text = make_file(chosen.lines, chosen.files)
    lines = text.count("\n")
    module = parse(text)
    entries = module.entries()
    parsing = median_of(chosen.rounds, lambda: parse(text))
    flattening = median_of(chosen.rounds, lambda: [flatten(entry, module) for entry in entries])
    printing = median_of(chosen.rounds, lambda: print_module(module))
    result = {
        "lines": lines,
        "parse_ms": round(parsing * 1e3, 1),
        "lines_per_second": round(lines / parsing),
        "flatten_ms": round(flattening * 1e3, 1),
        "print_ms": round(printing * 1e3, 1),
        **measure_cold(chosen.rounds),
        "peak_mb": measure_memory(chosen.big, chosen.files),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

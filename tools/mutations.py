#!/usr/bin/env python3
"""Seeded mutations of PTX files: each must give a finding near its place, in time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "robustness")]

import test_corpus_pieces as pieces  # noqa: E402


def main() -> int:
    """0 if every mutation was refused as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="its .ptx files, at any depth")
    parser.add_argument("count", type=int, nargs="?", default=5000, help="how many mutations (default: %(default)s)")
    options = parser.parse_args()
    files = sorted(options.folder.rglob("*.ptx"))
    if not files:
        parser.error(f"no .ptx file in {options.folder}")
    judged, bad, without_place, seed = 0, [], 0, 0
    while judged < options.count:
        mutation = pieces.BREAKING[seed % len(pieces.BREAKING)]
        case = pieces.mutate(mutation, seed, files)
        seed += 1
        if case is None:
            without_place += 1
            continue
        judged += 1
        text, name, place, before = case
        try:
            pieces.judge(text, name, place, before)
        except Exception as problem:  # an assertion of the judge, or a crash: both are what this looks for
            bad.append(f"{mutation.__name__} {seed - 1} {name}: {type(problem).__name__}: {str(problem)[:200]}")
    print("\n".join(bad[:50]))
    print(f"mutations: {judged - len(bad)} passed, {len(bad)} failed; {without_place} seeds found no place")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

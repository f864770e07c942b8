#!/usr/bin/env python3
"""Inputs that nobody would write, given to ptxsim: none may end in a traceback, a crash, more than 10 seconds or a gigabyte.

    tools/fuzz.py [--seconds 60 | --count N] [--kinds tokens,lines] [--seed 0] [--jobs 1 | --workers N|dask://HOST:PORT]
    tools/fuzz.py --show tokens:1234        print an input and what becomes of it
    tools/fuzz.py --minimize tokens:1234    print the least of it that still does

Kinds: bytes, tokens and lines of the repository's PTX changed; constants, registers and branches of legal PTX (meaning); what is
long, deep or large (structure); modules from the notations of all forms (grammar); directives and expressions; command lines; the
public functions with any arguments (api). Each input is named by its kind and a number, from which it is made again. Inputs run in
processes of their own, which are watched. --workers spreads shards of --count inputs over an executor. Minimal inputs of what was found lie in tests/robustness/found; a test gives them to ptxsim.
Exit status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzzing.judge import KINDS, TEXTS, generator, judge  # noqa: E402
from fuzzing.minimize import minimize  # noqa: E402
from fuzzing.workers import BATCH, Found, fuzz, shard  # noqa: E402

from ptxsim.session.workers import spread  # noqa: E402

SHARD = 5 * BATCH  # inputs of each kind that travel together


def main() -> int:
    """0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="how long (default: 60, where no count is given)")
    parser.add_argument("--count", type=int, help="how many inputs, evenly of all kinds")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0, help="the number of the first input of each kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--workers", metavar="N|dask://HOST:PORT", help="where shards of --count inputs are judged")
    parser.add_argument("--show", metavar="KIND:NUMBER")
    parser.add_argument("--minimize", metavar="KIND:NUMBER")
    options = parser.parse_args()
    if name := options.show or options.minimize:
        return _one(name, bool(options.minimize))
    kinds = options.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"there is no kind {', '.join(unknown)}: {', '.join(KINDS)}")
    seconds = options.seconds if options.seconds or options.count else 60.0
    began = time.monotonic()
    count, found = 0, dict[str, list[Found]]()
    inputs = fuzz(kinds, options.seed, options.count, seconds, options.jobs)
    if options.workers is not None:
        if options.count is None:
            parser.error("--workers goes with --count")
        each = SHARD * len(kinds)
        shards = [
            (kinds, options.seed + n * SHARD, min(each, options.count - n * each))
            for n in range(-(-options.count // each))
        ]
        inputs = chain.from_iterable(spread(shard, shards, options.workers, batch=1))
    for kind, seed, problem in inputs:
        count += 1
        if problem is not None:
            alike = found.setdefault(f"{kind if not problem.place else ''}{problem.cause}", [])
            alike.append(Found(kind, seed, problem))
            if len(alike) == 1:
                print(f"{kind}:{seed}: {problem.what.splitlines()[0]} ({problem.place})", flush=True)
    took = time.monotonic() - began
    for alike in sorted(found.values(), key=len, reverse=True):
        names = ", ".join(f"{one.kind}:{one.seed}" for one in alike[:4])
        print(f"{len(alike):6} x {alike[0].problem.cause}: {names}")
    last = options.seed + -(-count // len(kinds))
    failed = sum(map(len, found.values()))
    print(f"{count} inputs of kinds {','.join(kinds)}, numbers {options.seed} to about {last}, in {took:.0f} s")
    print(f"fuzz: {count - failed} passed, {failed} failed")
    return 1 if found else 0


def _one(name: str, least: bool) -> int:
    kind, _, number = name.partition(":")
    seed = int(number)
    if least and kind in TEXTS:
        print(minimize(kind, seed))
        return 0
    if kind in TEXTS:
        print(TEXTS[kind](generator(kind, seed)))
    problem = judge(kind, seed)
    print(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())

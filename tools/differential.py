#!/usr/bin/env python3
"""Random programs on a GPU: what it makes of them judges ptxsim (tools/conformance programs DIR).

    tools/differential.py make DIR [--seed 0] [--modules 16] [--count 40]      PTX, and cubins of the ptxas on the PATH
    tools/differential.py record DIR                                           on a machine with an sm_90 GPU: DIR/bits.npz

The second step needs Python and numpy alone. Every second program has sums and products of one type, as the assembler fuses them;
the others have instructions of all kinds, branches and guards, and half of these memory, atomics, loops, matrices and carries as well.
Nothing in them is dead, no loop is unrolled.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from random_programs import device, modules
from random_programs.operations import TYPES


def make(folder: Path, seeds: range, count: int) -> None:
    """Write SEED.ptx.gz, SEED.cubin and programs.json. Raises CalledProcessError with what ptxas says."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        text = modules.module(seed, count)
        (folder / f"{seed}.ptx.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        command = ["ptxas", "-arch=sm_90a", "-o", str(folder / f"{seed}.cubin"), "-"]
        subprocess.run(command, input=text, text=True, check=True)
    version = subprocess.run(["ptxas", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    kinds = {str(seed): modules.kinds(seed, count) for seed in seeds}
    (folder / "programs.json").write_text(json.dumps({"ptxas": version, "kinds": kinds}) + "\n")


def record(folder: Path) -> None:
    about = json.loads((folder / "programs.json").read_text())
    inputs = {name: modules.inputs(n, name) for n, name in enumerate(("mixed", *TYPES, "warp"))}
    about["device"] = device.record(folder, about["kinds"], inputs)
    (folder / "programs.json").write_text(json.dumps(about) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("make", "record"))
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", type=int, default=16)
    parser.add_argument("--count", type=int, default=40, help="programs of a module")
    options = parser.parse_args()
    if options.step == "make":
        make(options.folder, range(options.seed, options.seed + options.modules), options.count)
    else:
        record(options.folder)


if __name__ == "__main__":
    main()

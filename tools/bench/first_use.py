"""The first use on a machine, with empty caches, the second and a later one: processor seconds of run, banks and profile on samples.

    python tools/bench/first_use.py [--rounds N]

Each use is a process of its own, medians; Python's byte code is there, as after an installation. The last line is a loop of plain
Python, to compare machines by: 0.4 s on an idle core of the machine this was written on.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = {"mma": "mma_gemm_swizzled.ptx", "wgmma": "wgmma_m64n64k16.ptx", "wmma": "wmma_gemm.ptx"}


def seconds(command: str, sample: str, folder: str) -> float:
    """Processor time of one command."""
    environment = {**os.environ, "PTXSIM_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "ptxsim", command, str(ROOT / "samples" / sample)],
        env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    compileall.compile_dir(ROOT / "ptxsim", quiet=1)
    print(f"{'':16}{'first':>8}{'second':>8}{'later':>8}   processor seconds")
    for command in ("run", "banks", "profile"):
        for name, sample in SAMPLES.items():
            uses = []
            for _ in range(rounds):
                with tempfile.TemporaryDirectory() as folder:
                    uses.append([seconds(command, sample, folder) for _ in range(3)])
            print(f"{command + ' ' + name:16}" + "".join(f"{statistics.median(each):8.2f}" for each in zip(*uses)))
    began, total = time.process_time(), 0
    for i in range(5_000_000):
        total += i * i & 7
    print(f"{'plain loop':16}{time.process_time() - began:8.2f}")


if __name__ == "__main__":
    main()

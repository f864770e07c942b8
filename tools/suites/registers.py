"""Registers and spills of every kernel of a folder against `ptxas -v`: those of the marked text, and the estimate without ptxas.

With line marks the assembler must say the same as without. The estimate is within 10 % of it for the share that `--within` asks for.
Rules of the lowering come from kernels of one half only, drawn by names; the other half judges them, and both judge the table that corrects
them (tools/fit_registers.py). `--table` prints every kernel.
"""

from __future__ import annotations

import gzip
import re
from argparse import ArgumentParser
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ptxsim.profile.lowering.learned import is_near
from suites.common import Options, Tally, spread

ENDINGS = re.compile(r"\.sm_\w+|\.lineinfo|\.G|\.ptx|\.gz")  # of files: how they were compiled


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--within", metavar="X", type=float, default=0.0, help="least share of kernels whose estimate is within 10 %%"
    )
    parser.add_argument("--table", action="store_true", help="print file, kernel, registers, estimate and their ratio")


class Kernel(NamedTuple):
    """What ptxas says of a kernel as it is, and of its marked text, and what the lowering estimates: (registers, bytes of spills)."""

    file: str
    name: str
    plain: tuple[int, int]
    marked: tuple[int, int]
    estimate: tuple[int, int]

    @property
    def is_near(self) -> bool:
        """Whether the estimate is within 10 %: exactly so much, too, which as a floating-point ratio is more."""
        return is_near(self.estimate[0], self.plain[0])

    @property
    def judges(self) -> bool:
        """Whether it is of the half that no rule was found with: by the names of file and kernel, the same for every target."""
        return bool(blake2b(f"{ENDINGS.sub('', self.file)}{self.name}".encode()).digest()[0] % 2)


def run(options: Options, tally: Tally) -> bool:
    files = [path for path in sorted(options.folder.rglob("*.ptx*")) if options.selects(path.name)]
    kernels: list[Kernel] = []
    for path, found, problem in spread(one, [str(path) for path in files], options.jobs, chunk=2):
        name = str(Path(path).relative_to(options.folder))
        if problem:
            tally.skipped[problem] += 1
        for kernel in found:
            kernels.append(kernel)
            if kernel.plain == kernel.marked:
                tally.passed += 1
            else:
                tally.failures.append(
                    f"{name}: {kernel.name}: ptxas says {kernel.plain}, of the marked text {kernel.marked}"
                )
    if not kernels:
        return False
    tally.notes += [f"skipped: {count} files: {why}" for why, count in tally.skipped.items()]
    if options.extra.get("table"):
        tally.notes += [
            f"{k.file}\t{k.name}\t{k.plain[0]}\t{k.estimate[0]}\t{k.estimate[0] / k.plain[0]:.2f}" for k in kernels
        ]
    near = _said(tally, "estimate", kernels)
    for judges in (False, True):
        _said(tally, "that judge" if judges else "that rules come from", [k for k in kernels if k.judges == judges])
    spills = [kernel for kernel in kernels if kernel.plain[1] or kernel.estimate[1]]
    tally.notes += [f"spills of {k.name}: {k.plain[1]} bytes in the text, estimated {k.estimate[1]}" for k in spills]
    return not tally.failures and near >= options.extra.get("within", 0.0)


def _said(tally: Tally, which: str, kernels: list[Kernel]) -> float:
    """The share of kernels within 10 %, said with the rest."""
    ratio = np.array([kernel.estimate[0] / kernel.plain[0] for kernel in kernels] or [1.0])
    error = np.abs(ratio - 1)
    near = float(np.mean([k.is_near for k in kernels])) if kernels else 1.0
    tally.notes.append(
        f"{which}: {near:.0%} of {len(kernels)} kernels within 10 %, {(error <= 0.25).mean():.0%} within 25 %, "
        f"mean error {error.mean():.0%}, mean ratio {ratio.mean():.2f}"
    )
    return near


def one(path: str) -> tuple[str, list[Kernel], str]:
    """The kernels of a file, or why there are none."""
    from ptxsim import Module
    from ptxsim.diagnostic import PtxError
    from ptxsim.profile.lowering.lower import lower
    from ptxsim.profile.lowering.regions import merged
    from ptxsim.profile.lowering.spills import most_registers
    from ptxsim.profile.sass.listing import Listing, read_resources
    from ptxsim.profile.sass.machine import listing_of
    from ptxsim.profile.sass.tools import NoMachineCode, assembled

    found: list[Kernel] = []
    try:
        raw = Path(path).read_bytes()
        module = Module.from_text((gzip.decompress(raw) if path.endswith(".gz") else raw).decode())
        said = ""
        for name in module.entries:
            kernel = module.kernel(name)
            code = kernel.code()
            program, target = merged(code.decoded.program), module.target.name
            said = said or assembled(module.source.text, target)[0]
            plain = Listing()
            read_resources(said, name, plain)
            listing, _ = listing_of(program, module.source.text, name, target)
            made = lower(program, target, most_registers(code.function.directives))
            rows = [(part.registers, part.spilled) for part in (plain, listing, made)]
            found.append(Kernel(Path(path).name, name, rows[0], rows[1], rows[2]))
    except NoMachineCode as reason:
        return path, found, str(reason)[:60]
    except PtxError as error:
        return path, found, str(error)[:60]
    return path, found, ""

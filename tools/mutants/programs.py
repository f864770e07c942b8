"""Programs to make mutants of: PTX files with directives, launches of the timing suites, cases of the corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from suites import cases, timing
from suites.common import Record

from ptxsim import Module
from ptxsim.diagnostic import Finding
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """What a run showed: findings of level error and warning, what it wrote, how many warp instructions it took."""

    findings: tuple[Finding, ...]
    outputs: str  # digest of what it wrote, empty where expectations judge it
    wrong: bool  # an expectation of the file is not met
    broken: bool  # the file expects findings
    steps: int


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel with its launch. `launch` is None where the file's directives say it."""

    name: str
    path: Path
    launch: Record | None = None

    @property
    def source(self) -> Source:
        return timing.read(self.path).source

    def run(
        self, source: Source, engine: str | None = None, max_steps: int | None = None, seed: int | None = None
    ) -> Outcome:  # fmt: skip
        """Run it with all checks, with another text in place of its own; without a seed, on the one its directives name."""
        if self.launch is None:
            return _directives(source, engine, max_steps, seed)
        module = Module(source)
        case = "params" in self.launch
        if case:
            memory = cases.caselib(str(self._folder)).inputs(self.launch)
            cases.set_symbols(module, self.launch, memory)
            arguments = cases.arguments(self.launch, memory)
        else:
            memory = {name: timing.buffer(spec) for name, spec in self.launch["buffers"].items()}
            arguments = [timing.argument(value, memory) for value in self.launch["args"]]
        options = LaunchOptions(
            grid=self.launch["grid"], block=self.launch["block"], cluster=self.launch.get("cluster"),
            shared_mem=self.launch["dynamic_smem" if case else "dsmem"], target=cases.RECORDED_ON if case else None,
            engine=engine, checks="all", jobs=1, banks=False, max_steps=max_steps, seed=seed,
        )  # fmt: skip
        run = module.kernel(self.launch["entry"]).run(arguments, options)
        return Outcome(_judged(run.findings), _digest(memory), False, False, run.warp_instructions)

    @property
    def _folder(self) -> Path:
        return next(each for each in self.path.parents if (each / "caselib.py").exists())


def programs(path: Path) -> Iterator[Program]:
    """The programs of a file or folder: launches of a kernels.json or cases.json in it, else its files with directives."""
    if path.is_file():
        yield Program(_name(path, path.parent), path)
    elif (path / "kernels.json").exists():
        for launch in json.loads((path / "kernels.json").read_text()):
            yield Program(launch["id"], path / "kernels" / f"{launch['kernel']}.ptx", launch)
    elif (path / "cases.json").exists():
        for case in cases.caselib(str(path)).load(path / "cases.json"):
            yield Program(case["name"], path / case["file"], case)
    else:
        for file in sorted(path.rglob("*.ptx")):
            if "// ptxsim: launch" in file.read_text():
                yield Program(_name(file, path), file)


def _name(file: Path, folder: Path) -> str:
    """Of a file of this repository from its root on, of another one from the folder on that was asked for."""
    file = file.resolve()
    return str(file.relative_to(ROOT if file.is_relative_to(ROOT) else folder.resolve()))


def _directives(source: Source, engine: str | None, max_steps: int | None, seed: int | None) -> Outcome:
    result = run_file(source, options=Options(engine=engine, checks="all", jobs=1, max_steps=max_steps, seed=seed))
    steps = result.run.warp_instructions if result.run else 0
    return Outcome(_judged(result.findings), "", any(map(_of_values, result.findings)), bool(result.expected), steps)


def _of_values(finding: Finding) -> bool:
    return finding.name == "expectation-failed"


def _judged(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.level != "note" and not _of_values(each))


def _digest(memory: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(memory):
        digest.update(np.ascontiguousarray(memory[name]).tobytes())
    return digest.hexdigest()

"""Launches of compiler-made kernels: outputs meet the case's reference, no finding of level error.

Run as the machine the outputs were recorded on (sm_90a), so that they can also be compared bit for bit. Cases without wgmma,
TMA, bulk copies and clusters run on both engines, with one thread and two, observed and not: all give the same bits.
"""

from __future__ import annotations

import importlib.util
import re
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suites.common import Options, Record, Tally, spread

if TYPE_CHECKING:
    from ptxsim import Module

Memory: TypeAlias = dict[str, np.ndarray]

RECORDED_ON = "sm_90a"
ASYNCHRONOUS = re.compile(
    r"^[^/\n]*\b(wgmma|cp\.(reduce\.)?async\.bulk|tensormap|mapa|barrier\.cluster|tcgen05)\b", re.M
)


@dataclass(frozen=True)
class Way:
    """How a case is run."""

    engine: str | None
    jobs: int = 1
    checks: str = "all"

    def __str__(self) -> str:
        return f"{self.engine or 'default'} engine, {self.jobs} threads, checks={self.checks}"


# The first is the one whose outputs are judged.
WAYS = (
    Way("compiled"), Way("compiled", 2, "none"), Way("compiled", 1, "none"), Way("interpreter", 1, "none"),
    Way("interpreter", 2, "none"),
)  # fmt: skip


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--seeds", metavar="N", type=int, default=1, help="run every case with seeds 0..N-1")


def run(options: Options, tally: Tally) -> bool:
    cases = caselib(str(options.folder)).load(options.folder / "cases.json")
    seeds = range(options.extra.get("seeds") or 1)
    work = [
        (str(options.folder), case, seed, ways_of(case, options))
        for case in cases
        for seed in seeds
        if options.selects("cases.json", case["name"])
    ]
    equal = compared = several = 0
    for (_, _, _, ways), (name, problem, same, count) in zip(work, spread(one, work, options.jobs, chunk=1)):
        equal, compared, several = equal + same, compared + count, several + (len(ways) > 1)
        if problem:
            tally.failures.append(f"{name}: {problem}")
        else:
            tally.passed += 1
    tally.notes.append(f"{equal} of {compared} outputs equal the recorded bits")
    if several:
        tally.notes.append(f"{several} cases on both engines, with 1 and 2 threads, observed and not: the same bits")
    return not tally.failures and tally.passed > 0


@lru_cache(maxsize=1)
def caselib(folder: str) -> Any:
    """The data's own module of inputs, references and comparison."""
    spec = importlib.util.spec_from_file_location("caselib", Path(folder) / "caselib.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def recordings(folder: str) -> Mapping[str, np.ndarray]:
    path = Path(folder) / "h200_outputs.npz"
    return np.load(path) if path.exists() else {}


def arguments(case: Record, memory: Memory) -> list[Any]:
    from ptxsim import TensorMap

    values: list[Any] = []
    for parameter in case["params"]:
        match parameter["kind"]:
            case "buffer":
                values.append(memory[parameter["name"]])
            case "scalar":
                values.append(parameter["value"])
            case "null":
                values.append(0)
            case "bytes":
                values.append(bytes.fromhex(parameter["hex"]))
            case "tensormap":
                values.append(
                    TensorMap(
                        memory[parameter["buffer"]],
                        parameter["dtype"],
                        parameter["dims"],
                        parameter["strides"],
                        parameter["box"],
                        element_strides=parameter["elem_strides"],
                        swizzle=parameter["swizzle"],
                        oob_fill=parameter["oob"],
                    )  # fmt: skip
                )
    return values


def ways_of(case: Record, options: Options) -> tuple[Way, ...]:
    """The engine that was asked for; else all ways that a case allows."""
    asynchronous = case["cluster"] != [1, 1, 1] or ASYNCHRONOUS.search((options.folder / case["file"]).read_text())
    return (Way(options.engine),) if options.engine or asynchronous else WAYS


def one(work: tuple[str, Record, int, Sequence[Way]]) -> tuple[str, str | None, int, int]:
    """Name, problem or None, outputs equal to the recorded bits, outputs compared."""
    folder, case, seed, ways = work
    name = case["name"] if seed == 0 else f"{case['name']} (seed {seed})"
    try:
        before = caselib(folder).inputs(case)
        memory, error = launch(folder, case, seed, ways[0])
        if error:
            return name, error, 0, 0
        problems = caselib(folder).check(case, memory, before)
        for way in () if problems else ways[1:]:
            other, error = launch(folder, case, seed, way)
            problems += [f"{error} ({way})"] if error else []
            problems += [f"{key} differs with the {way}" for key in memory if not same_bits(memory[key], other[key])]
        recorded = {key: recordings(folder).get(f"{case['name']}/{key}") for key in memory}
        compared = [same_bits(memory[key], want) for key, want in recorded.items() if want is not None]
        return name, problems[0] if problems else None, sum(compared), len(compared)
    except Exception as error:
        return name, f"{type(error).__name__}: {str(error)[:300]}", 0, 0


def launch(folder: str, case: Record, seed: int, way: Way) -> tuple[Memory, str | None]:
    """The case's buffers after the launch, and what was found wrong."""
    from ptxsim import Module

    memory = caselib(folder).inputs(case)
    module = Module.from_file(Path(folder) / case["file"])
    set_symbols(module, case, memory)
    run = module.kernel(case["entry"]).launch(
        case["grid"], case["block"], arguments(case, memory), case["dynamic_smem"], cluster=case["cluster"],
        target=RECORDED_ON, engine=way.engine, jobs=way.jobs, seed=seed, checks=way.checks, on_error="report",
    )  # fmt: skip
    errors = [f for f in run.findings if f.level == "error"]
    return memory, f"finding {errors[0].name} at line {errors[0].line}: {errors[0].message}" if errors else None


def set_symbols(module: Module, case: Record, memory: Memory) -> None:
    """Fill the variables of the module that the case fills before its launch."""
    for symbol in case.get("init_symbols", []):
        view = module.symbol(symbol["symbol"]).reshape(-1).view(np.uint8)
        data = memory[symbol["symbol"]].reshape(-1).view(np.uint8)
        view[: len(data)] = data


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))

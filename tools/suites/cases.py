"""Launches of compiler-made kernels: outputs meet the case's reference, no finding of level error.

Run as the machine the outputs were recorded on (sm_90a), so that they can also be compared bit for bit.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

import numpy as np

from suites.common import Options, Tally, spread

RECORDED_ON = "sm_90a"


def add_arguments(parser) -> None:
    parser.add_argument("--seeds", metavar="N", type=int, default=1, help="run every case with seeds 0..N-1")


def run(options: Options, tally: Tally) -> bool:
    cases = caselib(str(options.folder)).load(options.folder / "cases.json")
    seeds = range(options.extra.get("seeds") or 1)
    work = [
        (str(options.folder), case, seed, options.engine)
        for case in cases
        for seed in seeds
        if options.selects("cases.json", case["name"])
    ]
    equal = compared = 0
    for name, problem, same, count in spread(one, work, options.jobs, chunk=1):
        equal, compared = equal + same, compared + count
        if problem:
            tally.failures.append(f"{name}: {problem}")
        else:
            tally.passed += 1
    tally.notes.append(f"{equal} of {compared} outputs equal the recorded bits")
    return not tally.failures and tally.passed > 0


@lru_cache(maxsize=1)
def caselib(folder: str):
    """The data's own module of inputs, references and comparison."""
    spec = importlib.util.spec_from_file_location("caselib", Path(folder) / "caselib.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def recordings(folder: str):
    path = Path(folder) / "h200_outputs.npz"
    return np.load(path) if path.exists() else {}


def arguments(case: dict, memory: dict) -> list:
    from ptxsim import TensorMap

    values: list = []
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


def one(work) -> tuple[str, str | None, int, int]:
    """Name, problem or None, outputs equal to the recorded bits, outputs compared."""
    folder, case, seed, engine = work
    name = case["name"] if seed == 0 else f"{case['name']} (seed {seed})"
    try:
        from ptxsim import Module

        library = caselib(folder)
        memory = library.inputs(case)
        before = {key: array.copy() for key, array in memory.items()}
        module = Module.from_file(Path(folder) / case["file"])
        for symbol in case.get("init_symbols", []):
            view = module.symbol(symbol["symbol"]).reshape(-1).view(np.uint8)
            data = memory[symbol["symbol"]].reshape(-1).view(np.uint8)
            view[: len(data)] = data
        run = module.kernel(case["entry"]).launch(
            case["grid"], case["block"], arguments(case, memory), case["dynamic_smem"], cluster=case["cluster"],
            target=RECORDED_ON, engine=engine, seed=seed, checks="all", on_error="report",
        )  # fmt: skip
        errors = [f for f in run.findings if f.level == "error"]
        if errors:
            return name, f"finding {errors[0].name} at line {errors[0].line}: {errors[0].message}", 0, 0
        problems = library.check(case, memory, before)
        same = count = 0
        recorded = recordings(folder)
        for key, array in memory.items():
            if f"{case['name']}/{key}" in recorded:
                count += 1
                want = recorded[f"{case['name']}/{key}"]
                same += np.array_equal(array.reshape(-1).view(np.uint8), want.reshape(-1).view(np.uint8))
        return name, problems[0] if problems else None, same, count
    except Exception as error:
        return name, f"{type(error).__name__}: {str(error)[:300]}", 0, 0

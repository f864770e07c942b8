"""Whole kernels with measured cycles: the run is right, and the predicted cycles come close.

A launch is right if its outputs have the recorded checksum, or (floating sums in another order, other approximations) the
recorded sums and first values within the launch's tolerance. Launches of one `family` do the same work in different ways:
of every pair of them whose measured cycles differ by more than 10 %, the predicted ones should say which is the faster.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxsim import Module

import gzip
import hashlib
import json
from itertools import combinations
from pathlib import Path

import numpy as np

from ptxsim.profile.accuracy import ASSEMBLED, ESTIMATED, Judged, bars, inside, written
from suites.common import Options, Record, Tally, spread

DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4", "u32": "u4", "u64": "u8"}
MASK = np.uint64(0xFFFFFFFFFFFFFFFF)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mape", metavar="X", type=float, default=0.25, help="highest mean error of the predicted cycles"
    )
    parser.add_argument(
        "--accuracy", metavar="FILE", type=Path, help="put what the errors are, by kind of kernel, into this table"
    )
    parser.add_argument(
        "--order", metavar="X", type=float, default=0.0, help="lowest share of pairs of a family that are in order"
    )
    parser.add_argument(
        "--gpu",
        metavar="NAME",
        default="H200",
        help="whose cycles: the H200's (default) or the H100's, of launches that have them",
    )


DIFFERENT = 0.1  # of the faster one's cycles: from there on a pair of variants has an order


def run(options: Options, tally: Tally) -> bool:
    launches = json.loads((options.folder / "kernels.json").read_text())
    chosen = [launch for launch in launches if options.selects("kernels.json", launch["id"])]
    gpu = options.extra.get("gpu", "H200").upper()
    cycles_of = "warm" if gpu == "H200" else gpu.lower()
    chosen = [launch | {"warm": launch[cycles_of]} for launch in chosen if cycles_of in launch]
    measured, predicted = [], []
    families: dict[str, list[tuple[str, float, float]]] = {}
    work = [(str(options.folder), launch, options.engine, gpu) for launch in chosen]
    judged: list[Judged] = []
    codes: set[str] = set()
    for launch, (problem, found) in zip(chosen, spread(one, work, options.jobs, chunk=1)):
        cycles, kind, code = found or (None, "", "")
        real = launch["warm"]["active_max"]
        error = f"{cycles / real - 1:+.1%}" if cycles else "no prediction"
        tally.notes.append(f"{launch['id']:28} measured {real:9.0f}  predicted {cycles or 0:9.0f}  {error}")
        if problem:
            tally.failures.append(f"{launch['id']}: {problem}")
        elif cycles is None:
            tally.failures.append(f"{launch['id']}: runs right, but its cycles are not predicted")
        else:
            tally.passed += 1
        if cycles:
            measured.append(real)
            predicted.append(cycles)
            judged.append(Judged(kind, real, cycles, launch.get("family") or ""))
            codes.add(code)
            if launch.get("family"):
                families.setdefault(launch["family"], []).append((launch["id"], real, cycles))
    if len(measured) < 2:
        return False
    mape = float(np.mean(np.abs(np.array(predicted) / np.array(measured) - 1)))
    tally.notes.append(f"MAPE {mape:.1%}, Spearman {spearman(measured, predicted):.3f}, over {len(measured)} launches")
    ratios = [max(p / m, m / p) for p, m in zip(predicted, measured)]
    tally.notes.append(f"the worst is off by a factor of {max(ratios):.2f}")
    wrong, pairs = out_of_order(families)
    tally.notes += [f"out of order: {text}" for text in wrong]
    if pairs:
        tally.notes.append(f"variants: {pairs - len(wrong)} of {pairs} pairs in order ({1 - len(wrong) / pairs:.1%})")
    rows = bars(judged)
    for row in rows:
        tally.notes.append(
            f"{row.kind:16} {row.launches:4} launches, mean error {row.mean:.1%}, measured / predicted {row.low:.2f} to {row.high:.2f}"
        )
    held = inside(judged)
    tally.notes.append(f"{held} of {len(judged)} ({held / len(judged):.0%}) are inside the bar that the others give")
    tally.notes += [f"Kendall's tau of {name}: {tau:.2f} over {count}" for name, tau, count in taus(families)]
    if table := options.extra.get("accuracy"):
        if len(codes) == 1:
            written(rows, codes.pop(), table, gpu)
        else:
            tally.failures.append(
                f"{table} stays as it was: cycles of some launches are of {', of others of '.join(sorted(codes))} code"
            )
    ordered = not pairs or 1 - len(wrong) / pairs >= options.extra.get("order", 0.0)
    return not tally.failures and mape <= options.extra.get("mape", 0.25) and ordered


def out_of_order(families: dict[str, list[tuple[str, float, float]]]) -> tuple[list[str], int]:
    """Pairs of (name, measured, predicted) of one family that come out the wrong way round, in words, and how many have an order."""
    wrong, count = [], 0
    for members in families.values():
        for one, other in combinations(sorted(members, key=lambda m: m[1]), 2):
            if other[1] <= (1 + DIFFERENT) * one[1]:
                continue
            count += 1
            if other[2] <= one[2]:
                wrong.append(
                    f"{one[0]} {one[1]:.0f} < {other[0]} {other[1]:.0f}, predicted {one[2]:.0f} and {other[2]:.0f}"
                )
    return wrong, count


MANY = 8  # variants of a family from which on its order is said by itself


def taus(families: dict[str, list[tuple[str, float, float]]]) -> list[tuple[str, float, int]]:
    """Kendall's tau-a of predicted against measured cycles, of families of many variants: (name, tau, how many)."""
    found = []
    for name, members in families.items():
        if len(members) >= MANY:
            signs = [float(np.sign((j[1] - k[1]) * (j[2] - k[2]))) for j, k in combinations(members, 2)]
            found.append((name, float(np.mean(signs)), len(members)))
    return found


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Rank correlation; equal values share their mean rank."""

    def ranks(values: Sequence[float]) -> np.ndarray:
        x = np.asarray(values, float)
        return np.array([(x < v).sum() + ((x == v).sum() - 1) / 2 for v in x])

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def splitmix(seed: int, count: int) -> np.ndarray:
    """u(i) of the data's README: the splitmix64 finaliser of seed + (i+1) * golden."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def lcg(state: int, count: int) -> np.ndarray:
    """States of s = 1664525 s + 1013904223 (32 bits) after `state`."""
    states = np.array([(1664525 * state + 1013904223) % 2**32], np.uint32)
    factor, term = 1664525, 1013904223
    while len(states) < count:  # as many steps on as there are states
        states = np.concatenate([states, states * np.uint32(factor) + np.uint32(term)])
        factor, term = factor * factor % 2**32, (factor + 1) * term % 2**32
    return states[:count]


def values_of(count: int, dtype: str) -> int:
    """32-bit words of so many values."""
    return count * np.dtype(DTYPES.get(dtype, "u1")).itemsize // 4


def buffer(spec: Record) -> np.ndarray:
    """A buffer's initial content."""
    count, dtype, seed = spec["n"], spec["dtype"], spec.get("seed", 0)
    match spec["init"]:
        case "zero":
            return np.zeros(count, DTYPES.get(dtype, "u2" if dtype == "bf16" else "u1"))
        case "zero_first":
            values = np.full(count, -1, DTYPES[dtype])
            values[: spec["cnt"]] = 0
            return values
        case "uniform":
            unit = (splitmix(seed, count) >> np.uint64(40)).astype(np.float64) / 2**24
            values = spec["lo"] + (spec["hi"] - spec["lo"]) * unit
            if dtype == "bf16":
                bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
                return np.asarray((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, np.uint16)
            return np.asarray(values, DTYPES[dtype])
        case "raw":
            u = splitmix(seed, count)
            if dtype == "u64":
                return u
            if dtype == "i8":
                return (u >> np.uint64(56)).astype(np.uint8).view(np.int8)
            if dtype == "e4m3":
                return (u >> np.uint64(56)).astype(np.uint8) & 0xBF
            high = (u >> np.uint64(32)).astype(np.uint32)
            return (high % spec["m"] if spec.get("m") else high).astype(DTYPES[dtype])
        case "lcg":
            steps = spec.get("skip", 0) + values_of(count, dtype)
            return (lcg(seed, steps)[spec.get("skip", 0) :] >> 9).view(DTYPES.get(dtype, "u1"))
        case "perm":
            return np.argsort(splitmix(seed, count), kind="stable").astype(DTYPES[dtype])
        case "csr_rp" | "csr_ci":
            lengths = ((splitmix(seed, spec["rows"]) >> np.uint64(33)) % np.uint64(spec["maxlen"])).astype(np.int64) + 1
            lengths[::64] *= 8
            if spec["init"] == "csr_rp":
                return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
            total = int(lengths.sum())
            return ((splitmix(seed + 1, total) >> np.uint64(33)) % np.uint64(spec["cols"])).astype(np.int32)[:count]
    raise ValueError(spec["init"])


def argument(value: Record, memory: Mapping[str, np.ndarray]) -> Any:
    from ptxsim import TensorMap

    kind, given = next(iter(value.items()))
    match kind:
        case "buf":
            return memory[given]
        case "tensormap":
            return TensorMap(
                memory[given["buf"]],
                given["dtype"],
                given["dims"],
                given["strides"],
                given["box"],
                swizzle=given["swizzle"],
            )
    return float(given) if kind in ("f32", "f64") else int(given)


def read(path: Path) -> Module:
    """The module in a file, compressed or not."""
    from ptxsim import Module

    if path.exists():
        return Module.from_file(path)
    return Module.from_text(gzip.decompress(path.with_name(path.name + ".gz").read_bytes()).decode())


def one(work: tuple[str, Record, str | None, str]) -> tuple[str | None, tuple[float, str, str] | None]:
    """What is wrong with a launch (or None), and its predicted cycles, what they are bound by, of what code (or None)."""
    folder, launch, engine, gpu = work
    try:
        from ptxsim.diagnostic import PtxError

        module = read(Path(folder) / "kernels" / f"{launch['kernel']}.ptx")
        kernel = module.kernel(launch["entry"])
        for profile in (True, False):
            memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
            arguments = [argument(value, memory) for value in launch["args"]]
            try:
                result = kernel.launch(
                    launch["grid"],
                    launch["block"],
                    arguments,
                    launch["dsmem"],
                    engine=engine,
                    on_error="report",
                    profile=profile,
                    gpu=gpu,
                )
                break
            except PtxError as error:
                if not profile or error.findings[0].name != "not-modeled":
                    raise
        errors = [f for f in result.findings if f.level == "error"]
        if errors:
            return f"finding {errors[0].name} at line {errors[0].line}: {errors[0].message}", None
        problems = [compare(name, memory[name], want, launch) for name, want in launch["outputs"].items()]
        found = result.cycles
        said = None if found is None else (found.cycles, found.bound_by, ESTIMATED if found.no_assembly else ASSEMBLED)
        return next((p for p in problems if p), None), said
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}", None


def compare(name: str, got: np.ndarray, want: Record, launch: Record) -> str | None:
    if hashlib.sha256(np.ascontiguousarray(got).tobytes()).hexdigest() == want["sha256"]:
        return None
    if name in launch["nondeterministic_outputs"]:
        return None
    values = got.astype(np.float64)
    tolerance = launch["tol"]
    scale = max(want["abs_sum"] / max(want["n"], 1), 1e-30)
    first = np.array(want["first"], np.float64)
    if not np.allclose(values[: len(first)], first, rtol=tolerance, atol=tolerance * scale):
        return f"{name} begins {values[: len(first)]}, recorded {first}"
    if abs(values.sum() - want["sum"]) > tolerance * max(want["abs_sum"], 1e-30):
        return f"sum of {name} is {values.sum()}, recorded {want['sum']}"
    return None

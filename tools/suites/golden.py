"""Recorded bits of single instructions: every output of the recorded kernels equals what the GPU gave.

DIR holds FAMILY.json, FAMILY.npz and FAMILY.ptx.gz; wgmma_edge.json/.npz run the kernels of wgmma; dot.npz holds dot
products of several GPUs; exhaustive.npz checksums over all 2^32 inputs of a function. --engine both runs every kernel on
the compiled engine and on the interpreter.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxsim import Run

import gzip
import json
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np

from suites import dot, exhaustive
from suites.common import Options, Record, Tally, spread

# wgmma_edge was recorded with the probe kernels of the wgmma family, by majorness of B.
EDGE_FORMS = {
    "K": "wgmma.m64n24k16.f16.f16.f16.rs.sa1.sb1.tB0#probeB",
    "MN": "wgmma.m64n24k16.f16.f16.f16.rs.sa1.sb1.tB1#probeB",
}


ENGINES = ("both",)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--exhaustive", action="store_true", help="run the checksums over all 2^32 inputs")
    parser.add_argument("--one-in", metavar="N", type=int, default=1, help="with --exhaustive: one block in N")


def run(options: Options, tally: Tally) -> bool:
    if options.extra.get("exhaustive"):
        return exhaustive.run(options, tally)
    engines = ("compiled", "interpreter") if options.engine == "both" else (options.engine,)
    work = []
    for path in sorted(options.folder.glob("*.ptx.gz")):
        family = path.name.partition(".")[0]
        forms = forms_of(str(options.folder), family)
        chosen = [i for i, form in enumerate(forms) if options.selects(f"{family}.json", form["id"], form["group"])]
        work += [(str(options.folder), family, i, engine) for i in chosen for engine in engines]
    edge = options.folder / "wgmma_edge.json"
    if edge.exists() and (options.folder / "wgmma.ptx.gz").exists():
        count = len(json.loads(edge.read_text()))
        chosen = [i for i in range(count) if options.selects("wgmma_edge.json", str(i))]
        work += [(str(options.folder), "wgmma_edge", i, engine) for i in chosen for engine in engines]
    right: Counter[tuple[str, str | None]] = Counter()
    for (_, family, _, engine), (name, problem) in zip(work, spread(one, work, options.jobs, chunk=4)):
        if problem:
            tally.failures.append(f"{name} ({engine or 'default'} engine): {problem}")
        else:
            tally.passed += 1
            right[family, engine] += 1
    if len(engines) > 1:
        families = dict.fromkeys(family for family, _ in right)
        tally.notes += [f"{f}: " + ", ".join(f"{right[f, e]} on the {e}" for e in engines) for f in families]
    dot.run(options, tally)
    return not tally.failures and tally.passed > 0


def one(work: tuple[str, str, int, str | None]) -> tuple[str, str | None]:
    """Name of an item and what is wrong with it, or None."""
    folder, family, index, engine = work
    if family == "wgmma_edge":
        return edge_case(folder, index, engine)
    form = forms_of(folder, family)[index]
    name = f"{family}:{form['id']}"
    try:
        return name, compare(folder, family, form, engine)
    except Exception as error:
        return name, f"{type(error).__name__}: {str(error)[:300]}"


@lru_cache(maxsize=4)
def forms_of(folder: str, family: str) -> list[Record]:
    plain = Path(folder) / f"{family}.json"
    text = plain.read_text() if plain.exists() else gzip.decompress(Path(f"{plain}.gz").read_bytes()).decode()
    forms: list[Record] = json.loads(text)["forms"]
    return forms


@lru_cache(maxsize=4)
def module_text(folder: str, family: str) -> dict[str, str]:
    """Entry name to a module that holds just that entry: parsing a whole family for one kernel would be slow."""
    text = gzip.decompress((Path(folder) / f"{family}.ptx.gz").read_bytes()).decode()
    head, _, rest = text.partition(".visible .entry ")
    entries = (".visible .entry " + piece for piece in rest.split(".visible .entry "))
    return {entry.split("(")[0].split()[-1]: head + entry for entry in entries}


@lru_cache(maxsize=4)
def arrays_of(folder: str, family: str) -> Mapping[str, np.ndarray]:
    arrays: Mapping[str, np.ndarray] = np.load(Path(folder) / f"{family}.npz")
    return arrays


def launch(
    folder: str,
    family: str,
    form: Record,
    engine: str | None,
    image: np.ndarray | None,
    uniform: np.ndarray | None,
    inputs: np.ndarray | None,
    out: np.ndarray,
) -> Run:
    """Run a recorded kernel over all trials: one CTA each."""
    from ptxsim import Module

    trials = len(out)
    image_bytes = image.shape[1] * 4 if image is not None else 0
    stride = image_bytes if image is not None and len(image) > 1 else 0
    kernel = Module.from_text(module_text(folder, family)[form["kernel"]], f"{form['kernel']}.ptx").kernel(
        form["kernel"]
    )
    arguments = [inputs, out, image, uniform, stride, image_bytes]
    return kernel.launch(trials, form["lanes"], arguments, image_bytes, engine=engine, checks="none", on_error="report")


def compare(folder: str, family: str, form: Record, engine: str | None) -> str | None:
    arrays = arrays_of(folder, family)
    recorded = arrays[form["out"]]
    image = arrays[form["img"]].copy() if form.get("img") else None
    uniform = arrays[form["uni"]].copy() if form.get("uni") else None
    inputs = arrays[form["in"]].copy() if form.get("in") else None
    out = np.full(recorded.shape, 0xCCCCCCCC, np.uint32)
    run = launch(folder, family, form, engine, image, uniform, inputs, out)
    errors = [f for f in run.findings if f.level == "error"]
    if errors:
        return f"finding {errors[0].name} at line {errors[0].line}: {errors[0].message}"
    wrong = out != recorded
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    trial_class = next((c for c, start, end in form["classes"] if start <= at[0] < end), "?")
    return f"{int(wrong.sum())} of {wrong.size} words differ, first at {at} ({trial_class}): got {out[at]:#010x}, recorded {recorded[at]:#010x}"


def edge_case(folder: str, index: int, engine: str | None) -> tuple[str, str | None]:
    """A descriptor outside the documented use: the same bits, or a fault where the GPU faulted."""
    entry = json.loads((Path(folder) / "wgmma_edge.json").read_text())[index]
    name = f"wgmma_edge:{index}"
    try:
        arrays, wgmma = arrays_of(folder, "wgmma_edge"), arrays_of(folder, "wgmma")
        form = next(f for f in forms_of(folder, "wgmma") if f["id"].startswith(EDGE_FORMS[entry["major"]]))
        recorded = arrays["out"][index : index + 1]
        out = np.full(recorded.shape, 0xCCCCCCCC, np.uint32)
        image = arrays[f"img_{entry['img']}"].copy()
        inputs = wgmma[form["in"]][:1].copy()
        run = launch(folder, "wgmma", form, engine, image, arrays["uni"][index : index + 1].copy(), inputs, out)
        errors = [f for f in run.findings if f.level == "error"]
        if entry["status"] != "ok":
            return name, None if errors else "the GPU faulted, ptxsim did not"
        if errors:
            return name, f"finding {errors[0].name}: {errors[0].message}"
        return name, None if (out == recorded).all() else f"{int((out != recorded).sum())} words differ"
    except Exception as error:
        return name, f"{type(error).__name__}: {str(error)[:300]}"

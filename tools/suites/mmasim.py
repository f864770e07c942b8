"""MMA-Sim 2.1.1, a published model of tensor cores, on seeded random vectors: equal bits but where it is known to be wrong.

DIR holds mmasim.npz, which is what the package gave for some vectors of every instruction on every architecture it
models. With --live N the package itself (pip install -e '.[compare]') gives N vectors each; --record FILE keeps what it
gives for a thinned list of instructions. The vectors are made anew from the instruction's name. M and N say only how many dot
products an instruction is: `--one-of-each` takes one of the instructions whose arithmetic is otherwise the same.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from ptxsim.numerics import find, product
from ptxsim.numerics.formats import ZERO_EXPONENT, code_dtype, decode
from ptxsim.numerics.forms import parse_form
from suites.common import Options, Tally, spread
from suites.vectors import Vectors, vectors

VERSION = "2.1.1"
# Which targets an architecture of MMA-Sim stands for.
TARGETS = {
    "Volta": ("sm_70", "sm_72"),
    "Turing": ("sm_75",),
    "Ampere": ("sm_80", "sm_86", "sm_87"),
    "Ada Lovelace": ("sm_89",),
    "Hopper": ("sm_90a",),
    "Blackwell": ("sm_100a",),
    "RTX Blackwell": ("sm_120a", "sm_121a"),
}
RECORDED = 192  # vectors of each instruction in mmasim.npz


@dataclass(frozen=True)
class Difference:
    """Where MMA-Sim is known to be wrong or silent: `where` says it of (vectors, our bits, their bits)."""

    name: str
    reason: str
    where: Callable[[Vectors, np.ndarray, np.ndarray], np.ndarray]


def _all_negative_zero(v: Vectors, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    if v.form.d == "f64":
        return np.zeros(len(ours), bool)
    a, b, c = (decode(codes, name) for codes, name in ((v.a, v.form.a), (v.b, v.form.b), (v.c, v.form.c)))
    with np.errstate(all="ignore"):
        products = a.value * b.value
    zeros = (products == 0) & np.signbit(products)
    negative = ours.dtype.type(1 << 8 * ours.dtype.itemsize - 1)
    everywhere = zeros.all(axis=-1) & (c.exponent == ZERO_EXPONENT) & np.signbit(c.value)
    explained: np.ndarray = everywhere & (ours == negative) & (theirs == 0)
    return explained


def _nan_of_f64(v: Vectors, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    if v.form.d != "f64":
        return np.zeros(len(ours), bool)
    return np.isnan(ours.view(np.float64)) & np.isnan(theirs.view(np.float64))


DIFFERENCES = [
    Difference(
        "negative-zero",
        "every term is -0: an H200 gives -0 (hardware vectors of every float form), and so do we for targets of which "
        "there is no recording; MMA-Sim adds +0 to what it found",
        _all_negative_zero,
    ),
    Difference(
        "f64-nan",
        "which NaN a DMMA gives: MMA-Sim leaves it to the host's fma and does not compare it; ours was recorded",
        _nan_of_f64,
    ),
]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--live", metavar="N", type=int, help="ask the installed package, N vectors an instruction")
    parser.add_argument("--one-of-each", action="store_true", help="with --live: one M and N of each arithmetic")
    parser.add_argument("--record", metavar="FILE", type=Path, help="with the package: write a new mmasim.npz")


def run(options: Options, tally: Tally) -> bool:
    if options.extra.get("record"):
        return record(options.extra["record"], tally)
    live = options.extra.get("live")
    names = [name for name in (instructions() if live else recorded(options.folder)) if options.selects("mmasim", name)]
    groups = by_arithmetic(names)
    if options.extra.get("one_of_each"):
        names = [group[0] for group in groups.values()]
    known: Counter[str] = Counter()
    count = 0
    for name, found in spread(_judge, [(name, live, options.folder) for name in names], options.jobs, chunk=8):
        for target, wrong, expected, total in found:
            known.update(expected)
            count += total
            if wrong:
                tally.failures.append(f"{name} on {target}: {wrong} of {total} vectors differ")
            else:
                tally.passed += 1
    tally.notes.append(f"{count} dot products of {len(names)} instructions")
    tally.notes.append(
        f"{len(groups)} kinds of arithmetic (all but M and N), {sum(map(len, groups.values()))} instructions"
    )
    tally.notes += [f"{known[d.name]} {d.name}: {d.reason}" for d in DIFFERENCES]
    return not tally.failures and tally.passed > 0


def by_arithmetic(names: Iterable[str]) -> dict[tuple[object, ...], list[str]]:
    """Instructions whose rules differ in M and N at most, by their rules on all targets of the architecture."""
    found: dict[tuple[object, ...], list[str]] = {}
    for name in names:
        architecture, opcode = name.split("|")
        rules = (find(opcode, target) for target in TARGETS[architecture])
        key = architecture, *(replace(rule, form=replace(rule.form, m=0, n=0)) for rule in rules)
        found.setdefault(key, []).append(name)
    return found


def _judge(work: tuple[str, int | None, Path]) -> tuple[str, list[tuple[str, int, Counter[str], int]]]:
    """For every target of an instruction: unexplained differences, explained ones by name, vectors."""
    name, live, folder = work
    architecture, opcode = name.split("|")
    v = vectors(opcode, live or RECORDED, architecture)
    theirs = simulate(name, v) if live else recorded(folder)[name]
    return name, [(target, *compare(opcode, target, v, theirs)) for target in TARGETS[architecture]]


def compare(opcode: str, target: str, v: Vectors, theirs: np.ndarray) -> tuple[int, Counter[str], int]:
    """How many of the vectors differ without and with a known reason, and how many there are."""
    scales = (
        {}
        if v.scale_a is None or v.scale_b is None
        else {"scale_a": v.scale_a[:, None, :], "scale_b": v.scale_b[:, :, None]}
    )
    ours = product(find(opcode, target), v.a[:, None, :], v.b[:, :, None], v.c[:, None, None], **scales)[:, 0, 0]
    different = ours != theirs
    expected: Counter[str] = Counter()
    for known in DIFFERENCES:
        here = different & known.where(v, ours, theirs)
        expected[known.name] += int(here.sum())
        different &= ~here
    return int(different.sum()), expected, len(ours)


# ---- what was recorded ----


@cache
def recorded(folder: Path) -> dict[str, np.ndarray]:
    """Results by `architecture|opcode`."""
    with np.load(folder / "mmasim.npz") as archive:
        names, data = json.loads(str(archive["names"])), archive["results"]
    results, at = {}, 0
    for name in names:
        dtype = code_dtype(parse_form(name.split("|")[1]).d)
        end = at + RECORDED * dtype.itemsize
        results[name], at = data[at:end].view(dtype), end
    return results


def record(path: Path, tally: Tally) -> bool:
    """Write the results of a thinned list: one M and N of each wgmma and tcgen05 instruction."""
    names = [name for name in instructions() if thinned(name)]
    parts = [simulate(name, vectors(name.split("|")[1], RECORDED, name.split("|")[0])) for name in names]
    data = np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts])
    np.savez_compressed(path, names=json.dumps(names), results=data, version=VERSION)
    tally.passed += len(names)
    return True


def thinned(name: str) -> bool:
    family, shape = name.split("|")[1].split(".")[:2]
    return shape.startswith({"wgmma": "m64n64k", "tcgen05": "m128n64k"}.get(family, ""))


# ---- the package ----


def instructions() -> Iterator[str]:
    """`architecture|opcode` of every instruction MMA-Sim models for NVIDIA."""
    from mmasim.nv_ptx import isa_mma, isa_tcgen05mma, isa_wgmma

    for family, table in (
        ("mma", isa_mma.mma_shape_and_type),
        ("mma", isa_mma.mma_block_scale_shape_and_type),
        ("wgmma", isa_wgmma.wgmma_shape_and_type),
        ("tcgen05", isa_tcgen05mma.tcgen05mma_shape_and_type),
        ("tcgen05", isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type),
    ):
        for architecture, forms in table.items():
            yield from (f"{architecture}|{family}.{form}" for form in forms)


def simulate(name: str, v: Vectors) -> np.ndarray:
    """What MMA-Sim gives: codes (N,)."""
    import torch
    from mmasim.nv_ptx import sim

    torch.set_num_threads(1)
    architecture, opcode = name.split("|")
    family, _, form = opcode.partition(".")
    scaled = "_scaled" if v.form.scale else ""
    model = {
        "mma": sim.MMA, "mma_scaled": sim.MMABlockScale, "wgmma": sim.WGMMA, "tcgen05": sim.TCGen05MMA,
        "tcgen05_scaled": sim.TCGen05MMABlockScale,
    }[family + scaled](architecture, form)  # fmt: skip

    def tensor(codes: np.ndarray, kind: torch.dtype, element: str) -> torch.Tensor:
        if kind == torch.uint8 and v.form.k == 64:  # two in a byte
            codes = codes[:, ::2] << 4 | codes[:, 1::2]
        elif element == "e2m1":  # in a byte, where a 6-bit float begins
            codes = codes << 2
        signed = np.ascontiguousarray(codes).view(f"i{codes.dtype.itemsize}")
        return torch.from_numpy(signed).view(kind)

    operands = [tensor(v.a, model.a_type, v.form.a), tensor(v.b, model.b_type, v.form.b)]
    operands.append(tensor(v.c, model.c_type, v.form.c))
    if scaled:
        operands += [tensor(s, model.s_type, v.form.scale) for s in (v.scale_a, v.scale_b) if s is not None]
    d = model.dpa(*operands)
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[d.element_size()]
    codes: np.ndarray = d.contiguous().view(integer).numpy().view(code_dtype(v.form.d))
    return codes

#!/usr/bin/env python3
"""Makes the table that corrects the estimate of registers (`ptxsim/profile/lowering/registers.tsv`) of a folder of PTX and ptxas.

    tools/fit_registers.py rows FOLDER rows.jsonl    # what ptxas and the lowering say of every kernel; what is there already is kept
    tools/fit_registers.py fit rows.jsonl [--write]  # trees; how good they are with families left out; with all of them to the table

A folder in FOLDER is a family: what comes from one program, or from one program for several targets. A quarter of the families judges. Least
absolute deviations of the logarithm: each tree is grown on the signs and sizes of what is left, cut off at CUT, and its leaves are medians.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from ptxsim import Module
from ptxsim.diagnostic import PtxError
from ptxsim.profile.lowering.learned import TABLE, Node, Tree, corrected, is_near, written
from ptxsim.profile.lowering.lower import Lowering
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.lowering.spills import most_registers
from ptxsim.profile.sass.listing import Listing, read_resources
from ptxsim.profile.sass.tools import NoMachineCode, said_of

MOST_KERNELS = 8  # of one file: more of them say little that is new
BINS = 48  # values of a trait that are told apart
TREES, DEPTH, RATE, LEAST_LEAF = 100, 4, 0.06, 20
TRAITS, ROWS = 0.3, 0.7  # share of them that a tree is made of
CUT = 0.08  # of what is left of a logarithm
SLOW = 5.0  # rows by which a leaf goes less far
Array: TypeAlias = np.ndarray


class Row(NamedTuple):
    """A kernel: its family, what ptxas says, what rules estimate, and its traits."""

    family: str
    file: str
    kernel: str
    said: int
    estimate: int
    traits: dict[str, float]


# ---- rows ----


def rows_of(path: Path, family: str, known: dict[str, int] | None = None) -> list[Row]:
    """The kernels of a file. known: registers by name, if ptxas has been asked. Raises PtxError, NoMachineCode."""
    raw = path.read_bytes()
    module = Module.from_text((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode())
    said = said_of(module.source.text, module.target.name) if known is None else ""
    found: list[Row] = []
    for name in list(module.entries)[:MOST_KERNELS]:
        resources = Listing()
        read_resources(said, name, resources)
        registers = resources.registers if known is None else known.get(name, 0)
        if registers:
            code = module.kernel(name).code()
            lowering = Lowering(
                merged(code.decoded.program), module.target.name, most_registers(code.function.directives)
            )
            lowering.lower()
            found.append(Row(family, path.name, name, registers, lowering.rules.estimate, lowering.traits))
    return found


def gather(folder: Path, into: Path) -> None:
    """Append the rows of a folder's files to a file that has some, perhaps."""
    there = {row.file for row in load(into)} if into.exists() else set()
    with into.open("a") as out:
        for path in sorted(folder.rglob("*.ptx*")):
            if path.name not in there:
                try:
                    for row in rows_of(path, path.relative_to(folder).parts[0]):
                        print(json.dumps(row), file=out)
                except (PtxError, NoMachineCode) as reason:
                    print(f"{path.name}: {reason}"[:160])


def load(path: Path) -> list[Row]:
    return [Row(*json.loads(line)) for line in path.read_text().splitlines()]


# ---- trees ----


class Data(NamedTuple):
    """Rows as arrays: traits, their bins, the logarithm that the trees are to say, and what each row counts."""

    names: list[str]
    edges: list[Array]
    bins: Array
    wanted: Array
    weights: Array


def data_of(rows: list[Row]) -> Data:
    names = sorted(rows[0].traits)
    values = np.array([[row.traits[name] for name in names] for row in rows], float)
    edges = [_edges(column) for column in values.T]
    bins = np.stack([np.searchsorted(e, column) for e, column in zip(edges, values.T)], 1)
    many = {f: sum(row.family == f for row in rows) for f in {row.family for row in rows}}
    wanted = np.log([row.said / row.estimate for row in rows])
    return Data(names, edges, bins, wanted, np.array([many[row.family] ** -0.5 for row in rows]))


def _edges(column: Array) -> Array:
    """Values between which a trait may be split: no more than BINS."""
    found = np.unique(column)
    if len(found) > BINS:
        found = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1], method="nearest"))
    return np.asarray((found[:-1] + found[1:]) / 2)


def fit(rows: list[Row]) -> list[Tree]:
    """The trees of some rows; the first is one leaf: their median."""
    data, random = data_of(rows), np.random.default_rng(0)
    trees: list[Tree] = [[Node("", _median(data.wanted, data.weights))]]
    left = data.wanted - trees[0][0].value
    for _ in range(TREES):
        chosen = np.flatnonzero(random.random(len(rows)) < ROWS)
        traits = random.permutation(len(data.names))[: max(1, int(len(data.names) * TRAITS))]
        tree: Tree = []
        _grow(data, left, tree, chosen, np.arange(len(rows)), traits, 0)
        trees.append(tree)
    return trees


def _grow(data: Data, left: Array, tree: Tree, chosen: Array, all_: Array, traits: Array, depth: int) -> int:
    """Add a node, and what is below it, for the rows `chosen`; what it says is taken off `left` of `all_` rows that come here."""
    number = len(tree)
    tree.append(Node("", 0.0))
    best = _split(data, np.clip(left[chosen], -CUT, CUT), chosen, traits) if depth < DEPTH else None
    if best is None:
        value = RATE * _median(left[chosen], data.weights[chosen]) * len(chosen) / (len(chosen) + SLOW)
        tree[number] = Node("", value)
        left[all_] -= value
        return number
    trait, cut = best
    goes_low = [data.bins[rows, trait] <= cut for rows in (chosen, all_)]
    low = _grow(data, left, tree, chosen[goes_low[0]], all_[goes_low[1]], traits, depth + 1)
    high = _grow(data, left, tree, chosen[~goes_low[0]], all_[~goes_low[1]], traits, depth + 1)
    tree[number] = Node(data.names[trait], float(data.edges[trait][cut]), low, high)
    return number


def _split(data: Data, left: Array, rows: Array, traits: Array) -> tuple[int, int] | None:
    """The trait and the bin after which squares fall most; None where nothing can be split."""
    weights = data.weights[rows]
    best, found, total, weight = 1e-9, None, float((left * weights).sum()), float(weights.sum())
    for trait in traits:
        size = len(data.edges[trait]) + 1
        bins = data.bins[rows, trait]
        sums, parts, counts = (np.cumsum(np.bincount(bins, w, size))[:-1] for w in (left * weights, weights, None))
        fits = (counts >= LEAST_LEAF) & (len(rows) - counts >= LEAST_LEAF)
        if fits.any():
            gain = sums**2 / (parts + SLOW) + (total - sums) ** 2 / (weight - parts + SLOW) - total**2 / (weight + SLOW)
            cut = int(np.where(fits, gain, -1.0).argmax())
            if gain[cut] > best:
                best, found = float(gain[cut]), (int(trait), cut)
    return found


def _median(values: Array, weights: Array) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


# ---- what they are worth ----


def said_by(trees: list[Tree], row: Row) -> int:
    """What the trees say of a row; they are those of the table, which the lowering reads."""
    return corrected(row.estimate, row.traits, trees)


def judges(row: Row) -> bool:
    """Whether a row's family is of the quarter that judges."""
    return blake2b(row.family.encode()).digest()[0] % 4 == 0


def judged(rows: list[Row], trees: list[Tree]) -> str:
    before = np.mean([is_near(row.estimate, row.said) for row in rows])
    after = np.mean([is_near(said_by(trees, row), row.said) for row in rows])
    return f"{len(rows)} kernels of {len({row.family for row in rows})} families: {before:.1%} within 10 % by rules, {after:.1%} with the table"


def different(rows: list[Row]) -> list[Row]:
    """Rows without those that say the same of the same family."""
    return list({(row.family, row.said, tuple(row.traits.values())): row for row in rows}.values())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    rows_parser = commands.add_parser("rows")
    rows_parser.add_argument("folder", type=Path)
    rows_parser.add_argument("rows", type=Path)
    fit_parser = commands.add_parser("fit")
    fit_parser.add_argument("rows", type=Path)
    fit_parser.add_argument("--write", action="store_true", help="write the table, of all families")
    options = parser.parse_args(arguments)
    if options.command == "rows":
        gather(options.folder, options.rows)
        return 0
    rows = different(load(options.rows))
    left_out = [row for row in rows if judges(row)]
    print("families left out:", said := judged(left_out, fit([row for row in rows if not judges(row)])))
    if options.write:
        trees = fit(rows)
        print("all of them:", judged(rows, trees))
        TABLE.write_text(written(trees, [f"Made by tools/fit_registers.py. Families left out: {said}."]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

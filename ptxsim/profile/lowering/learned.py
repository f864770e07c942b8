"""The registers that a table of trees says, of what `traits` says of a program: rules and their order of instructions are off in many small ways.

`registers.tsv` is made by `tools/fit_registers` of kernels that no test and no corpus has. Its trees add up to the logarithm of registers by what
the rules say. ptxas mostly gives an even number; the one that is said has most of what it may be within 10 %, an odd one where that is two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import groupby
from math import exp, log
from pathlib import Path
from typing import NamedTuple, TypeAlias

TABLE = Path(__file__).with_name("registers.tsv")
FEWEST, MOST = 4, 255  # registers that ptxas says
NEAR = 10  # per cent: how far off a number may be that is as good as right
ODD = 0.09  # how much less often ptxas gives an odd number than the even ones beside it, of the kernels that the table is made of
SPREAD = 0.08  # of the logarithm: how far the trees are off
OFF = 0.18  # of a number: how far off three quarters are, at most, of kernels that the table is not made of (tools/conformance registers)
ALIKE = 0.999  # of the best: numbers that are as good, of which the nearest is said


class Node(NamedTuple):
    """A leaf, with no name: `value` is what it adds. Else the program goes on at `low` if the trait of that name is at most `value`, at `high` if more."""

    name: str
    value: float
    low: int = 0
    high: int = 0


Tree: TypeAlias = list[Node]  # the root first


def corrected(estimate: int, traits: Mapping[str, float], trees: list[Tree] | None = None) -> int:
    """Registers of a program of which rules estimate so many. trees: those of the table if None."""
    added = sum(_leaf(tree, traits) for tree in (table() if trees is None else trees))
    return likeliest(log(estimate) + added)


def _leaf(tree: Tree, traits: Mapping[str, float]) -> float:
    node = tree[0]
    while node.name:
        node = tree[node.low if traits[node.name] <= node.value else node.high]
    return node.value


def likeliest(expected: float) -> int:
    """The number of registers that is within 10 % of most of what there may be; expected: its logarithm."""
    weights = {n: exp(-abs(log(n) - expected) / SPREAD) * (ODD if n % 2 else 1) for n in range(FEWEST, MOST + 1)}
    near = {n: sum(w for other, w in weights.items() if is_near(n, other)) for n in weights}
    good = ALIKE * max(near.values())
    return min((n for n in near if near[n] >= good), key=lambda n: abs(log(n) - expected))


def is_near(estimate: int, said: int) -> bool:
    """Whether an estimate is within 10 % of what ptxas says: exactly so much, too."""
    return 100 * abs(estimate - said) <= NEAR * said


@cache
def table() -> list[Tree]:
    """The trees of the file."""
    return read(TABLE.read_text())


def read(text: str) -> list[Tree]:
    """The trees of a text: a line a node, with its tree's number, name, value, and the lines of its tree that it leads to."""
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    nodes = [(number, Node(name, float(value), int(low), int(high))) for number, name, value, low, high in rows]
    return [[node for _, node in found] for _, found in groupby(nodes, key=lambda row: row[0])]


def written(trees: list[Tree], notes: list[str]) -> str:
    """The text of them. notes: lines that say where they come from."""
    rows = [f"{k}\t{n.name}\t{n.value:.6g}\t{n.low}\t{n.high}" for k, tree in enumerate(trees) for n in tree]
    return "".join(f"{line}\n" for line in [*(f"# {note}" for note in notes), *rows])

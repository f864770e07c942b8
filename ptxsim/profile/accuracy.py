"""How far predictions are off, by what a kernel is bound by, and how far the ratio of two variants is.

From launches that were measured to judge the model, and that no figure is taken from; `tools/conformance timing tools/data/judged
--accuracy ptxsim/profile/accuracy.tsv` writes the table anew, once with the assembler and once without.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations
from math import exp, log
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("accuracy.tsv")
COLUMNS = ("machine", "code", "kind", "count", "mean", "low", "high")
ASSEMBLED, ESTIMATED = "assembled", "estimated"
ANY, PAIRS = "any", "pairs"
FEW = 6  # launches of a kind; of fewer, the bar is that of all, widened to hold them
INSIDE = 0.75  # share of the launches that a bar holds
SHORT = 2500  # cycles of launches of which the start is a large part
KINDS = {
    "start": "their start, as short as this one", "tensor": "the tensor core", "shared": "shared memory", "synchronisation": "synchronisation",
    "memory": "the rate of memory", "issue": "issue and pipes", "latency": "latency",
}  # fmt: skip


class Bar(NamedTuple):
    """What measured cycles divided by predicted ones were: `low` to `high` for three quarters of `launches` of a kind; `mean` is
    the mean relative error of the prediction."""

    kind: str
    launches: int
    mean: float
    low: float
    high: float


class Judged(NamedTuple):
    """A measured launch: what bound its replay, measured and predicted cycles, the family of variants it is of ("": none)."""

    kind: str
    measured: float
    predicted: float
    family: str = ""


def bound_by(cycles: float, pipes: Mapping[str, float], stalls: Mapping[str, float]) -> str:
    """What a replayed launch is bound by: one of KINDS. pipes: shares of the time; stalls: warp cycles by reason."""
    total = sum(stalls.values()) or 1.0

    def share(*names: str) -> float:
        return sum(stalls.get(name, 0.0) for name in names) / total

    math = max((pipes.get(name, 0.0) for name in ("alu", "fma", "fma_heavy", "fp64", "xu")), default=0.0)
    if cycles < SHORT:
        return "start"
    if pipes.get("tensor", 0.0) > 0.4 or share("gmma") > 0.25:
        return "tensor"
    if pipes.get("lsu", 0.0) > 0.6 or share("mio_throttle", "short_scoreboard", "imc_miss") > 0.4:
        return "shared"
    if share("barrier", "membar") > 0.3:
        return "synchronisation"
    if share("lg_throttle") > 0.25:
        return "memory"
    if math > 0.5 or share("math_pipe_throttle", "not_selected") > 0.35:
        return "issue"
    return "latency"


def bar_of(kind: str, assembled: bool, machine: str = "H200") -> Bar:
    """The bar of a kind of kernel on a machine; assembled: the assembler's code was replayed."""
    rows = _table(machine, ASSEMBLED if assembled else ESTIMATED)
    return _own_or_all(rows.get(kind), rows[ANY])


def ratio(before: float, after: float, assembled: bool, machine: str = "H200") -> tuple[float, float]:
    """Between what the ratio of two variants' cycles, after to before, lies for three quarters of the measured pairs."""
    spread = _table(machine, ASSEMBLED if assembled else ESTIMATED)[PAIRS]
    return after / before * spread.low, after / before * spread.high


def bars(launches: Iterable[Judged]) -> list[Bar]:
    """The rows of a table: one of each kind, of all, and of pairs of variants."""
    launches = list(launches)
    found = [_bar(kind, [j for j in launches if j.kind == kind]) for kind in KINDS]
    rows = [bar for bar in (*found, _bar(ANY, launches)) if bar.launches]
    ratios = [log(j.measured / k.measured) - log(j.predicted / k.predicted) for j, k in _pairs(launches)]
    if ratios:
        width = exp(_beyond([-abs(r) for r in ratios], 1 - INSIDE) * -1)
        # Which of two is the first is no matter.
        rows.append(Bar(PAIRS, len(ratios), sum(abs(exp(r) - 1) for r in ratios) / len(ratios), 1 / width, width))
    return rows


def inside(launches: Iterable[Judged]) -> int:
    """How many launches lie in the bar that the others give."""
    launches = list(launches)
    count = 0
    for i, judged in enumerate(launches):
        others = launches[:i] + launches[i + 1 :]
        alike = [j for j in others if j.kind == judged.kind]
        bar = _own_or_all(_bar(judged.kind, alike), _bar(ANY, others))
        count += bar.low <= judged.measured / judged.predicted <= bar.high
    return count


def written(rows: Iterable[Bar], code: str, path: Path = TABLE, machine: str = "H200") -> None:
    """Put the rows of a code on a machine into a table, in place of those it has."""
    lines = path.read_text().splitlines() if path.exists() else ["\t".join(COLUMNS)]
    kept = [line for line in lines if line.split("\t")[:2] != [machine, code]]
    made = [
        "\t".join((machine, code, b.kind, str(b.launches), *(f"{x:.3f}" for x in (b.mean, b.low, b.high))))
        for b in rows
    ]
    path.write_text("\n".join([*kept, *made]) + "\n")


@cache
def _table(machine: str, code: str) -> dict[str, Bar]:
    rows = (line.split("\t") for line in TABLE.read_text().splitlines()[1:])
    return {r[2]: Bar(r[2], int(r[3]), *map(float, r[4:])) for r in rows if r[:2] == [machine, code]}


def _bar(kind: str, launches: list[Judged]) -> Bar:
    ratios = [j.measured / j.predicted for j in launches]
    if not ratios:
        return Bar(kind, 0, 0.0, 1.0, 1.0)
    mean = sum(abs(j.predicted / j.measured - 1) for j in launches) / len(launches)
    rest = (1 - INSIDE) / 2
    return Bar(kind, len(ratios), mean, _beyond(ratios, rest), 1 / _beyond([1 / r for r in ratios], rest))


def _own_or_all(own: Bar | None, every: Bar) -> Bar:
    """The bar of a kind; where too few of it were measured, that of all, as wide as to hold those few."""
    if own is None or not own.launches:
        return every
    if own.launches >= FEW:
        return own
    return every._replace(low=min(every.low, own.low), high=max(every.high, own.high))


def _pairs(launches: list[Judged]) -> list[tuple[Judged, Judged]]:
    return [(j, k) for j, k in combinations(launches, 2) if j.family and j.family == k.family]


def _beyond(values: list[float], share: float) -> float:
    """The value below which another one of the same kind comes with at most this probability: the k-th of n, k = (n + 1) share.

    Split conformal prediction (Vovk et al.; Lei et al., JASA 2018): so a bar keeps its word for launches that it does not know. Of
    few values it is the least.
    """
    return sorted(values)[max(0, int(share * (len(values) + 1)) - 1)]

"""Bank maps: one execution of an instruction as the 32 banks by its wavefronts, each cell with the lanes it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxsim.lanes import LANES
from ptxsim.layout.banks import ATOMIC_KINDS, LOOP_KINDS, MATRIX_KINDS, analyze, prepare
from ptxsim.layout.wavefronts import BANKS
from ptxsim.report.drawing import Cell, Drawing, Panel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from ptxsim.session.run import BankRow

_ROWS = 32  # wavefronts drawn; more of them look alike


def bank_map(
    addresses: ArrayLike, width: int = 16, kind: str = "ld", mask: ArrayLike | None = None, title: str = ""
) -> Drawing:
    """One row per wavefront in order, one column per bank; a cell names the lanes (rows of matrices) whose word it moves.

    Arguments as for `shared_wavefronts`, of one instruction. In which order the words of a bank go is the hardware's own.
    """
    access = prepare(addresses, width, kind, mask, None)
    address, active, size = access.address[0], access.active[0], access.phase_lanes(0)
    merges = kind not in (*ATOMIC_KINDS, "copy")
    labels, cells = [], []
    for phase, first in enumerate(range(0, LANES, size)):
        lanes = [lane for lane in range(first, first + size) if active[lane]]
        for number, line in enumerate(_wavefronts(address, lanes, access.words, merges)):
            labels.append(f"phase {phase}.{number}" if size < LANES else str(number))
            cells.append(
                [Cell(_lanes(line[bank]), _colour(line[bank])) if bank in line else Cell("") for bank in range(BANKS)]
            )
    count = int(analyze(addresses, width, kind, mask).wavefronts)
    notes = [f"{count} wavefront{'s' * (count != 1)}; in the cells: {'rows' if kind in MATRIX_KINDS else 'lanes'}"]
    if kind in LOOP_KINDS:
        notes.append("a row is served at a time; every try loads the words and takes the compare-and-swap twice")
    if kind == "cas":
        notes.append("compare-and-swap takes every one of them twice")
    if len(cells) > _ROWS:
        notes.append(f"the last {len(cells) - _ROWS} are not drawn")
    panel = Panel(labels[:_ROWS], [str(bank) for bank in range(BANKS)], cells[:_ROWS], "", "wavefront\\bank")
    return Drawing(title, [panel], notes)


def _wavefronts(address: np.ndarray, lanes: list[int], words: int, merges: bool) -> list[dict[int, list[int]]]:
    """The wavefronts of one phase: bank -> lanes."""
    queues: dict[int, list[tuple[int, list[int]]]] = {}
    for lane in lanes:
        start = int(address[lane]) // 4
        for word in range(start, start + words):
            queue = queues.setdefault(word % BANKS, [])
            sharing = next((served for known, served in queue if known == word and merges), None)
            if sharing is None:
                queue.append((word, [lane]))
            else:
                sharing.append(lane)
    longest = max(map(len, queues.values()), default=0)
    return [{bank: queue[i][1] for bank, queue in queues.items() if i < len(queue)} for i in range(longest)]


def _lanes(lanes: list[int]) -> str:
    """`5`, `0-3`, or `0+4` for four that are no run."""
    if len(lanes) == 1:
        return str(lanes[0])
    is_run = lanes[-1] - lanes[0] == len(lanes) - 1
    return f"{lanes[0]}-{lanes[-1]}" if is_run else f"{lanes[0]}+{len(lanes) - 1}"


def _colour(lanes: list[int]) -> int:
    return lanes[0] % 8


def bank_maps(row: BankRow) -> list[Drawing]:
    """The worst execution of an instruction, and the same lanes with the best fix, if there is one."""
    before = f"line {row.line}, {row.instruction}: worst execution"
    maps = [bank_map(row.addresses, row.width, row.kind, row.mask, before)]
    if row.fixed is not None:
        text, addresses = row.fixed
        maps.append(bank_map(addresses, row.width, row.kind, row.mask, f"with {text}"))
    return maps

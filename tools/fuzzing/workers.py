"""Processes that take inputs one after the other, watched from outside: for their time, their memory, and their end."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.judge import Problem, judge

SECONDS = 10.0  # that an input may take, of processor time
PATIENCE = 6  # times as long on the clock, on a machine with much else to do
MEMORY = 1 << 30  # bytes
BATCH = 20  # inputs between reports
LIFE = 2000  # inputs until a process is replaced: native code stays for the life of one


@dataclass(frozen=True)
class Found:
    """A problem with the input that shows it."""

    kind: str
    seed: int
    problem: Problem


def _work(orders: Any, results: Any) -> None:
    """Take orders (kind, first, last); before each input its name is sent, after each what came of it."""
    sys.setswitchinterval(0.05)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    while (order := orders.recv()) is not None:
        kind, first, last = order
        for seed in range(first, last):
            results.send((kind, seed, "begins", None))
            _forget_peak()
            began = time.process_time()
            problem = judge(kind, seed)
            took, peak = time.process_time() - began, _peak()
            if problem is None and took > SECONDS:
                problem = Problem(f"takes {took:.0f} s", kind, "")
            if problem is None and peak > MEMORY:
                problem = Problem(f"takes {peak >> 20} MB", kind, "")
            results.send((kind, seed, "done", problem))
        results.send((kind, last, "idle", None))


def _forget_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def _peak(process: int | str = "self") -> int:
    """The most bytes of memory since `_forget_peak`; 0 where the system does not say."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


class _Worker:
    """One process, and what it is doing."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        orders, self.orders = context.Pipe(duplex=False)
        self.results, results = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(orders, results), daemon=True)
        self.process.start()
        orders.close()
        results.close()
        self.now: tuple[str, int] | None = None
        self.last = 0
        self.since = time.monotonic()
        self.made = 0

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def _cpu(process: int) -> float:
    """Seconds of processor time of a process so far."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def fuzz(
    kinds: list[str], seed: int, count: int | None, seconds: float | None, jobs: int
) -> Iterator[tuple[str, int, Problem | None]]:
    """What became of inputs, evenly of all kinds, until there were `count` or time is up."""
    until = time.monotonic() + seconds if seconds is not None else None
    pending = _orders(kinds, seed, count)
    left: list[tuple[str, int, int]] = []
    workers: list[_Worker | None] = [None] * jobs
    spent: dict[int, float] = {}
    ended = False
    try:
        while True:
            ended = ended or (until is not None and time.monotonic() > until)
            for place, worker in enumerate(workers):
                if worker is None or worker.now is None:
                    order = None if ended else left.pop() if left else next(pending, None)
                    if order is None:
                        continue
                    if worker is None or worker.made > LIFE or not worker.process.is_alive():
                        if worker is not None:
                            worker.end()
                        worker = workers[place] = _Worker()
                    worker.orders.send(order)
                    worker.now, worker.last, worker.since = (order[0], order[1]), order[2], time.monotonic()
                    spent[worker.process.pid or 0] = _cpu(worker.process.pid or 0)
            busy = [worker for worker in workers if worker is not None and worker.now is not None]
            if not busy:
                return
            ready = multiprocessing.connection.wait([worker.results for worker in busy], 0.5)
            for worker in busy:
                yield from _heard(worker, worker.results in ready, spent)
                if worker.now is not None and (why := _overdue(worker, spent)):
                    kind, number = worker.now
                    yield kind, number, Problem(why, kind, "")
                    worker.end()
                    workers[workers.index(worker)] = None
                    if number + 1 < worker.last:
                        left.append((kind, number + 1, worker.last))
    finally:
        for worker in workers:
            if worker is not None:
                worker.end()


def shard(work: tuple[list[str], int, int]) -> list[tuple[str, int, Problem | None]]:
    """What became of inputs (kinds, number of the first, how many), for an executor's worker; one that may have processes watches them."""
    kinds, seed, count = work
    if not multiprocessing.current_process().daemon:
        return list(fuzz(kinds, seed, count, None, 1))
    orders = _orders(kinds, seed, count)
    return [(kind, n, judge(kind, n)) for kind, first, last in orders for n in range(first, last)]


def _orders(kinds: list[str], seed: int, count: int | None) -> Iterator[tuple[str, int, int]]:
    made = 0
    first = seed
    while True:
        for kind in kinds:
            size = BATCH if count is None else min(BATCH, count - made)
            if size <= 0:
                return
            yield kind, first, first + size
            made += size
        first += BATCH


def _heard(worker: _Worker, is_ready: bool, spent: dict[int, float]) -> Iterator[tuple[str, int, Problem | None]]:
    """What a worker has to say."""
    while is_ready and worker.results.poll():
        try:
            kind, seed, what, problem = worker.results.recv()
        except (EOFError, OSError):
            return
        if what == "begins":
            worker.now, worker.since = (kind, seed), time.monotonic()
            worker.made += 1
            spent.pop(worker.process.pid or 0, None)
        elif what == "done":
            yield kind, seed, problem
        else:
            worker.now = None
            return


def _overdue(worker: _Worker, spent: dict[int, float]) -> str | None:
    """Why a worker has to end."""
    process = worker.process
    if not process.is_alive():
        return f"crash: the process ended with {process.exitcode}"
    if (peak := _peak(process.pid or 0)) > 2 * MEMORY:
        return f"takes {peak >> 20} MB"
    waited, pid = time.monotonic() - worker.since, process.pid or 0
    if waited < SECONDS:
        return None
    begun = spent.setdefault(pid, _cpu(pid))
    if _cpu(pid) - begun > SECONDS or waited > PATIENCE * SECONDS:
        return "hang: more than 10 s"
    return None

"""Work spread over processes or machines: results in order, equal wherever they are made, none lost when a worker dies.

Work is a function that can be imported and an item that can be pickled. It travels in batches. What the function raises comes back
and is raised here; what keeps an executor from giving any result - a worker that is killed, a pool that breaks - is tried again,
item by item and alone, so that an item which kills its worker costs no other item's.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from ptxsim.diagnostic import Finding, PtxError

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 2  # how often an item is tried alone after its worker died
RENEWALS, PAUSE = 4, 0.05  # how often other workers are asked for in a row, and seconds more to wait before each time
AHEAD = 64  # batches that are under way
BATCH = 32  # items of one, at most
WIRE = 64 << 20  # bytes that an item or its result may take on the way


class TooLarge(PtxError):
    """An item or a result that is not sent."""

    def __init__(self, what: str, size: int):
        message = f"{what} takes {size} bytes on its way to a worker and back, the limit is {WIRE}"
        help = "give initialisers such as 'ints(64,64,seed=1):f16' in place of arrays, and outputs=False"
        super().__init__(Finding("bad-directive", message, help=help))


@dataclass(frozen=True, slots=True)
class _Raised:
    """What the function raised."""

    error: BaseException


def _batch(work: Callable[[Any], Any], items: Sequence[bytes]) -> list[bytes]:
    """Done by a worker: each result, or what was raised for it, as it travels."""
    return [_one(work, item) for item in items]


def _one(work: Callable[[Any], Any], item: bytes) -> bytes:
    try:
        return _packed("a result", work(pickle.loads(item)))
    except Exception as error:  # raised again where the result is wanted
        try:
            return pickle.dumps(_Raised(error), 5)
        except Exception:  # an error that holds what cannot travel
            return pickle.dumps(_Raised(RuntimeError(f"{type(error).__name__}: {error}")), 5)


def _packed(what: str, value: Any) -> bytes:
    data = pickle.dumps(value, 5)
    if len(data) > WIRE:
        raise TooLarge(what, len(data))
    return data


class Workers:
    """Where work is done: `where` is a number of processes (0: one per core; 1: this one), dask://HOST:PORT, or any Executor.

    A context manager: processes and connections that it has made end with it. Raises PtxError for what is none of these.
    """

    def __init__(self, where: int | str | Executor | None = None):
        if isinstance(where, str) and where.isdigit():
            where = int(where)
        self.where = where
        self._close: list[Callable[[], None]] = []
        self.executor: Executor | None = None
        if isinstance(where, Executor):
            self.executor = where
        elif isinstance(where, str):
            self.executor = self._dask(where)
        elif where is not None and (not isinstance(where, int) or where < 0):
            raise _no_workers(where)
        elif where is not None and where != 1 and not multiprocessing.current_process().daemon:  # that may have none
            self._start(where or os.cpu_count() or 1)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        while self._close:
            self._close.pop()()

    def _start(self, count: int) -> None:
        """Processes of our own, made anew: what was imported here is imported there, nothing else is inherited."""
        context = multiprocessing.get_context(
            "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        )
        if hasattr(context, "set_forkserver_preload"):
            context.set_forkserver_preload(["ptxsim.session.sweep"])
        self.count = count
        self.executor = pool = ProcessPoolExecutor(count, mp_context=context)
        self._close.append(lambda: _end(pool))

    def _dask(self, address: str) -> Executor:
        scheme, _, place = address.partition("://")
        if scheme != "dask" or not place:
            raise _no_workers(address)
        try:
            from distributed import Client
        except ImportError:
            raise PtxError(Finding("bad-directive", "dask:// needs Dask", help="pip install 'ptxsim[dask]'")) from None
        try:
            client = Client(f"tcp://{place}", timeout=10)
        except OSError as error:
            raise PtxError(Finding("bad-directive", f"no Dask scheduler answers at {place}: {error}")) from None
        self._close.append(client.close)
        found: Executor = client.get_executor(pure=True)  # equal work has equal keys: it is done once
        return found

    def renew(self) -> None:
        """Other workers after an executor broke: new processes, two of our own where the executor was handed in."""
        if self._close and isinstance(self.executor, ProcessPoolExecutor):
            self._close.pop()()
        self._start(getattr(self, "count", 2))

    def submit(self, work: Callable[[Any], Any], items: Sequence[bytes]) -> Future[list[bytes]]:
        """Give a batch to the executor, to another one if it takes no more."""
        for again in range(RENEWALS):
            assert self.executor is not None
            try:
                return self.executor.submit(_batch, work, items)
            except (RuntimeError, OSError):  # broken, or shut down; while a pool comes to know it, its pipes are closed
                # Closed pipes can end the server that makes processes, too: another one is started once that has ended.
                time.sleep(PAUSE * again)
                self.renew()
        assert self.executor is not None
        return self.executor.submit(_batch, work, items)


def _end(pool: ProcessPoolExecutor) -> None:
    """End processes of our own at once: what they were to give has arrived, or is not wanted any more."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def _no_workers(where: object) -> PtxError:
    help = "give a number of processes, dask://HOST:PORT, or a concurrent.futures.Executor"
    return PtxError(Finding("bad-directive", f"{where!r} names no workers", help=help))


def spread(
    work: Callable[[Item], Result], items: Iterable[Item], where: int | str | Executor | None = None,
    batch: int = BATCH, lost: Callable[[Item], Result] | None = None,
) -> Iterator[Result]:  # fmt: skip
    """`work` of every item, in the order of the items.

    where: as for Workers. batch: items that travel together. lost: the result of an item whose worker died each time; without it,
    RuntimeError. Raises what `work` raises, in order.
    """
    with Workers(where) as workers:
        if workers.executor is None:
            for item in items:
                yield _unpacked(_one(work, _packed("an item", item)))
            return
        yield from _in_order(workers, work, iter(items), batch, lost)


def _unpacked(data: bytes) -> Any:
    found = pickle.loads(data)
    if isinstance(found, _Raised):
        raise found.error
    return found


def _in_order(
    workers: Workers, work: Callable[[Any], Any], items: Iterator[Any], batch: int, lost: Callable[[Any], Any] | None
) -> Iterator[Any]:
    under_way: deque[tuple[list[Any], list[bytes], Future[list[bytes]]]] = deque()
    try:
        while True:
            while len(under_way) < AHEAD and (group := list(islice(items, batch))):
                packed = [_packed("an item", item) for item in group]
                under_way.append((group, packed, workers.submit(work, packed)))
            if not under_way:
                return
            group, packed, future = under_way.popleft()
            try:
                results = future.result()
            except Exception:  # of the executor: nothing of the work's own comes this way
                results = [_alone(workers, work, item, data, lost) for item, data in zip(group, packed)]
                _resubmit(workers, work, under_way)
            yield from map(_unpacked, results)
    finally:
        for _, _, future in under_way:
            future.cancel()


def _alone(
    workers: Workers, work: Callable[[Any], Any], item: Any, data: bytes, lost: Callable[[Any], Any] | None
) -> bytes:
    """An item whose worker may have died of it, with nothing beside it in its batch."""
    reason: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            return workers.submit(work, [data]).result()[0]
        except Exception as error:  # of the executor, as its kind says that a worker died
            reason = error
    if lost is None:
        message = f"the worker died {ATTEMPTS + 1} times: {type(reason).__name__}: {reason}"
        return pickle.dumps(_Raised(RuntimeError(message)), 5)
    return pickle.dumps(lost(item), 5)


def _resubmit(workers: Workers, work: Callable[[Any], Any], under_way: deque[Any]) -> None:
    """Batches that went down with the same executor are given to the one there is now."""
    for place, (group, packed, future) in enumerate(under_way):
        if future.done() and (future.cancelled() or future.exception() is not None):
            under_way[place] = group, packed, workers.submit(work, packed)

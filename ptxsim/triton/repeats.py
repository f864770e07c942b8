"""Launches that are repeated on what has not changed: benchmarks launch one kernel thousands of times.

What a launch does is decided by its kernel, arguments and shape, and by what lies in the storages of its tensors: a launch of
which all that is as before leaves the same bytes and the same findings, and need not run. What lies in a storage that is
fresh is anything (ptxsim.triton.fresh): it may be what lay there before.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ptxsim.programs.answers import Hosts
from ptxsim.session.run import Run
from ptxsim.triton.fresh import FRESH, copy_of, is_equal, storage_of

_MOST_BYTES = 2 << 30  # of what is kept
_MOST_KINDS = 1000
_MOST_AT_FIRST = 256 << 20  # bytes of a launch's storages that are copied before it is known how long it takes
_MOST_MISSES = 3  # launches of one kind on new contents, after which it is no repetition
_SPEED = 1e9  # bytes that are compared and copied in a second


@dataclass(slots=True)
class _Known:
    """What a launch has done: by number of the storage, where it was in the host's memory, what lay there (None: it was fresh) and what
    it has left (None: the same)."""

    run: Run
    hosts: list[int]
    before: list[torch.Tensor | None]
    after: list[torch.Tensor | None]

    @property
    def size(self) -> int:
        return sum(kept.nbytes for kept in (*self.before, *self.after) if kept is not None)


@dataclass(slots=True)
class _Kind:
    """Launches of one kernel, arguments and shape. seconds: what the last one took."""

    seconds: float
    misses: int = 0
    known: _Known | None = None


class Repeats:
    """The launches of a process."""

    def __init__(self) -> None:
        self._kinds: dict[Hashable, _Kind] = {}  # in order of their last use
        self._kept = 0  # bytes

    def find(self, launch: Launch) -> tuple[Run, Moved] | None:
        """What a launch gives, if that is known, and where; what it leaves is put in its place."""
        kind = self._kinds.get(launch.key)
        if kind is None or kind.known is None or not launch.is_as(kind.known.before):
            return None
        self._kinds[launch.key] = self._kinds.pop(launch.key)
        kind.misses = 0
        launch.put(kind.known.after)
        return kind.known.run, Moved(kind.known.hosts, launch)

    @contextmanager
    def remembered(self, launch: Launch | None) -> Iterator[list[Run]]:
        """Within it a launch runs; what it gives is to be put into the list. None: one that is not to be repeated."""
        runs: list[Run] = []
        if launch is None or launch.key is None:
            yield runs
            return
        kind, before = self._kinds.get(launch.key), None
        if (
            launch.size <= _MOST_AT_FIRST
            if kind is None
            else kind.misses < _MOST_MISSES and launch.is_worth(kind.seconds)
        ):
            before = launch.contents()
        began = time.perf_counter()
        yield runs
        seconds = time.perf_counter() - began
        if kind is None:
            self._kinds[launch.key] = kind = _Kind(seconds)
            if len(self._kinds) > _MOST_KINDS:
                self._forget(self._kinds.pop(next(iter(self._kinds))))
        kind.seconds = seconds
        if before is not None and runs and runs[0].stopped_at is None and launch.is_worth(seconds):
            kind.misses += 1
            self._keep(kind, _Known(runs[0], [*launch.tensors], before, launch.changes(before)))

    def _keep(self, kind: _Kind, known: _Known) -> None:
        self._forget(kind)
        for other in [*self._kinds.values()]:
            if self._kept + known.size > _MOST_BYTES:
                self._forget(other)
        if self._kept + known.size <= _MOST_BYTES:
            kind.known = known
            self._kept += known.size

    def _forget(self, kind: _Kind) -> None:
        if kind.known is not None:
            self._kept -= kind.known.size
            kind.known = None


@dataclass(slots=True)
class Launch:
    """One launch: what tells it from others, and the storages of its tensors, in order. shape: its kernel and how it is launched.
    `key` is None where it cannot be told from others."""

    shape: Hashable
    args: Sequence[Any]
    tensors: dict[int, torch.Tensor] = field(
        default_factory=dict
    )  # one of each storage, by address in the host's memory
    storages: list[torch.UntypedStorage] = field(default_factory=list)
    key: Hashable = None

    def __post_init__(self) -> None:
        try:
            self.key = self.shape, tuple(map(self._say, self.args))
            hash(self.key)
        except TypeError:
            self.key = None

    def _say(self, value: Any) -> Hashable:
        if isinstance(value, torch.Tensor):
            storage = storage_of(value)
            if storage is None or storage.device.type != "cpu":
                raise TypeError("no tensor of the CPU")
            host = storage.data_ptr()
            if host not in self.tensors:
                self.tensors[host] = value
                self.storages.append(storage)
            number = [*self.tensors].index(host)
            with torch._C.DisableTorchFunction():
                place = value.storage_offset(), tuple(value.shape), value.stride(), value.dtype
            return "tensor", number, storage.nbytes(), host % 16, place
        if isinstance(value, tuple):
            return tuple(map(self._say, value))
        base = getattr(value, "base", None)
        if isinstance(base, torch.Tensor):  # a descriptor, or a tensor that is reinterpreted
            said = {name: _frozen(what) for name, what in vars(value).items() if name != "base"}
            return type(value), self._say(base), tuple(said.items())
        return type(value), value

    @property
    def size(self) -> int:
        """Bytes in all storages."""
        return sum(storage.nbytes() for storage in self.storages)

    def is_worth(self, seconds: float) -> bool:
        """Whether comparing and copying its storages takes less time than so many seconds."""
        return 2 * self.size / _SPEED < seconds

    def is_as(self, before: Sequence[torch.Tensor | None]) -> bool:
        return all(
            FRESH.has(storage) if contents is None else is_equal(storage, contents)
            for storage, contents in zip(self.storages, before, strict=True)
        )

    def contents(self) -> list[torch.Tensor | None]:
        """What lies in the storages."""
        return [None if FRESH.has(storage) else copy_of(storage) for storage in self.storages]

    def changes(self, before: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """What lies in those where something else lay before."""
        return [
            None if contents is not None and is_equal(storage, contents) else copy_of(storage)
            for storage, contents in zip(self.storages, before, strict=True)
        ]

    def put(self, after: Sequence[torch.Tensor | None]) -> None:
        """Let this lie in the storages. None: as it was."""
        self.storages.clear()  # so that each is its tensor's alone
        for tensor, contents in zip(self.tensors.values(), after, strict=True):
            if contents is not None:
                FRESH.fill(tensor, contents)


class Moved:
    """Where the storages of a launch that has run are those of one like it."""

    def __init__(self, before: Sequence[int], launch: Launch):
        self._storages = [
            (host, StorageWeakRef(storage))
            for host, tensor in zip(before, launch.tensors.values(), strict=True)
            if (storage := storage_of(tensor)) is not None
        ]

    def __call__(self, hosts: Hosts) -> Hosts:
        """Those that are still there. hosts: of the launch that has run."""
        living = ((host, torch.UntypedStorage._new_with_weak_ptr(weak.cdata)) for host, weak in self._storages)
        return {storage.data_ptr(): hosts[host] for host, storage in living if storage is not None and host in hosts}


def _frozen(value: Any) -> Hashable:
    """A field of a descriptor: sizes."""
    return tuple(value) if isinstance(value, list | tuple) else str(value)

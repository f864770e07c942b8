"""A benchmark's launches: a sample of their CTAs tells the time, and results that anything asks for are made in full.

What a sample has written goes nowhere. A launch or a function of torch that takes a tensor which the launches may write, or writes over
what they read, first has the launches so far run in full; so does the benchmark at its end, if the program still holds such a tensor.
Another sample does not, unless what it loads may say what it does (engine.analysis.written_parameters.memory_steers).
What may be written is what the program says on every path (written_parameters), not what a sample has changed.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Methods that read a tensor without an operator that torch dispatches.
_OUTSIDE = {torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.__array__, torch.Tensor.__dlpack__}
Storages = Mapping[int, StorageWeakRef]  # by address in the host's memory


@dataclass(frozen=True, slots=True)
class _Pending:
    """A launch of which a sample has run. run: all of it; what it may write, and where else it may read. held: of these, what it has by
    addresses in memory alone."""

    run: Callable[[], None]
    written: Storages
    read: Set[int]
    held: Mapping[int, torch.UntypedStorage]

    def is_wanted(self, host: int) -> bool:
        """Whether anybody else still holds a storage that it may write."""
        held = self.held.get(host)
        if held is None:
            return not self.written[host].expired()
        return torch._C._storage_Use_Count(held._cdata) > 1 or not held.resizable()


class Samples:
    """The launches of a benchmark, in order, and the storages that they read."""

    def __init__(self) -> None:
        self.launches: list[_Pending] = []
        self.read: set[int] = set()  # these storages are held
        self.foreign: list[torch.UntypedStorage] = []  # written ones of memory that others see, too, without a tensor

    def add(
        self, launch: Callable[[Sequence[Any]], None], args: Sequence[Any], places: Collection[int], written: Storages,
        held: Mapping[int, torch.UntypedStorage],
    ) -> None:  # fmt: skip
        """A sample has run. launch: runs it in full with these arguments; places: of storages that it may have touched; written:
        what may be written; held: the storages that it has by addresses in memory."""
        given = _Held(written)
        weak = [given.release(value) for value in args]
        pending = _Pending(
            lambda: launch([given.take(value) for value in weak]), written, set(places) - written.keys(), held
        )
        self.launches.append(pending)
        self.read |= pending.read
        storages = (torch.UntypedStorage._new_with_weak_ptr(storage.cdata) for storage in written.values())
        self.foreign += [storage for storage in storages if storage is not None and not storage.resizable()]

    def need(self, addresses: Collection[int], writes: bool = False) -> None:
        """What lies at these addresses is about to be used, or to be written over."""
        if self.launches and (
            any(launch.is_wanted(host) for launch in self.launches for host in launch.written.keys() & addresses)
            or (writes and not self.read.isdisjoint(addresses))
        ):
            self._complete(self.launches)

    def finish(self) -> None:
        """The benchmark is over, or stopped: of its results those are needed that the program holds, and what they are made from."""
        needed: set[int] = set()
        launches: list[_Pending] = []
        while self.launches:
            launch = self.launches.pop()  # which holds what it reads, no longer than it is wanted itself
            if not launches and any(map(launch.is_wanted, launch.written)):
                gc.collect()  # what refers to each other in a circle, as contexts of torch's functions may, holds nothing
            if any(host in needed or launch.is_wanted(host) for host in launch.written):
                launches.append(launch)
                needed |= launch.read | launch.written.keys()
        self._complete(launches[::-1])

    def _complete(self, launches: list[_Pending]) -> None:
        """Run launches in full; the others are given up."""
        self.launches, self.read = [], set()
        for launch in launches:
            launch.run()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within it torch's functions get what they need."""
        with _Operators(self), _Methods(self):
            yield

    def need_of(self, values: Any, writes: bool = False) -> None:
        """The tensors among arguments are about to be used."""
        if self.launches:
            tensors = (value for value in tree_leaves(values) if isinstance(value, torch.Tensor))
            self.need([tensor.untyped_storage().data_ptr() for tensor in tensors], writes)


class _Held:
    """Arguments of a launch without hold of the tensors that it writes, so that those of no further use go."""

    def __init__(self, written: Storages):
        self.written = written

    def release(self, value: Any) -> Any:
        base = getattr(value, "base", None)
        if isinstance(base, torch.Tensor):  # a descriptor, or a tensor that is reinterpreted
            value = copy.copy(value)
            value.base = self.release(base)
        elif isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            if storage.data_ptr() not in self.written:
                return value.detach()  # the tensor itself holds its gradient, and what it has been made from
            what = value.storage_offset(), tuple(value.shape), value.stride()
            return _Weak(self.written[storage.data_ptr()], storage.nbytes(), value.dtype, what)
        elif isinstance(value, tuple):
            return tuple(map(self.release, value))
        return value

    def take(self, value: Any) -> Any:
        if isinstance(getattr(value, "base", None), _Weak):
            value = copy.copy(value)
            value.base = value.base.tensor()
        elif isinstance(value, tuple):
            return tuple(map(self.take, value))
        return value.tensor() if isinstance(value, _Weak) else value


class _Weak:
    """A tensor whose storage may be gone."""

    def __init__(self, storage: StorageWeakRef, size: int, dtype: torch.dtype, what: tuple[Any, ...]):
        self.storage, self.size, self.dtype, self.what = storage, size, dtype, what

    def tensor(self) -> torch.Tensor:
        """The tensor; what nobody holds is another one."""
        storage = torch.UntypedStorage._new_with_weak_ptr(self.storage.cdata) or torch.UntypedStorage(self.size)
        return torch.empty(0, dtype=self.dtype).set_(storage, *self.what)


class _Operators(TorchDispatchMode):  # type: ignore[misc]  # torch may be missing where types are checked
    def __init__(self, samples: Samples):
        super().__init__()
        self.samples = samples

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not (function.is_view or _takes_shape_alone(function)):
            self.samples.need_of((args, kwargs), function._schema.is_mutable)
        return function(*args, **(kwargs or {}))


def _takes_shape_alone(function: Any) -> bool:
    """Whether an operator makes a tensor that is like another one but in its contents."""
    name = function._schema.name.rpartition("::")[2]
    return bool(name.endswith("_like") or name.startswith("new_"))


class _Methods(TorchFunctionMode):  # type: ignore[misc]  # as above
    def __init__(self, samples: Samples):
        super().__init__()
        self.samples = samples

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in _OUTSIDE:
            self.samples.need_of(args, writes=True)  # what numpy has it may write, too
        return function(*args, **(kwargs or {}))

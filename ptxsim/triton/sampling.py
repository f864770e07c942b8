"""A benchmark's launches: a sample of their CTAs tells the time, and results that anything asks for are made in full.

What a sample has written goes nowhere. A launch or a function of torch that takes a tensor which the launches may write, or writes over
what they read, first has the launches so far run in full; so does the benchmark at its end, if the program still holds such a tensor.
What may be written is what the program says on every path (engine.analysis.written_parameters), not what a sample has changed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Methods that read a tensor without an operator that torch dispatches.
_OUTSIDE = {torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.__array__, torch.Tensor.__dlpack__}
Storages = Mapping[int, StorageWeakRef]  # by address in the host's memory


class Samples:
    """The launches of one call, in order, the storages that they may write, and those that they read."""

    def __init__(self) -> None:
        self.launches: list[Callable[[], None]] = []
        self.written: dict[int, StorageWeakRef] = {}
        self.read: set[int] = set()
        self.foreign: list[torch.UntypedStorage] = []  # written ones of memory that others see, too, without a tensor

    def add(
        self, launch: Callable[[Sequence[Any]], None], args: Sequence[Any], places: Collection[int], written: Storages
    ) -> None:
        """A sample has run. launch: runs it in full with these arguments; places: of storages that it may have touched; written:
        what may be written."""
        held = _Held(written)
        weak = [held.release(value) for value in args]
        self.launches.append(lambda: launch([held.take(value) for value in weak]))
        self.written |= written
        storages = (torch.UntypedStorage._new_with_weak_ptr(storage.cdata) for storage in written.values())
        self.foreign += [storage for storage in storages if storage is not None and not storage.resizable()]
        self.read |= set(places)

    def need(self, addresses: Collection[int], writes: bool = False) -> None:
        """What lies at these addresses is about to be used, or to be written over."""
        if self.launches and not (
            self.written.keys().isdisjoint(addresses) and (not writes or self.read.isdisjoint(addresses))
        ):
            self.complete()

    def complete(self) -> None:
        """Run the launches in full."""
        launches, self.launches, self.written, self.read = self.launches, [], {}, set()
        for launch in launches:
            launch()

    def finish(self) -> None:
        """The call is over, or stopped: results that the program holds are needed."""
        if any(not storage.expired() for storage in self.written.values()):
            self.complete()

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
        elif isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() in self.written:
            storage = value.untyped_storage()
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
        if not function.is_view:
            self.samples.need_of((args, kwargs), function._schema.is_mutable)
        return function(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):  # type: ignore[misc]  # as above
    def __init__(self, samples: Samples):
        super().__init__()
        self.samples = samples

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in _OUTSIDE:
            self.samples.need_of(args, writes=True)  # what numpy has it may write, too
        return function(*args, **(kwargs or {}))

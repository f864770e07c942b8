"""torch.cuda.CUDAGraph under `ptxsim exec`: what torch and Triton do while it is captured is done again at each replay, with the same tensors.

What is captured runs once as it is captured, so that there are shapes and tensors to go on with. It leaves nothing: what lay before in
memory that was there already is put back at the end, as a GPU would not have run anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from ptxsim.triton.fresh import FRESH, bytes_of, copy_of, storage_of

_EMPTY = ("aten::empty", "aten::new_empty")  # operators whose results hold anything
_pools = itertools.count(1)


class Recording(TorchDispatchMode):  # type: ignore[misc]  # torch may be missing where types are checked
    """What is captured, in order. `steps` do it again."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Callable[[], None]] = []
        self._is_inside = False  # an operator or a launch, whose own operators are part of it
        self._made: dict[int, torch.UntypedStorage] = {}  # the graph's own memory, by address in the host's
        self._before: dict[int, tuple[torch.UntypedStorage, torch.Tensor]] = {}  # what lay in other memory

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._is_inside:
            return func(*args, **kwargs)
        written = list(_written(func, args, kwargs))
        self._keep(written)
        with self._inside():
            result = func(*args, **kwargs)
        given = set(_hosts(tree_leaves((args, kwargs))))
        made = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor)]
        new = [not given.issuperset(_hosts([value])) for value in made]
        self._made |= {host: storage for value in itertools.compress(made, new) for host, storage in _storages([value])}
        if written or (any(new) and not func._schema.name.startswith(_EMPTY)):
            self.steps.append(lambda: self._again(func, args, kwargs, made, new))
        return result

    def _again(self, func: Any, args: Any, kwargs: Any, made: list[torch.Tensor], new: list[bool]) -> None:
        results = [value for value in tree_leaves(func(*args, **kwargs)) if isinstance(value, torch.Tensor)]
        for before, value, is_new in zip(made, results, new, strict=True):
            if not is_new:
                continue
            one, other = storage_of(before), storage_of(value)
            if one is None or other is None or one.nbytes() != other.nbytes():
                before.copy_(value)
            else:
                bytes_of(one).copy_(bytes_of(other))

    def launch(self, run: Callable[[], None], values: Iterable[Any], held: Iterable[torch.UntypedStorage]) -> None:
        """A launch of Triton's. values: its arguments; held: other memory that it may write."""
        if self._is_inside:
            run()
            return
        leaves = [getattr(value, "base", value) for value in tree_leaves(list(values))]
        self._keep(leaves)
        for storage in held:
            self._keep_storage(storage.data_ptr(), storage)
        with self._inside(), _disable_current_modes():
            run()
        self.steps.append(run)

    def put_back(self) -> None:
        """The capture is over."""
        for storage, contents in self._before.values():
            bytes_of(storage).copy_(contents)
        self._before.clear()

    def _keep(self, values: Iterable[Any]) -> None:
        for host, storage in _storages(values):
            self._keep_storage(host, storage)

    def _keep_storage(self, host: int, storage: torch.UntypedStorage) -> None:
        if host and host not in self._made and host not in self._before:
            with _disable_current_modes():
                self._before[host] = storage, copy_of(storage)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self._is_inside = True
        try:
            yield
        finally:
            self._is_inside = False


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    """The tensors that an operator writes, by its schema."""
    parameters = func._schema.arguments
    named = {**dict(zip((p.name for p in parameters), args, strict=False)), **kwargs}
    for p in parameters:
        if p.alias_info is not None and p.alias_info.is_write:
            yield from (value for value in tree_leaves(named.get(p.name)) if isinstance(value, torch.Tensor))


def _storages(values: Iterable[Any]) -> Iterator[tuple[int, torch.UntypedStorage]]:
    for value in values:
        storage = storage_of(value) if isinstance(value, torch.Tensor) else None
        if storage is not None and storage.device.type == "cpu":
            yield storage.data_ptr(), storage


def _hosts(values: Iterable[Any]) -> Iterator[int]:
    return (host for host, _ in _storages(values))


_current: list[Recording] = []  # the capture that is under way


def is_capturing() -> bool:
    return bool(_current)


def captured(
    run: Callable[[], None], values: Iterable[Any], held: Callable[[], Iterable[torch.UntypedStorage]]
) -> bool:
    """Whether a launch is captured; it has then been made, and what it leaves will be put back."""
    if not _current:
        return False
    _current[-1].launch(run, values, held())
    return True


class CUDAGraph:
    """torch.cuda.CUDAGraph."""

    def __init__(self, keep_graph: bool = False):
        self._recording: Recording | None = None
        self._pool = 0, next(_pools)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **more: Any) -> None:
        if _current:
            raise RuntimeError("CUDA error: a capture is under way, and there is one stream")
        self._pool = pool or self._pool
        self._recording = Recording()
        _current.append(self._recording)
        self._recording.__enter__()

    def capture_end(self) -> None:
        if self._recording is None or self._recording not in _current:
            raise RuntimeError("CUDA error: no capture of this graph is under way")
        self._recording.__exit__(None, None, None)
        _current.clear()
        self._recording.put_back()

    def replay(self) -> None:
        if self._recording is None or self._recording in _current:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        FRESH.worked += 1  # what a graph does begins when the launches before it are over
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd(), torch._C.DisableTorchFunction():
            for step in self._recording.steps:
                step()

    def reset(self) -> None:
        self._recording = None

    def pool(self) -> Any:
        return self._pool

    def instantiate(self) -> None:
        """It is ready when its capture is over."""

    def enable_debug_mode(self) -> None:
        """There is nothing to dump."""

    def debug_dump(self, debug_path: str) -> None:
        """As above."""


class Graph(CUDAGraph):
    """torch.accelerator.Graph, which is entered to capture."""

    def __init__(self, device: Any = None, *, keep_graph: bool = False, pool: Any = None, **more: Any):
        super().__init__(keep_graph)
        self._pool = pool or self._pool

    def __enter__(self) -> None:
        self.capture_begin()

    def __exit__(self, *error: object) -> None:
        self.capture_end()


class graph:
    """torch.cuda.graph: a capture."""

    default_capture_stream = None

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, *given: Any, **more: Any):
        self.cuda_graph, self.pool = cuda_graph, pool

    def __enter__(self) -> None:
        self.cuda_graph.capture_begin(self.pool)

    def __exit__(self, *error: object) -> None:
        self.cuda_graph.capture_end()


def pool_handle() -> tuple[int, int]:
    """torch.cuda.graph_pool_handle: each graph keeps its own memory."""
    return 0, next(_pools)

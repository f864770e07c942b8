"""What torch.cuda says of memory: the storages of the tensors that the program holds, as tensors are on the device.

How much that has been at most is known of the moments at which the program has asked.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ptxsim.triton.fresh import storage_of

_KINDS = ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "inactive_split_bytes")
_COUNTS = ("allocation", "active", "segment", "inactive_split")
_HELD = ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "allocation", "active", "segment")
_POOLS, _TIMES = ("all", "large_pool", "small_pool"), ("current", "peak", "allocated", "freed")


def _held() -> dict[int, int]:
    """Bytes of the storages of the CPU's that tensors have, by address."""
    found = {}
    for value in gc.get_objects():
        if issubclass(type(value), torch.Tensor):
            storage = storage_of(value)
            if storage is not None and storage.device.type == "cpu" and storage.nbytes():
                found[storage.data_ptr()] = storage.nbytes()
    return found


class Statistics:
    """How many bytes, and storages, there are, and were at most since the program has asked to forget that. total: bytes of the device."""

    def __init__(self, total: int):
        self.total = total
        self.peak = [0, 0]

    def now(self) -> list[int]:
        held = _held()
        found = [sum(held.values()), len(held)]
        self.peak = [*map(max, self.peak, found)]
        return found

    def forget(self, device: Any = None) -> None:
        self.peak = [0, 0]

    def allocated(self, device: Any = None) -> int:
        return self.now()[0]

    def most(self, device: Any = None) -> int:
        self.now()
        return self.peak[0]

    def free(self, device: Any = None) -> tuple[int, int]:
        """Bytes that are free, and all."""
        return self.total - self.allocated(), self.total

    def table(self, device: Any = None) -> OrderedDict[str, int]:
        """As torch.cuda.memory_stats gives it."""
        now = self.now()
        found = {f"{kind}.{pool}.{time}": 0 for kind in (*_KINDS, *_COUNTS) for pool in _POOLS for time in _TIMES}
        found |= {f"oversize_{kind}.{time}": 0 for kind in ("allocations", "segments") for time in _TIMES}
        for kind in _HELD:
            number = int(not kind.endswith("bytes"))
            for time, value in zip(_TIMES, (now[number], self.peak[number], now[number], 0)):
                found[f"{kind}.all.{time}"] = found[f"{kind}.large_pool.{time}"] = value
        found |= dict.fromkeys(("num_alloc_retries", "num_ooms", "num_sync_all_streams", "max_split_size"), 0)
        return OrderedDict(sorted(found.items()))

    def nested(self, device: Any = None) -> dict[str, Any]:
        """As torch.cuda.memory_stats_as_nested_dict gives it."""
        found: dict[str, Any] = {}
        for name, value in self.table().items():
            *holders, last = name.split(".")
            inner = found
            for holder in holders:
                inner = inner.setdefault(holder, {})
            inner[last] = value
        return found


@contextmanager  # as torch's is: its compiler looks at what is inside
def use_mem_pool(pool: object, device: object = None) -> Iterator[None]:
    """Memory is the host's allocator's."""
    yield


def answers(total: int) -> dict[str, Callable[..., Any]]:
    """By the names of torch.cuda's functions."""
    statistics = Statistics(total)
    current = dict.fromkeys(
        ("memory_allocated", "memory_reserved", "memory_cached", "device_memory_used"), statistics.allocated
    )
    most = dict.fromkeys(("max_memory_allocated", "max_memory_reserved", "max_memory_cached"), statistics.most)
    resets = ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached")
    return {
        **current, **most, **dict.fromkeys(resets, statistics.forget), "memory_stats": statistics.table,
        "memory_stats_as_nested_dict": statistics.nested, "mem_get_info": statistics.free, "get_memory_info": statistics.free,
        "memory_snapshot": lambda *given, **more: [], "_snapshot": lambda *given, **more: {"segments": [], "device_traces": []},
        "_record_memory_history": lambda *given, **more: None, "empty_cache": lambda: None, "empty_host_cache": lambda: None,
        "reset_accumulated_memory_stats": lambda device=None: None, "reset_accumulated_host_memory_stats": lambda: None,
        "reset_peak_host_memory_stats": lambda: None, "host_memory_stats": OrderedDict, "get_allocator_backend": lambda: "native",
        "set_per_process_memory_fraction": lambda fraction, device=None: None, "get_per_process_memory_fraction": lambda device=None: 1.0,
        "MemPool": MemPool, "use_mem_pool": use_mem_pool, "list_gpu_processes": lambda device=None: "",
    }  # fmt: skip


class MemPool:
    """torch.cuda.MemPool: memory is the host's allocator's."""

    id = (0, 1)

    def __init__(self, allocator: Any = None, *given: Any, **more: Any):
        self.allocator = allocator

    def use_count(self) -> int:
        return 1

    def snapshot(self, *given: Any, **more: Any) -> list[Any]:
        return []

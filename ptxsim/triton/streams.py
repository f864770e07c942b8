"""torch.cuda's streams and what it says of them: launches run one after the other, whatever stream they are on."""

from __future__ import annotations

from typing import Any

import torch

GPU = torch.device("cuda:0")


def event(enable_timing: bool = False, **kwargs: Any) -> Any:
    import triton

    return triton.runtime.driver.active.get_device_interface().Event(enable_timing)


class Stream:
    """A stream: launches run one after the other, whatever stream they are on."""

    cuda_stream = stream_id = device_index = 0
    device = GPU

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        self.priority = priority

    def synchronize(self) -> None:
        """Launches have ended when they return."""

    def wait_stream(self, other: Any) -> None:
        """Launches run one after the other."""

    wait_event = wait_stream

    def record_event(self, given: Any = None) -> Any:
        given = event() if given is None else given
        given.record(self)
        return given

    def query(self) -> bool:
        return True

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(Stream)


class ExternalStream(Stream):
    """A stream that something else has made; `cuda_stream` is how that knows it."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any):
        super().__init__(device, **kwargs)
        self.cuda_stream = self.stream_id = stream_ptr


class Context:
    """A device, or a stream, that is the current one for a while: torch.cuda.device and torch.cuda.stream, which may be entered again.
    `idx`, `prev_idx`: its number and that of the one before."""

    idx = prev_idx = 0

    def __init__(self, given: Any = None):
        self.stream = given

    def __enter__(self) -> None:
        """There is one device."""

    def __exit__(self, *error: object) -> None:
        """What was raised goes on."""

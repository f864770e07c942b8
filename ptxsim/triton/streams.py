"""torch.cuda's streams and what it says of them: launches run one after the other, whatever stream they are on."""

from __future__ import annotations

from typing import Any

import torch

from ptxsim.triton import graphs

GPU = torch.device("cuda:0")


class GenericEvent:
    """torch.Event: the one of Triton's driver, which tells predicted time."""

    device, event_id, cuda_event = GPU, 0, 0

    def __init__(self, device: Any = None, *, enable_timing: bool = False, **kwargs: Any):
        import triton

        self._own = triton.runtime.driver.active.get_device_interface().Event(enable_timing)

    def record(self, stream: Any = None) -> None:
        self._own.record(stream)

    def elapsed_time(self, end: GenericEvent) -> float:
        return float(self._own.elapsed_time(end._own))

    def synchronize(self) -> None:
        """Launches have ended when they return."""

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None:
        """Launches run one after the other."""


class Event(GenericEvent):
    """torch.cuda.Event."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **kwargs: Any):
        super().__init__(enable_timing=enable_timing)


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
        given = Event() if given is None else given
        given.record(self)
        return given

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return graphs.is_capturing()

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5

    def __cuda_stream__(self) -> tuple[int, int]:
        """As other libraries ask for it: a version of the question, and the stream."""
        return 0, self.cuda_stream

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        """What was raised goes on."""

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

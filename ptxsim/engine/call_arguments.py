"""Arguments and results of calls as bytes: between registers, the frames in local memory, and constants."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.program.operation import Passed
from ptxsim.machine.cta import Frame, Register, Warp
from ptxsim.machine.state import Machine


def fetch(passed: Passed, warp: Warp, machine: Machine) -> np.ndarray:
    """An argument as bytes: uint8 (lanes, size)."""
    if passed.slot is not None:
        raw = warp.registers[passed.slot]
        if isinstance(raw, list):
            raw = np.stack(raw, axis=1)
        return np.ascontiguousarray(raw).view(np.uint8).reshape(len(warp.live), -1).copy()
    if passed.constant is not None:
        return np.tile(np.frombuffer(passed.constant.to_bytes(8, "little"), np.uint8), (len(warp.live), 1))
    local = local_bytes(warp, machine)
    start = warp.stack.astype(np.int64) + (passed.offset or 0)
    rows = np.arange(len(warp.live))[:, None]
    found: np.ndarray = local[rows, np.minimum(start[:, None] + np.arange(passed.size), local.shape[1] - 1)]
    return found


def place(passed: Passed, data: np.ndarray, warp: Warp, mask: np.ndarray, machine: Machine) -> None:
    """Write bytes to a formal or to the caller's variable, for the lanes of `mask`."""
    data = data[:, : passed.size]
    if passed.slot is not None:
        old = warp.registers[passed.slot]
        if isinstance(old, list):
            halves = np.ascontiguousarray(data).view(np.uint64)
            warp.registers[passed.slot] = [np.where(mask, halves[:, i], old[i]) for i in (0, 1)]
        else:
            fresh = np.ascontiguousarray(data).view(old.dtype)[:, 0]
            warp.registers[passed.slot] = np.where(mask, fresh, old)
    elif passed.offset is not None:
        local = local_bytes(warp, machine)
        rows = np.flatnonzero(mask)
        start = warp.stack.astype(np.int64)[rows] + passed.offset
        local[rows[:, None], start[:, None] + np.arange(data.shape[1])] = data[rows]


def share_calls(frame: Frame | None, other: Frame | None, lanes: np.ndarray) -> None:
    """Let lanes go on in the calls of others, which have led to the same place: what theirs have saved is kept there."""
    while frame is not None and other is not None and frame is not other:
        frame.saved = {slot: mixed(lanes, other.saved[slot], value) for slot, value in frame.saved.items()}
        if frame.pointer is not None and other.pointer is not None:
            frame.pointer = np.where(lanes, other.pointer, frame.pointer)
        frame, other = frame.caller, other.caller


def mixed(mask: np.ndarray, some: Register, others: Register) -> Register:
    """A register with the values of one in the lanes of `mask`, those of another one in the rest."""
    if isinstance(some, list):
        return [np.where(mask, a, b) for a, b in zip(some, others, strict=True)]
    return np.where(mask, some, others)


def local_bytes(warp: Warp, machine: Machine) -> np.ndarray:
    if warp.local is None:
        warp.local = np.zeros((len(warp.live), machine.local_bytes), np.uint8)
    return warp.local

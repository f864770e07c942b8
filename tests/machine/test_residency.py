"""How many CTAs a GPU of a target holds at once, whatever registers they take."""

from __future__ import annotations

import pytest

from ptxsim.machine.memory import GlobalMemory
from ptxsim.machine.special import resident_ctas
from ptxsim.machine.state import Machine, shared_start
from ptxsim.types import parse_target


@pytest.mark.parametrize(
    "target, threads, shared, held",
    [
        ("sm_90a", 32, 0, 32 * 132),  # as many CTAs as an SM has at most
        ("sm_90a", 1024, 0, 2 * 132),  # 64 warps
        ("sm_90a", 65, 0, 21 * 132),  # of three warps each
        ("sm_90a", 128, 113 * 1024, 2 * 132),  # of 228 KiB, each with the KiB that the system keeps
        ("sm_90a", 128, 114 * 1024, 132),
        ("sm_89", 1024, 0, 142),  # 48 warps
        ("sm_72", 1024, 0, 16),
    ],
)
def test_ctas_that_are_held(target, threads, shared, held):
    gpu = parse_target(target)
    machine = Machine(
        gpu, (1, 1, 1), (threads, 1, 1), (1, 1, 1), GlobalMemory(), shared_bytes=shared + shared_start(gpu)
    )
    assert resident_ctas(machine) == held

"""Launches that are repeated: which of them run."""

from types import SimpleNamespace

import numpy as np
import pytest

from ptxsim.cuda.runtime import repeats
from ptxsim.machine.memory import GlobalMemory


class Program:
    """A memory of one array, and launches that count how often they ran."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(repeats, "_SPEED", 1e15)  # to compare memory pays
        self.memory = GlobalMemory(64 << 20)
        self.x = self.memory.view(self.memory.allocate("x", 64)).view(np.uint32)
        self.ran, self.printed, self.stopped_at = 0, 0, None
        self.repeats = repeats.Repeats(lambda: self.memory, lambda: self.printed)

    def launch(self, what, key="k"):
        def execute():
            self.ran += 1
            what()
            return SimpleNamespace(stopped_at=self.stopped_at, number=self.ran)

        return self.repeats.run(key, execute)


@pytest.fixture
def program(monkeypatch):
    return Program(monkeypatch)


def test_what_leaves_the_same_runs_until_that_is_known(program):
    def what():
        program.x[1] = program.x[0] + 1

    runs = [program.launch(what).number for _ in range(10)]
    assert runs == [1, 2, *[2] * 8]
    program.x[0] = 5
    program.launch(what)
    assert (program.ran, program.x[1]) == (3, 6)
    program.x[:2] = 0, 1
    assert program.launch(what).number == 2


def test_states_that_come_again_are_known(program):
    def what():
        program.x[0] ^= 1

    for _ in range(11):
        program.launch(what)
    assert (program.ran, program.x[0]) == (3, 1)


def test_what_goes_on_always_runs(program):
    def what():
        program.x[0] += 1

    for _ in range(10):
        program.launch(what)
    assert (program.ran, program.x[0]) == (10, 10)


@pytest.mark.parametrize("why", ["prints", "stops", "heap", "options"])
def test_what_is_not_decided_by_memory_runs(program, why):
    def what():
        program.printed += why == "prints"

    program.stopped_at = 7 if why == "stops" else None
    if why == "heap":
        program.memory.need_heap()
    for i in range(5):
        program.launch(what, i if why == "options" else 0)
    assert program.ran == 5


def test_memory_that_takes_longer_to_compare_is_not_compared(program, monkeypatch):
    monkeypatch.setattr(repeats, "_SPEED", 1e-6)
    for _ in range(5):
        program.launch(lambda: None)
    assert program.ran == 5

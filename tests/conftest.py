"""Fixtures that tests of several folders use."""

import os
from collections import Counter

import pytest

from ptxsim.engine.compiled.library import Library
from ptxsim.engine.compiled.run import engine as compiled
from ptxsim.engine.compiled.run import selftest
from ptxsim.jit.compiler import Jit
from ptxsim.jit.store import ObjectStore
from tests.helpers import ENGINES

os.environ["PTXSIM_PTXAS"] = "off"  # cycles do not depend on what is installed; tests of machine code bring their own


@pytest.hookimpl(tryfirst=True)  # before -m looks at marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the rows of a test with `thin(n)` the quick tests have every n-th: the others are slow."""
    rows = Counter[object]()
    for item in items:
        if (thin := item.get_closest_marker("thin")) is not None:
            number = rows[item.function]
            rows[item.function] += 1
            if number % thin.args[0]:
                item.add_marker("slow")


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    """Both engines, one after the other: a test that takes this runs twice."""
    return request.param


@pytest.fixture
def slow_path(monkeypatch):
    """Why operations take the slow path, by site, for kernels compiled from now on."""
    found: dict[int, str] = {}
    ask = Library.kernel

    def kernel(self, wanted, *part):
        code = ask(self, wanted, *part)
        if wanted.options.full:
            found.update(code.slow_path)
        return code

    monkeypatch.setattr(Library, "kernel", kernel)
    return found


@pytest.fixture
def native(tmp_path, monkeypatch) -> Library:
    """A library of its own, with an empty store: whatever is launched is compiled now."""
    assert selftest.refusal() is None
    fresh = Library(Jit(store=ObjectStore(tmp_path)))
    monkeypatch.setattr(compiled, "library", lambda: fresh)
    return fresh

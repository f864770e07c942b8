"""Fixtures that tests of several folders use."""

import pytest

from ptxsim.engine.compiled.library import Library
from tests.helpers import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    """Both engines, one after the other: a test that takes this runs twice."""
    return request.param


@pytest.fixture
def services(monkeypatch):
    """What native code leaves to the interpreter, for kernels compiled from now on."""
    found: dict[int, str] = {}
    ask = Library.kernel

    def kernel(self, program, places, options):
        address, left = ask(self, program, places, options)
        if options.full:
            found.update(left)
        return address, left

    monkeypatch.setattr(Library, "kernel", kernel)
    return found

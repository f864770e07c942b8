"""What is done once a program has imported a module, wherever that comes from."""

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.util import spec_from_file_location

import pytest

from ptxsim.programs.after_import import after_import


class Elsewhere(MetaPathFinder):
    """As of an editable install: knows a module that is on no path."""

    def __init__(self, file):
        self.file = file

    def find_spec(self, name, path, target=None):
        return spec_from_file_location(name, self.file) if name == "late" and self.file.exists() else None


def test_what_is_done_after_an_import(tmp_path, monkeypatch):
    file, done = tmp_path / "elsewhere" / "late.py", []
    monkeypatch.delitem(sys.modules, "late", raising=False)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Elsewhere(file)])

    def act():
        done.append(sys.modules["late"].VALUE)

    after_import("late", act)
    with pytest.raises(ImportError):
        import late
    file.parent.mkdir()
    file.write_text("VALUE = 1\n")
    importlib.invalidate_caches()
    import late

    assert done == [1] and late.VALUE == 1
    after_import("late", act)
    assert done == [1, 1]
    del sys.modules["late"]
    import late  # done once

    assert done == [1, 1]


def test_two_wait_for_one_module_which_is_looked_for_first(tmp_path, monkeypatch):
    file, done = tmp_path / "late.py", []
    file.write_text("")
    monkeypatch.delitem(sys.modules, "late", raising=False)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Elsewhere(file)])
    after_import("late", lambda: done.append(1))
    after_import("late", lambda: done.append(2))
    assert importlib.util.find_spec("late") is not None and not done
    import late  # noqa: F401

    assert done == [1, 2]

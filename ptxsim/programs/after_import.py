"""Something to be done when a program has imported a module, not before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def after_import(name: str, act: Callable[[], None]) -> None:
    """Call `act` once the module has been imported: now, if it has been already."""
    if name in sys.modules:
        act()
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder(MetaPathFinder):
    """Finds a module as the other finders do (those of editable installs among them)."""

    def __init__(self, name: str, act: Callable[[], None]):
        self.name, self.act = name, act

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        sys.meta_path.remove(self)  # others may wait for the same module: each asks those that are left
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in list(sys.meta_path))), None)
        sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader, self.end)
        return spec

    def end(self) -> None:
        """The module has been executed: who only asks where it is (importlib.util.find_spec) does not bring this about."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self.act()


class _Then(Loader):
    def __init__(self, loader: Loader, act: Callable[[], None]):
        self.loader, self.act = loader, act

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.act()

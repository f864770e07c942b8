"""Python runs this as it starts: processes that a program starts (multiprocessing, torchrun, sys.executable) are under `ptxsim exec` as it is.

Nothing of ptxsim is loaded before one of the libraries is that it stands for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

_LIBRARIES = ("torch", "triton", "cuda", "cutlass", "numba", "cupy")


class _First(MetaPathFinder):
    """Gets everything ready as the first of the libraries is looked for."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _LIBRARIES or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        try:
            from ptxsim.triton.prepared import prepare
        except ImportError:  # another Python, without ptxsim
            return None
        prepare()
        return next(filter(None, (finder.find_spec(name, path, target) for finder in list(sys.meta_path))), None)


def _other() -> None:
    """Run the file of this name that is the machine's or the user's own: Python runs the first one alone."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != here])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if "PTXSIM_EXEC" in os.environ:
    sys.meta_path.insert(0, _First())
_other()

"""Run, check and explain PTX tensor-core kernels on an ordinary CPU, bit for bit.

Names are imported when first used, so that small commands start at once.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Module": "session.module",
    "Kernel": "session.module",
    "Run": "session.run",
    "KernelError": "session.run",
    "PtxError": "diagnostic",
    "Finding": "diagnostic",
    "execute": "session.execute",
    "snippet": "session.snippet",
    "fragment": "session.form_names",
    "wmma_stride": "session.form_names",
    "Descriptor": "layout.descriptor",
    "SharedLayout": "layout.shared_layout",
    "shared_wavefronts": "layout.banks",
    "TensorMap": "machine.tensor_map",
    "Device": "session.device",
    "DeviceArray": "session.arguments",
    **dict.fromkeys(("zeros", "ones", "eye", "ramp", "ints", "normal", "uniform"), "arrays"),
}

__all__ = ["__version__", "numerics", *_WHERE]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"ptxsim.{_WHERE[name]}"), name)
    if name in ("numerics", "layout", "session"):
        return importlib.import_module(f"ptxsim.{name}")
    raise AttributeError(f"module 'ptxsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Run, check and explain PTX tensor-core kernels on an ordinary CPU, bit for bit.

Names are imported when first used, so that small commands start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxsim import numerics as numerics
    from ptxsim.arrays import eye as eye
    from ptxsim.arrays import ints as ints
    from ptxsim.arrays import normal as normal
    from ptxsim.arrays import ones as ones
    from ptxsim.arrays import ramp as ramp
    from ptxsim.arrays import uniform as uniform
    from ptxsim.arrays import zeros as zeros
    from ptxsim.diagnostic import Finding as Finding
    from ptxsim.diagnostic import PtxError as PtxError
    from ptxsim.layout.banks import shared_wavefronts as shared_wavefronts
    from ptxsim.layout.descriptor import Descriptor as Descriptor
    from ptxsim.layout.shared_layout import SharedLayout as SharedLayout
    from ptxsim.machine.copies.tensor_map import TensorMap as TensorMap
    from ptxsim.session.arguments import DeviceArray as DeviceArray
    from ptxsim.session.device import Device as Device
    from ptxsim.session.execute import execute as execute
    from ptxsim.session.form_names import fragment as fragment
    from ptxsim.session.form_names import wmma_stride as wmma_stride
    from ptxsim.session.module import Kernel as Kernel
    from ptxsim.session.module import Module as Module
    from ptxsim.session.run import KernelError as KernelError
    from ptxsim.session.run import Run as Run
    from ptxsim.session.snippet import snippet as snippet
    from ptxsim.session.sweep import split_grid as split_grid
    from ptxsim.session.sweep import sweep as sweep

__version__ = "0.1.0"

_WHERE = {
    "Module": "session.module", "Kernel": "session.module", "Run": "session.run", "KernelError": "session.run",
    "PtxError": "diagnostic", "Finding": "diagnostic", "execute": "session.execute", "snippet": "session.snippet",
    "sweep": "session.sweep", "split_grid": "session.sweep",
    "fragment": "session.form_names", "wmma_stride": "session.form_names", "Descriptor": "layout.descriptor",
    "SharedLayout": "layout.shared_layout", "shared_wavefronts": "layout.banks", "TensorMap": "machine.copies.tensor_map",
    "Device": "session.device", "DeviceArray": "session.arguments",
    **dict.fromkeys(("zeros", "ones", "eye", "ramp", "ints", "normal", "uniform"), "arrays"),
}  # fmt: skip

__all__ = ["__version__", "numerics", *_WHERE]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"ptxsim.{_WHERE[name]}"), name)
    if name in ("numerics", "layout", "session", "cuda", "triton"):
        return importlib.import_module(f"ptxsim.{name}")
    raise AttributeError(f"module 'ptxsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""The public API: modules, kernels, launches and what came of them. Names are imported when first used."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxsim.session.device import Device as Device
    from ptxsim.session.module import Kernel as Kernel
    from ptxsim.session.module import Module as Module
    from ptxsim.session.module import check as check
    from ptxsim.session.run import BankRow as BankRow
    from ptxsim.session.run import BankTable as BankTable
    from ptxsim.session.run import KernelError as KernelError
    from ptxsim.session.run import Run as Run

_WHERE = {
    "Device": "device",
    **dict.fromkeys(("Kernel", "Module", "check"), "module"),
    **dict.fromkeys(("BankRow", "BankTable", "KernelError", "Run"), "run"),
}

__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"ptxsim.session.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'ptxsim.session' has no attribute {name!r}")

"""The public API: modules, kernels, launches and what came of them. Names are imported when first used."""

import importlib

_WHERE = {
    "Device": "device",
    **dict.fromkeys(("Kernel", "Module", "check"), "module"),
    **dict.fromkeys(("BankRow", "BankTable", "KernelError", "Run"), "run"),
}

__all__ = list(_WHERE)


def __getattr__(name: str):
    if name in _WHERE:
        return getattr(importlib.import_module(f"ptxsim.session.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'ptxsim.session' has no attribute {name!r}")

"""The version that reports name."""

from __future__ import annotations


def version() -> str:
    """The version of the installed package; "unknown" where it runs from a folder that nothing installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ptxsim")
    except PackageNotFoundError:
        return "unknown"

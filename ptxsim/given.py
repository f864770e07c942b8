"""Arguments of public functions that are of no use: said with their name, before anything else stumbles over them."""

from __future__ import annotations

import operator
from typing import Any

from ptxsim.diagnostic import Finding, PtxError


def a_text(name: str, value: Any, help: str | None = None) -> str:
    """A value that must be a text. Raises PtxError."""
    if not isinstance(value, str):
        raise PtxError(Finding("bad-directive", f"{name} is a {type(value).__name__}, not a text", help=help))
    return value


def a_number(name: str, value: Any) -> int:
    """A value that must be a whole number, a numpy one too. Raises PtxError."""
    try:
        return operator.index(value)
    except TypeError:
        message = f"{name} is a {type(value).__name__}, not a whole number"
        raise PtxError(Finding("bad-directive", message)) from None

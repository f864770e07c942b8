"""How results show themselves: `print` and notebooks ask, the room `report` answers, which is above all that ask."""

from __future__ import annotations

from importlib import import_module
from typing import cast


def text_of(value: object) -> str:
    """What `print` shows: what the command line prints."""
    return cast("str", import_module("ptxsim.report.notebook").text_of(value))


def html_of(value: object) -> str:
    """What a notebook shows."""
    return cast("str", import_module("ptxsim.report.notebook").html_of(value))


class Shown:
    """Gives a class `_repr_html_`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_of(self)

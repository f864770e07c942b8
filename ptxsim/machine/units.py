"""State of the units beside the lanes (bulk copies, cluster barriers, known fragments, ...), one object of its own class for each."""

from __future__ import annotations

from typing import Any, TypeVar

State = TypeVar("State")


class Units:
    """What the units keep of one warp, CTA or cluster."""

    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states: dict[type[Any], Any] = {}

    def of(self, unit: type[State]) -> State:
        """The state of a unit, made when it is first asked for."""
        found: State | None = self._states.get(unit)
        if found is None:
            found = self._states[unit] = unit()
        return found

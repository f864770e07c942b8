"""What a profile says: cycles with an error bar, and where they went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ptxsim.profile.model.occupancy import Occupancy
from ptxsim.profile.roofline import Roofline
from ptxsim.profile.timeline import Timeline


@dataclass(slots=True)
class LineStalls:
    """A PTX line: warp instructions issued for it on the SM, and cycles its warps waited before them, by reason.

    `memory`: "atomic" or "local" where its first instruction changes memory in one step, or accesses the thread's own; else "".
    """

    line: int
    instruction: str
    issued: int
    stalls: dict[str, float]
    memory: str = ""

    @property
    def waited(self) -> float:
        return sum(self.stalls.values())


@dataclass(slots=True)
class Cycles:
    """The predicted cycles of the busiest SM, from its first CTA to its last; behaves as that number.

    `error` is the relative error to expect (mean over measured kernels of its kind, `bound_by`), `low` to `high` are the cycles of three quarters of
    them, `judged` how many they were (0: no kernel of this machine was measured). `issue`: share of the issue slots used.
    `pipes`: share of the time each pipe was busy. `stalls`: warp cycles by reason, over the whole SM. `unknown_costs`: the
    instructions whose cost is not known: taken for one ALU operation, matrix products for what was measured that comes nearest.
    `assembled`: share of the issued instructions that are the assembler's own, the rest is estimated from the PTX; `no_assembly`: why
    none are. `spilled`: bytes of a thread that the assembler stores in local memory and loads again, in the text of its code.
    """

    cycles: int
    error: float
    clock_mhz: float
    machine: str
    occupancy: Occupancy
    sm: int
    ctas: int
    waves: float
    issued: int
    issue: float
    pipes: dict[str, float]
    stalls: dict[str, float]
    lines: list[LineStalls]
    memory: dict[str, float]
    suggestions: list[str]
    timeline: Timeline | None = None
    machine_code: Any = None  # the Profile it came from, for listings
    unknown_costs: list[str] = field(default_factory=list)
    assembled: float = 0.0
    no_assembly: str = ""
    spilled: int = 0
    roofline: Roofline | None = None
    bound_by: str = "latency"
    low: int = 0
    high: int = 0
    judged: int = 0

    @property
    def time_us(self) -> float:
        """Microseconds at the machine's clock, launch overhead left out."""
        return self.cycles / self.clock_mhz

    def __int__(self) -> int:
        return self.cycles

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.cycles)

    def __hash__(self) -> int:
        return hash(self.cycles)

    def __format__(self, spec: str) -> str:
        return format(self.cycles, spec)

    def __str__(self) -> str:
        return str(self.cycles)

    def __eq__(self, other: object) -> bool:
        return bool(self.cycles == _number(other))

    def __lt__(self, other: object) -> bool:
        return bool(self.cycles < _number(other))

    def __le__(self, other: object) -> bool:
        return bool(self.cycles <= _number(other))

    def __gt__(self, other: object) -> bool:
        return bool(self.cycles > _number(other))

    def __ge__(self, other: object) -> bool:
        return bool(self.cycles >= _number(other))

    def __add__(self, other: object) -> Any:
        return self.cycles + _number(other)

    def __sub__(self, other: object) -> Any:
        return self.cycles - _number(other)

    def __rsub__(self, other: object) -> Any:
        return _number(other) - self.cycles

    def __mul__(self, other: object) -> Any:
        return self.cycles * _number(other)

    def __truediv__(self, other: object) -> Any:
        return self.cycles / _number(other)

    def __rtruediv__(self, other: object) -> Any:
        return _number(other) / self.cycles

    __radd__, __rmul__ = __add__, __mul__

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; timelines are left out."""
        return {
            "cycles": self.cycles,
            "error": self.error,
            "bound_by": self.bound_by,
            "low": self.low,
            "high": self.high,
            "judged": self.judged,
            "time_us": round(self.time_us, 3),
            "machine": self.machine,
            "sm": self.sm,
            "ctas": self.ctas,
            "waves": round(self.waves, 2),
            "occupancy": asdict(self.occupancy),
            "issued": self.issued,
            "issue": round(self.issue, 4),
            "pipes": {name: round(share, 4) for name, share in self.pipes.items()},
            "stalls": {name: round(value, 1) for name, value in self.stalls.items()},
            "lines": [asdict(line) for line in self.lines],
            "memory": self.memory,
            "suggestions": self.suggestions,
            "unknown_costs": self.unknown_costs,
            "assembled": round(self.assembled, 4),
            "no_assembly": self.no_assembly,
            "spilled": self.spilled,
            "roofline": None if self.roofline is None else asdict(self.roofline),
        }


def _number(other: object) -> Any:
    return other.cycles if isinstance(other, Cycles) else other

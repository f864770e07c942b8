"""What came of a launch: findings, bank table, outputs, fidelity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxsim import __version__
from ptxsim.diagnostic import Finding, one_line
from ptxsim.shown import Shown, text_of

if TYPE_CHECKING:
    from ptxsim.checks.in_flight import Left
    from ptxsim.profile.cycles import Cycles


# Columns of `BankTable.to_frame`.
FRAME = (
    "line", "instruction", "kind", "width", "runs", "wavefronts", "ideal", "excess", "worst", "conflicts", "why", "fixes",
    "source_file", "source_line",
)  # fmt: skip


@dataclass(slots=True, repr=False)
class BankRow:
    """One instruction: executions, shared-memory wavefronts, the fewest possible, worst execution over ideal, why, fixes."""

    line: int
    instruction: str
    runs: int
    wavefronts: int
    ideal: int
    worst: int
    why: str = ""
    fixes: list[str] = field(default_factory=list)
    kind: str = "ld"
    width: int = 4  # bytes a lane
    conflicts: int = 0  # the profiler's: what serves lanes on one word again is none, nor half of a compare-and-swap
    addresses: list[int] = field(default_factory=list)  # of the worst execution, by lane, and its active lanes
    mask: int = 0
    address: str = ""  # what the text computes it from
    fixed: tuple[str, list[int]] | None = None  # the best fix, and the worst execution's addresses with it
    source_file: str | None = None  # the line of CUDA or Python, as in findings
    source_line: int | None = None

    def __repr__(self) -> str:
        why = f": {self.why.partition('; ')[0]}" if self.why else ""
        return f"{self.worst}-way at line {self.line}, {self.instruction}{why}"

    @property
    def excess(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    def to_dict(self) -> dict[str, Any]:
        """The row of the contract's JSON, and more."""
        fields = {name: value for name, value in asdict(self).items() if name != "fixed"}
        return fields | {"excess": self.excess}


@dataclass(slots=True)
class GlobalRow:
    """One instruction in global memory: requests, 32-byte sectors, the fewest that hold its bytes, 128-byte lines."""

    line: int
    instruction: str
    requests: int
    sectors: int
    ideal: int
    lines: int
    why: str = ""
    kind: str = "ld"
    address: str = ""
    source_file: str | None = None
    source_line: int | None = None

    @property
    def excess(self) -> int:
        return self.sectors - self.ideal


@dataclass(slots=True, repr=False)
class BankTable(Shown):
    """Rows by line. `worst` is 1 where nothing conflicts. `global_rows` are the accesses to global memory."""

    rows: list[BankRow] = field(default_factory=list)
    global_rows: list[GlobalRow] = field(default_factory=list)

    @property
    def wavefronts(self) -> int:
        return sum(row.wavefronts for row in self.rows)

    @property
    def ideal(self) -> int:
        return sum(row.ideal for row in self.rows)

    @property
    def excess(self) -> int:
        return self.wavefronts - self.ideal

    @property
    def conflicts(self) -> int:
        """As the profiler counts them."""
        return sum(row.conflicts for row in self.rows)

    @property
    def worst(self) -> int:
        return max((row.worst for row in self.rows), default=1)

    @property
    def sectors(self) -> int:
        return sum(row.sectors for row in self.global_rows)

    @property
    def requests(self) -> int:
        return sum(row.requests for row in self.global_rows)

    def __repr__(self) -> str:
        """What a failed assertion shows: the worst row, and the sums."""
        top = max(self.rows, key=lambda row: (row.worst, row.excess), default=None)
        first = f"worst: {top!r}; " if top is not None and top.excess else ""
        return f"BankTable({first}{self.wavefronts} wavefronts, ideal {self.ideal}, {self.sectors} sectors)"

    def __str__(self) -> str:
        """The table of the command line."""
        return text_of(self)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame, a polars one where there is no pandas. Raises ModuleNotFoundError where neither is."""
        import importlib

        columns = {name: [getattr(row, name) for row in self.rows] for name in FRAME}
        for name in ("pandas", "polars"):
            try:
                return importlib.import_module(name).DataFrame(columns)
            except ModuleNotFoundError as missing:
                if missing.name != name:
                    raise
        raise ModuleNotFoundError("to_frame() needs pandas or polars; `rows` and to_dict() do without")

    def to_dict(self) -> dict[str, Any]:
        """`banks` of the contract's JSON."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "wavefronts": self.wavefronts,
            "ideal": self.ideal,
            "worst": self.worst,
            "global": {
                "rows": [asdict(row) | {"excess": row.excess} for row in self.global_rows],
                "requests": self.requests,
                "sectors": self.sectors,
                "ideal": sum(row.ideal for row in self.global_rows),
            },
        }


@dataclass(frozen=True, slots=True)
class SlowPath:
    """An instruction that the compiled engine left to the interpreter: how many times warps did so, and why."""

    instruction: str
    line: int
    count: int
    why: str


@dataclass(slots=True, repr=False)
class Run(Shown):
    """The result of a launch. `outputs` holds the buffers by parameter name as they were after the run.

    `fidelity` says for each executed instruction kind how far it can be trusted: exact (recordings of that target judge
    it), modeled (published models or the assembler's lowering), bounded (within the manual's error, but other bits than
    the target's: special functions of targets without recordings, products under numerics="exact"). `banks` is counted when
    it is first asked for, by running again, unless the launch said otherwise. `stopped_at` is the line where an error
    ended the launch early (0: no single line), None where it ran to its end. `slow_path` is empty on the interpreter.
    `is_sample`: some of the CTAs ran, for a prediction alone.
    """

    file: str
    entry: str
    target: str
    engine: str
    seed: int
    findings: list[Finding] = field(default_factory=list)
    bank_source: BankTable | Callable[[], BankTable] | None = field(default=None, repr=False)
    cycles: Cycles | None = None
    warp_instructions: int = 0
    polled: int = field(default=0, repr=False)  # warp instructions in which CTAs only asked what others had done
    fidelity: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    version: str = __version__
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    stopped_at: int | None = None
    slow_path: list[SlowPath] = field(default_factory=list)
    is_sample: bool = False
    banks_counted: bool = False  # whether `banks` is there without running again
    left: Left | None = field(
        default=None, repr=False
    )  # what it means for other launches in its stream, where it is in one
    launch: int | None = None  # which one of a program's, where it is one

    def __post_init__(self) -> None:
        self.banks_counted |= isinstance(self.bank_source, BankTable)

    def __repr__(self) -> str:
        found = ", ".join(f"{finding.level} {finding.name} at line {finding.line}" for finding in self.findings[:3])
        more = f" and {len(self.findings) - 3} more" * (len(self.findings) > 3)
        return f"Run({self.entry} on {self.target}: {found or 'no findings'}{more}, {self.warp_instructions} warp instructions)"

    def __str__(self) -> str:
        """Findings and summary, as the command line prints them."""
        return text_of(self)

    @property
    def has_errors(self) -> bool:
        """Whether a finding is of level error."""
        return any(finding.level == "error" for finding in self.findings)

    @property
    def banks(self) -> BankTable:
        """Shared-memory wavefronts by instruction. Raises ValueError where the launch said banks=False."""
        if self.bank_source is None:
            raise ValueError("bank conflicts were not counted: the launch said banks=False")
        if not isinstance(self.bank_source, BankTable):
            self.bank_source = self.bank_source()
            self.banks_counted = True
        return self.bank_source

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the contract."""
        return {
            "version": self.version,
            "file": self.file,
            "entry": self.entry,
            "target": self.target,
            "engine": self.engine,
            "seed": self.seed,
            "findings": [f.to_dict() for f in self.findings],
            "banks": self.banks.to_dict() if self.bank_source is not None else None,
            "cycles": None if self.cycles is None else self.cycles.cycles,
            **({} if self.cycles is None else {"profile": self.cycles.to_dict()}),
            "warp_instructions": self.warp_instructions,
            "outputs": {name: output_dict(array) for name, array in self.outputs.items()},
            "fidelity": self.fidelity,
            "slow_path": [asdict(row) for row in self.slow_path],
        }


def output_dict(array: np.ndarray) -> dict[str, Any]:
    """Shape, type and checksum of an output: enough to compare runs, small enough to print."""
    import hashlib

    data = np.ascontiguousarray(array)
    return {"shape": list(array.shape), "type": str(array.dtype), "sha256": hashlib.sha256(data.tobytes()).hexdigest()}


class KernelError(RuntimeError):
    """A launch with error-level findings. Has `.run`, but where another process has raised it. Programs expect a RuntimeError, as torch
    raises one."""

    __module__ = "ptxsim"  # by which people know it

    def __init__(self, run: Run):
        self.run = run
        errors = [f for f in run.findings if f.level == "error"]
        super().__init__("\n".join(one_line(f) for f in errors))

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelError._of, self.args

    @classmethod
    def _of(cls, text: str) -> KernelError:
        """One of another process: a launch stays where it was."""
        return cls.__new__(cls, text)

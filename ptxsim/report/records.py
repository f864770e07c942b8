"""Results as plain records for JSON: what `--format json` prints, with the profiler's names for the counts it shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxsim.diagnostic import Finding

if TYPE_CHECKING:
    from ptxsim.session import Run
    from ptxsim.session.ptxfile.file import FileRun

# Nsight Compute's names; `op` is ld, st or atom.
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"
_OPERATIONS = {
    "ld": "ld", "ldmatrix": "ld", "st": "st", "stmatrix": "st", "atom": "atom", "red": "atom", "cas": "atom",
    "count": "atom", **dict.fromkeys(("spin", "half", "swap"), "atom"), "wgmma": "gmma",
}  # fmt: skip
_SUM_ONLY = ("copy", "bypass")  # cp.async: the profiler has no operation of its own for it

TOP_LEVEL = (
    "version", "file", "entry", "target", "engine", "seed", "findings", "banks", "cycles", "warp_instructions", "outputs", "fidelity", "slow_path",
)  # fmt: skip


def run_record(result: FileRun, version: str) -> dict[str, Any]:
    """The document of `run`, `banks` and `profile`. Keys without a value are null, also where the file never ran."""
    record: dict[str, Any] = dict.fromkeys(TOP_LEVEL) | {"version": version, "file": result.source.name}
    if result.run is not None:
        record |= result.run.to_dict()
        record["banks"] = record["banks"] | {"metrics": profiler_metrics(result.run)}
    record["findings"] = [finding.to_dict() for finding in result.findings]
    record["expected"] = [finding.to_dict() for finding in result.expected]
    return record


def check_record(files: list[str], findings: list[Finding], version: str) -> dict[str, Any]:
    """The document of `check`."""
    return {"version": version, "files": files, "findings": [finding.to_dict() for finding in findings]}


def profiler_metrics(run: Run) -> dict[str, int]:
    """Counts of shared and global accesses of a run under the names that Nsight Compute gives them.

    Those of loads and stores, and the sums, are there in every run; those of other operations where there are some.
    """
    shared, outer = (_WAVEFRONTS, _CONFLICTS), (_REQUESTS, _SECTORS)
    counts = {key.replace("_op_{op}", ""): 0 for key in shared}
    counts |= {key.format(op=operation): 0 for key in (*shared, *outer) for operation in ("ld", "st")}

    def add(key: str, operation: str, value: int) -> None:
        name = key.format(op=operation)
        counts[name] = counts.get(name, 0) + int(value)

    for row in run.banks.rows:
        add(_WAVEFRONTS.replace("_op_{op}", ""), "", row.wavefronts)
        add(_CONFLICTS.replace("_op_{op}", ""), "", row.conflicts)
        if row.kind in _SUM_ONLY:
            continue
        add(_WAVEFRONTS, _OPERATIONS[row.kind], row.wavefronts)
        add(_CONFLICTS, _OPERATIONS[row.kind], row.conflicts)
    for access in run.banks.global_rows:
        operation = "red" if access.kind == "red" else _OPERATIONS[access.kind]
        add(_REQUESTS, operation, access.requests)
        add(_SECTORS, operation, access.sectors)
    return counts


def to_json(record: Any, indent: int | None = 2) -> str:
    """A record as JSON, indented or on one line."""
    import msgspec

    data = msgspec.json.encode(record, enc_hook=_plain)
    return (data if indent is None else msgspec.json.format(data, indent=indent)).decode()


def _plain(value: Any) -> Any:
    """numpy values as lists and numbers; narrow floats as the numbers they stand for."""
    if hasattr(value, "tolist"):
        listed = value.tolist()
        return listed if not hasattr(listed, "dtype") else float(listed)
    if hasattr(value, "__float__"):
        return float(value)
    return str(value)

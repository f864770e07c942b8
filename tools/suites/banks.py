"""Shared-memory wavefronts of recorded address patterns, and what L1 looks up for global ones: equal to the profiler's counters.

Every pattern of shared memory goes through `shared_wavefronts`, and as an instruction of a snippet through each engine; those of
global loads (microbench/coalescing*) through `global_access`: l1tex__t_output_wavefronts.
"""

from __future__ import annotations

import csv

import numpy as np

from suites.common import Options, Tally

WIDTHS = {"u8": 1, "u16": 2, "b32": 4, "v2b32": 8, "v4b32": 16}
ENGINES = ("interpreter", "compiled")
BASE = 0x400
BATCH = 64  # instructions of one snippet


def kind_of(operation: str) -> tuple[str, int, int | None]:
    """`ld_v4b32`, `ldmatrix_x4_trans`, `atom_cas`, ...: kind, width in bytes, matrices."""
    words = operation.replace(".", "_").split("_")
    if words[0] in ("ldmatrix", "stmatrix"):
        return words[0], 16, int(words[1][1:])
    if words[0] in ("atom", "red"):
        return ("cas" if "cas" in words else words[0]), 4, None
    return words[0], WIDTHS[words[1]], None


def instruction_of(operation: str) -> str:
    """The PTX of an operation on the address [a]."""
    words = operation.replace(".", "_").split("_")
    values = "{r0, r1, r2, r3}"
    match words:
        case ["ldmatrix" | "stmatrix" as name, count, *trans]:
            registers = f"{{{', '.join(f'r{i}' for i in range(int(count[1:])))}}}"
            opcode = ".".join([f"{name}.sync.aligned.m8n8", count, *trans, "shared.b16"])
            return f"{opcode} {registers}, [a];" if name == "ldmatrix" else f"{opcode} [a], {registers};"
        case ["atom", "cas", type_]:
            return f"atom.shared.cas.{type_} r0, [a], r1, r2;"
        case ["atom", name, type_]:
            return f"atom.shared.{name}.{type_} r0, [a], r1;"
        case ["red", name, type_]:
            return f"red.shared.{name}.{type_} [a], r1;"
        case [name, type_]:
            vector = type_.startswith("v")
            opcode = f"{name}.shared.{type_[:2]}.{type_[2:]}" if vector else f"{name}.shared.{type_}"
            values = f"{{{', '.join(f'r{i}' for i in range(int(type_[1])))}}}" if vector else "r0"
            return f"{opcode} {values}, [a];" if name == "ld" else f"{opcode} [a], {values};"
    raise ValueError(operation)


def by_function(operation: str, offsets: np.ndarray, masks: np.ndarray) -> np.ndarray:
    from ptxsim import shared_wavefronts

    kind, width, matrices = kind_of(operation)
    if matrices:
        masks = masks & np.uint32((1 << 8 * matrices) - 1)
    return np.asarray(shared_wavefronts(offsets.astype(np.int64), width, kind, masks))


def by_snippet(operation: str, offsets: np.ndarray, masks: np.ndarray, engine: str) -> np.ndarray:
    """The same counts from instructions that an engine ran, one line each."""
    from ptxsim import snippet

    line = instruction_of(operation)
    counts = np.zeros(len(offsets), int)
    for first in range(0, len(offsets), BATCH):
        part = range(first, min(first + BATCH, len(offsets)))
        guarded = [int(masks[i]) != 0xFFFFFFFF for i in part]
        text = "\n".join(
            f"{f'@p{i} ' if is_guarded else ''}{line.replace('[a]', f'[a{i}]')}" for i, is_guarded in zip(part, guarded)
        )
        lanes = np.arange(32, dtype=np.uint32)
        registers = {f"a{i}": BASE + offsets[i].astype(np.uint64) for i in part}
        registers |= {f"p{i}": (masks[i] >> lanes & 1).astype(bool) for i in part}
        # Types of registers that stores and matrices leave open.
        head = ".reg .b32 r0, r1, r2, r3; "
        memory = np.zeros(int(offsets[part.start : part.stop].max()) + 16, np.uint8)
        result = snippet(
            head + text, registers=registers, shared=memory, shared_base=BASE, target="sm_90a", engine=engine
        )
        for row in result.banks.rows:
            counts[first + row.line - 1] = row.wavefronts
    return counts


def run(options: Options, tally: Tally) -> bool:
    arrays = np.load(options.folder / "bank_conflicts.npz")
    engines = (options.engine,) if options.engine else ENGINES
    for operation in sorted({key.rpartition(".")[0] for key in arrays}):
        names, counted = arrays[f"{operation}.name"], arrays[f"{operation}.wavefronts"]
        selected = [
            i for i, name in enumerate(names) if options.selects("bank_conflicts.npz", operation, f"{operation}.{name}")
        ]
        chosen = np.array([i for i in selected if not np.isnan(counted[i])], int)
        if len(selected) > len(chosen):
            tally.skipped["not counted"] += len(selected) - len(chosen)
        if not len(chosen):
            continue
        offsets, masks = arrays[f"{operation}.offsets"][chosen], arrays[f"{operation}.mask"][chosen]
        found = {"function": by_function(operation, offsets, masks)}
        found |= {engine: by_snippet(operation, offsets, masks, engine) for engine in engines}
        wanted = np.round(counted[chosen]).astype(int)
        for at, i in enumerate(chosen):
            wrong = [f"{how} {got[at]}" for how, got in found.items() if got[at] != wanted[at]]
            if wrong:
                tally.failures.append(f"{operation}:{names[i]}: the profiler counted {wanted[at]}; {', '.join(wrong)}")
            else:
                tally.passed += 1
    global_loads(options, tally)
    return not tally.failures and tally.passed > 0


def global_loads(options: Options, tally: Tally) -> None:
    """Patterns of global loads whose lookups in L1 were counted, with those of the table of addresses: one for 8 loads."""
    from ptxsim.layout.banks import global_access

    folder = options.folder / "microbench"
    if not (folder / "coalescing.tsv").exists():
        return
    arrays = np.load(folder / "coalescing_addresses.npz")
    with (folder / "coalescing.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        operation, name = row["op"], row["pattern"]
        if not row["l1_t_output_wavefronts"] or not options.selects("coalescing.tsv", operation, f"{operation}.{name}"):
            continue
        at = arrays[f"{operation}.name"].tolist().index(name)
        width = WIDTHS[operation.partition("_")[2]]
        mask = int(arrays[f"{operation}.mask"][at])
        found = global_access(arrays[f"{operation}.offsets"][at].astype(np.int64), width, mask)
        if found.lookups + 1 / 8 == float(row["l1_t_output_wavefronts"]):
            tally.passed += 1
        else:
            tally.failures.append(
                f"{operation}:{name}: {found.lookups} lookups, counted {row['l1_t_output_wavefronts']}"
            )

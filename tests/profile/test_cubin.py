"""Machine code that was given in place of what the assembler makes of the text."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.profile.sass import cubin, machine

DATA = Path(__file__).parents[1] / "data" / "sass"
SAID, LISTING = ((DATA / f"sum_loop.{name}").read_text() for name in ("said", "listing"))


def elf(function: str, registers: int) -> bytes:
    """A cubin's headers: sections of names and of the code of a function, which takes so many registers."""
    names = f"\0.shstrtab\0.text.{function}\0".encode()
    header = struct.pack("<4sB3x8x24xQ10xHHH", b"\x7fELF", 2, 64 + len(names), 64, 2, 0)
    sections = [(1, 64, 0), (11, 64, registers << 24 | 5)]
    return (
        header.ljust(64, b"\0")
        + names
        + b"".join(
            struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, at, len(names), 0, info, 1, 0) for name, at, info in sections
        )
    )


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(machine, "assembled", lambda text, target: (SAID, LISTING))
    return Module.from_file(DATA / "sum_loop.ptx").kernel()


def profiled(kernel, monkeypatch, tmp_path, listing):
    monkeypatch.setattr(cubin, "disassembled", lambda path: listing)
    file = tmp_path / "sum_loop.cubin"
    file.write_bytes(elf("sum_loop", 40))
    values, results = np.ones(32 * 32, np.float32), np.zeros(64, np.float32)
    return kernel.launch(1, 32, [values, results, 9], profile=True, checks="none", cubin=file).cycles


@pytest.mark.slow
def test_a_cubin_is_tied_to_its_ptx_by_what_the_assembler_makes_of_it(kernel, monkeypatch, tmp_path):
    unmarked = "\n".join(line for line in LISTING.split("\n") if "//##" not in line)
    cycles = profiled(kernel, monkeypatch, tmp_path, unmarked)
    assert cycles.assembled == 1
    assert cycles.issued == 9 + 28 + 15 + 15 + 5
    assert cycles.occupancy.registers == 40


def test_its_own_code_is_replayed(kernel, monkeypatch, tmp_path):
    """Every addition of integers is two in the code that was given."""
    lines = []
    for line in LISTING.split("\n"):
        lines.append(line)
        if " IADD3 " in line:
            lines += ["", line]
    cycles = profiled(kernel, monkeypatch, tmp_path, "\n".join(lines))
    assert cycles.assembled == 1
    assert cycles.issued > 9 + 28 + 15 + 15 + 5


def test_other_code_is_refused_with_the_reason(kernel, monkeypatch, tmp_path):
    other = re.sub(r"\b(LDG|STG|FFMA|IADD3|ISETP|BRA|IMAD|LDC|S2R)\b", "POPC", LISTING)
    cycles = profiled(kernel, monkeypatch, tmp_path, other)
    assert cycles.assembled == 0
    assert "other code than ptxas makes" in cycles.no_assembly

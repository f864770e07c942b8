"""Machine code of instructions that touch registers only: the row that the definition declares, or what fusion made of it."""

from __future__ import annotations

from ptxsim.engine.program.operand import Constant, Special
from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering.assembly import LOWERINGS, Assembly
from ptxsim.profile.lowering.emulated import SEQUENCES
from ptxsim.profile.lowering.fusion import cost_of
from ptxsim.profile.lowering.halves import count
from ptxsim.profile.machine_code import Kind, MachineOp

UNKNOWN = "alu"  # what an instruction is taken for whose cost nothing declares
# What the uniform datapath does in one instruction, where operands are uniform.
HALVES = ("logic.64", "shift.64")
UNIFORM = ("alu", "imad", "iadd", "logic.64")


def lower(assembly: Assembly, op: Op) -> list[MachineOp]:
    """Machine code of any operation but branches: by its family's lowering, else by the row it costs."""
    if op.family in LOWERINGS:
        return LOWERINGS[op.family](assembly, op)
    row = assembly.fused.get(op.site) or cost_of(op)
    if row is None:
        assembly.unknown.add(op.site)
        row = UNKNOWN
    if row == "free":
        return [move(assembly, op)]
    if row in UNIFORM and assembly.is_uniform(op):
        row = "uniform"
    if row in HALVES and (halves := count(assembly, op)) is not None and halves < 2:
        if not halves:
            return [MachineOp("nothing", assembly.writes(op), assembly.reads(op), op.site, Kind.COPY)]
        row = "alu"
    if row in SEQUENCES:
        return assembly.sequence(op, row)
    # What takes an issue slot alone is there for its effect, and stays where it is.
    made = assembly.machine(op, row, stores=row == "nothing")
    if op.site in assembly.kept:
        made.kept = (assembly.kept[op.site],)
    return [made]


def move(assembly: Assembly, op: Op) -> MachineOp:
    """Copies are renamed away; a constant for a register that others write too is an instruction."""
    if reads := assembly.reads(op):
        return MachineOp("nothing", assembly.writes(op), reads, op.site, Kind.COPY)
    source = op.sources[0]
    unit = "alu" if isinstance(source, Constant) else read_of(source.name if isinstance(source, Special) else "")
    return MachineOp(unit, assembly.writes(op), (), op.site)


def read_of(special: str) -> str:
    """The row of the figures of a read of a special register: what threads differ in passes by what the others wait for."""
    return "s2r.thread" if special.startswith(("%tid", "%laneid")) else "s2r"

"""`%r1 + 3` where an instruction reads a register: the assembler adds before it, and so does a statement of our own.

No manual has this form; ptxas 12.9 takes it in every place but the first, adds in the register's width, and refuses it in
vectors, calls and addresses of other kinds. Offsets of variables are constants, and stay what they are.
"""

from __future__ import annotations

from msgspec.structs import replace

from ptxsim.syntax import ast
from ptxsim.syntax.registers import Registers

_ADDED = {f"{kind}{bits}": bits for kind in "bus" for bits in (16, 32, 64)}  # types whose registers take a constant


def with_sums(instruction: ast.Instruction, registers: Registers) -> tuple[ast.Instruction, ...]:
    """An instruction of a flat body with registers alone, after the sums that they hold. Declares these registers."""
    found: list[ast.Instruction] = []
    operands = list(instruction.operands)
    for place, operand in enumerate(operands):
        if type(operand) is not ast.Offset or place == 0:
            continue
        declared = registers.find(operand.base.name)
        if declared is None or declared.type not in _ADDED or declared.vector > 1:
            continue
        line, column = operand.line, operand.column
        name = f"{operand.base.name}+{len(registers.declarations)}"  # no name of PTX has a plus
        registers.add(replace(declared, name=name, count=None))
        bits = _ADDED[declared.type]
        constant = ast.Integer(operand.offset % 2**bits, line=line, column=column)
        operands[place] = ast.Name(name, line=line, column=column)
        found.append(
            ast.Instruction(f"add.u{bits}", (operands[place], operand.base, constant), line=line, column=column)
        )
    return (*found, replace(instruction, operands=tuple(operands))) if found else (instruction,)

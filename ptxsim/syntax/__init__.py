"""Grammar to AST to text. `parse` and `print_module` are the two doors."""

from ptxsim.syntax.parser import parse, parse_body
from ptxsim.syntax.printer import print_module, print_operand, print_statement
from ptxsim.syntax.registers import Registers
from ptxsim.syntax.scope import FlatBody, flatten

__all__ = [
    "FlatBody",
    "Registers",
    "flatten",
    "parse",
    "parse_body",
    "print_module",
    "print_operand",
    "print_statement",
]

"""Grammar to AST to text. `parse` and `print_module` are the two doors."""

from ptxsim.syntax.parser import parse, parse_body
from ptxsim.syntax.scope import FlatBody, Registers, flatten

__all__ = ["FlatBody", "Registers", "flatten", "parse", "parse_body"]

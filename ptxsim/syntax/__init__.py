"""Grammar to AST to text. `parse` and `print_module` are the two doors."""

from ptxsim.syntax.parser import parse, parse_body

__all__ = ["parse", "parse_body"]

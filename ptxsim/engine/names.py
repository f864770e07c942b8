"""What a function's names mean, as the static checks ask."""

from __future__ import annotations

from ptxsim.syntax import ast
from ptxsim.syntax.scope import FlatBody


class FunctionNames:
    """Registers and variables of one flat body inside its module (isa.check_operand.Names)."""

    def __init__(self, module: ast.Module, function: ast.Function, body: FlatBody):
        self._registers = body.registers
        self._types: dict[str, str | None] = {}
        self._spaces: dict[str, str] = {}
        for item in module.items:
            if isinstance(item, ast.Variable):
                self._spaces[item.name] = item.space
            elif isinstance(item, ast.Function | ast.Alias):
                self._spaces[item.name] = "func"
        for variable in (*function.parameters, *function.returns, *body.variables):
            if variable.space != "reg":
                self._spaces[variable.name] = variable.space
        for statement in body.statements:
            if isinstance(statement, ast.Label):
                self._spaces[statement.name] = "label"
        for table in (body.targets, body.prototypes):
            self._spaces.update(dict.fromkeys(table, "label"))

    def register_type(self, name: str) -> str | None:
        try:
            return self._types[name]
        except KeyError:
            declaration = self._registers.get(name)
            found = self._types[name] = declaration.type if declaration is not None else None
            return found

    def variable_space(self, name: str) -> str | None:
        return self._spaces.get(name)

"""What a function's names mean, as the static checks ask."""

from __future__ import annotations

from ptxsim.syntax import ast
from ptxsim.syntax.scope import FlatBody
from ptxsim.types import TYPES


def _place(variable: ast.Variable) -> str:
    """The state space; of textures, samplers and surfaces the type, for nothing else is done with them."""
    declared = TYPES.get(variable.type)
    return variable.type if declared is not None and declared.kind == "opaque" else variable.space


class FunctionNames:
    """Registers and variables of one flat body inside its module (isa.check_operand.Names)."""

    def __init__(self, module: ast.Module, function: ast.Function, body: FlatBody):
        self._registers = body.registers
        self._types: dict[str, str | None] = {}
        self._spaces: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        for item in module.items:
            if isinstance(item, ast.Variable):
                self._spaces[item.name] = _place(item)
            elif isinstance(item, ast.Function | ast.Alias):
                self._spaces[item.name] = "func"
        input_role = "entry" if function.is_entry else "input"
        for role, variables in (
            (input_role, function.parameters), ("result", function.returns), ("call", body.variables)
        ):  # fmt: skip
            for variable in variables:
                if variable.space != "reg":
                    self._spaces[variable.name] = _place(variable)
                if variable.space == "param":
                    self._roles[variable.name] = role
        for statement in body.statements:
            if isinstance(statement, ast.Label):
                self._spaces[statement.name] = "label"
        self._spaces.update((name, table.kind) for name, table in body.targets.items())
        self._spaces.update(dict.fromkeys(body.prototypes, "callprototype"))

    def __contains__(self, name: str) -> bool:
        """Whether a variable, a function or a label has the name."""
        return name in self._spaces

    def register_type(self, name: str) -> str | None:
        try:
            return self._types[name]
        except KeyError:
            declaration = self._registers.find(name)
            found = self._types[name] = declaration.type if declaration is not None else None
            return found

    def variable_space(self, name: str) -> str | None:
        return self._spaces.get(name)

    def parameter_role(self, name: str) -> str | None:
        return self._roles.get(name)

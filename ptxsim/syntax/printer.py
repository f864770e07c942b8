"""Nodes back to PTX text: what is printed parses to equal nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxsim.syntax import ast
from ptxsim.syntax.ast import Operand, Statement, Variable

INDENT = "    "


# ---- operands -------------------------------------------------------------------------------------------------------


def print_operand(operand: Operand) -> str:
    """One operand as PTX: `%r1`, `[%rd1+16]`, `{%f0, %f1}`, `0f3F800000`."""
    match operand:
        case ast.Name(name):
            return name
        case ast.Integer(value, unsigned):
            return _print_integer(value, unsigned)
        case ast.Float(bits, width):
            return f"0f{bits:08X}" if width == 32 else f"0d{bits:016X}"
        case ast.Sink():
            return "_"
        case ast.Not(inner):
            return f"!{print_operand(inner)}"
        case ast.Negative(inner):
            return f"-{print_operand(inner)}"
        case ast.Offset(base, offset):
            return f"{base.name}+{_print_integer(offset)}"
        case ast.Pair(first, second):
            return f"{print_operand(first)}|{print_operand(second)}"
        case ast.Vector(elements):
            return f"{{{_join(elements)}}}"
        case ast.Group(elements):
            return f"({_join(elements)})"
        case ast.Element(base, component):
            return f"{base.name}[{component}]" if component.isdigit() else f"{base.name}.{component}"
        case ast.Address():
            return _print_address(operand)
    raise TypeError(f"{operand!r} is no operand")


def _join(operands: Iterable[Operand]) -> str:
    return ", ".join(map(print_operand, operands))


def _print_integer(value: int, unsigned: bool = False) -> str:
    if unsigned:
        return f"{value}U"
    # 2^63 alone would be an unsigned literal before the minus is seen.
    return str(value) if value > -(1 << 63) else "(.s64)0x8000000000000000"


def _print_address(address: ast.Address) -> str:
    if address.base is None:
        start = _print_integer(address.offset)
    else:
        start = print_operand(address.base)
        if address.offset:
            start += f"+{_print_integer(address.offset)}"
    return f"[{', '.join([start, *map(print_operand, address.extra)])}]"


# ---- declarations ---------------------------------------------------------------------------------------------------


def _print_declaration(variable: Variable) -> str:
    """A declaration without the `;`, as it stands in a body or in a parameter list."""
    words = [f".{word}" for word in variable.linkage]
    words.append(f".{variable.space}")
    if variable.attributes:
        words.append(f".attribute({', '.join(f'.{word}' for word in variable.attributes)})")
    if variable.align is not None:
        words.append(f".align {variable.align}")
    if variable.vector != 1:
        words.append(f".v{variable.vector}")
    words.append(f".{variable.type}")
    if variable.pointer is not None:
        space, align = variable.pointer
        words.append(".ptr")
        words += [f".{space}"] if space else []
        words += [f".align {align}"] if align is not None else []
    name = variable.name
    if variable.count is not None:
        name += f"<{variable.count}>"
    name += "".join("[]" if size is None else f"[{size}]" for size in variable.shape)
    words.append(name)
    if variable.initializer is not None:
        words.append(f"= {_print_initializer(variable.initializer)}")
    return " ".join(words)


def _print_initializer(value: ast.Initializer) -> str:
    match value:
        case tuple():
            return f"{{{', '.join(map(_print_initializer, value))}}}"
        case ast.MaskedAddress(ast.Offset(base, offset), None):
            return f"generic({base.name})+{_print_integer(offset)}"
        case ast.Setting(name, text):
            return f"{name} = {text}"
        case ast.MaskedAddress(operand, mask):
            return f"{'generic' if mask is None else hex(mask)}({_print_initializer(operand)})"
    return print_operand(value)


def _print_directive(directive: ast.Directive) -> str:
    name, arguments = directive.name, directive.arguments
    match name:
        case "pragma":
            return f".pragma {', '.join(arguments)};"
        case "attribute":
            return f".attribute({', '.join(f'.{word}' for word in arguments)})"
        case "file":
            return f".file {', '.join([' '.join(arguments[:2]), *arguments[2:]])}"
        case "loc":
            return _print_location(arguments)
    return f".{name} {', '.join(arguments)}".rstrip()


def _print_location(arguments: tuple[str, ...]) -> str:
    text = f".loc {' '.join(arguments[:3])}"
    rest = list(arguments[3:])
    if rest and rest[0] == "function_name":
        text += f", function_name {rest[1]}"
        del rest[:2]
        if rest and rest[0] != "inlined_at":
            text += f"+{rest.pop(0)}"
    return f"{text}, {' '.join(rest)}" if rest else text


# ---- statements -----------------------------------------------------------------------------------------------------


def statement_lines(statement: Statement) -> Iterator[str]:
    """Lines of a statement, or of a whole scope, as PTX. A stack instead of recursion: scopes may be nested deeply."""
    stack: list[tuple[str, Iterator[Statement]]] = [("", iter([statement]))]
    while stack:
        indent, statements = stack[-1]
        for one in statements:
            if isinstance(one, ast.Block):
                yield f"{indent}{{"
                stack.append((indent + INDENT, iter(one.statements)))
                break
            yield indent + _print_simple(one)
        else:
            stack.pop()
            if stack:
                yield f"{stack[-1][0]}}}"


def _print_simple(statement: Statement) -> str:
    match statement:
        case ast.Instruction(opcode, operands, guard):
            start = f"@{'!' if guard.negated else ''}{guard.name} " if guard else ""
            return f"{start}{opcode} {_join(operands)}".rstrip() + ";"
        case ast.Label(name):
            return f"{name}:"
        case Variable():
            return f"{_print_declaration(statement)};"
        case ast.Directive():
            return _print_directive(statement)
        case ast.Targets(name, kind, names):
            return f"{name}: .{kind} {', '.join(names)};"
        case ast.Prototype(name, returns, parameters, directives):
            tail = "".join(f" {_print_directive(directive)}" for directive in directives)
            return f"{name}: .callprototype ({_parameters(returns)}) _ ({_parameters(parameters)}){tail};"
    raise TypeError(f"{statement!r} is no statement")


def _parameters(variables: tuple[Variable, ...]) -> str:
    return ", ".join(map(_print_declaration, variables))


# ---- module ---------------------------------------------------------------------------------------------------------


def _function_lines(function: ast.Function) -> Iterator[str]:
    words = [f".{word}" for word in function.linkage]
    words.append(".entry" if function.is_entry else ".func")
    words += [_print_directive(directive) for directive in function.directives if directive.name == "attribute"]
    if function.returns:
        words.append(f"({_parameters(function.returns)})")
    words.append(f"{function.name}(")
    yield " ".join(words)
    for index, parameter in enumerate(function.parameters, 1):
        yield f"{INDENT}{_print_declaration(parameter)}{',' if index < len(function.parameters) else ''}"
    yield ")"
    for directive in function.directives:
        if directive.name != "attribute":
            yield _print_directive(directive)
    if function.body is None:
        yield ";"
        return
    yield from statement_lines(ast.Block(function.body))


def _item_lines(item: ast.Item) -> Iterator[str]:
    match item:
        case ast.Function():
            yield from _function_lines(item)
        case ast.Alias(name, target):
            yield f".alias {name}, {target};"
        case ast.Section("@@DWARF", text):
            yield f"@@DWARF {text}"
        case ast.Section(name, text):
            yield f".section {name}\n{{\n{text}\n}}"
        case _:
            yield _print_simple(item)


def print_module(module: ast.Module) -> str:
    """A whole file. `parse` of the result equals `module`."""
    lines = [
        f".version {module.version[0]}.{module.version[1]}",
        f".target {', '.join(module.targets)}",
        f".address_size {module.address_size}",
    ]
    for item in module.items:
        lines.extend(_item_lines(item))
    return "\n".join(lines) + "\n"

"""Static rules of a module's variables, functions and aliases. PTX ISA, "Directives"."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ptxsim.diagnostic import Finding
from ptxsim.isa import redeclaration
from ptxsim.isa.availability import parse_availability
from ptxsim.isa.declaration import (
    OPAQUE,
    Problem,
    passed_problem,
    placed,
    pragma_problem,
    type_problem,
    variable_problem,
)
from ptxsim.isa.variable_layout import align, align_of, lay_out, size_of
from ptxsim.syntax import ast
from ptxsim.syntax.constant import read_integer
from ptxsim.types import Target, Version, parse_target

# Directives of a kernel and of a function, with the most numbers they take and since when and where they are known.
KERNEL = {
    "maxntid": (3, ""), "reqntid": (3, ""), "minnctapersm": (1, ""), "maxnreg": (1, ""), "maxnctapersm": (1, "1.0-2.0"),
    "reqnctapercluster": (3, "7.8 sm_90"), "explicitcluster": (0, "7.8 sm_90"), "maxclusterrank": (1, "7.8 sm_90"),
    "blocksareclusters": (0, "9.0 sm_90"), "minperctamemory": (1, "9.4 sm_80"), "pragma": (9, ""), "language": (11, "9.2"),
}  # fmt: skip
FUNCTION = {
    "attribute": (9, ""), "noreturn": (0, "6.4"), "abi_preserve": (1, "9.0 sm_80"), "abi_preserve_control": (1, "9.0 sm_80"),
    "language": (11, "9.2"),
}  # fmt: skip
# What is not none.
COUNTS = {"maxntid": "threads", "reqntid": "threads", "maxnreg": "registers", "minnctapersm": "CTAs"}
EXCLUSIVE = (("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank"))
ALIAS = "6.3"
POINTED = ("const", "global", "local", "shared")
INSIDE = ("enable_smem_spilling", "used_bytes_mask")
# Bytes that a kernel's parameters may have; since when there may be more, and how many.
PARAMETER_BYTES, MORE_SINCE, MORE_BYTES = 4352, (8, 1), 32764
CONSTANT_BYTES = 65536
SAMPLERS = "samplers of their own need `.target ..., texmode_independent`"


def problems(module: ast.Module) -> Iterator[Finding]:
    """What is wrong with the items of a module, bodies apart."""
    version, target = module.version, parse_target(module.target)
    files: set[str] = set()
    known: dict[str, str] = {}  # what is declared so far, and where it lies
    for item in module.items:
        found: Problem | None = None
        match item:
            case ast.Variable():
                found = variable_problem(item, version, known.get) or _module_variable(item, module.targets)
            case ast.Function():
                found = _function_problem(item, version, target) or _parameters_problem(item, version, module.targets)
            case ast.Alias():
                found = _alias_problem(item, module, known) or _unavailable_alias(version, target)
            case ast.Directive(name="file", arguments=(number, *_)):
                found = ("illegal-form", f".file {number} is there already") if number in files else None
                files.add(number)
            case ast.Directive(name="pragma"):
                found = pragma_problem(item, version) or _pragma_place(item)
        if isinstance(item, ast.Variable | ast.Function | ast.Alias):
            known[item.name] = item.space if isinstance(item, ast.Variable) else "func"
        if found:
            yield placed(found, item)
    yield from redeclaration.problems(module)
    yield from _too_many_constants(module)


def _too_many_constants(module: ast.Module) -> Iterator[Finding]:
    """At the first variable that the constant memory has no room for."""
    end = 0
    for variable in _constants(module.items):
        end = align(end, align_of(variable)) + size_of(variable)
        if end > CONSTANT_BYTES:
            why = f"{variable.name}: with it the file has {end} bytes of .const variables, {CONSTANT_BYTES} is the most"
            yield placed(("illegal-form", why), variable)
            return


def _constants(nodes: Iterable[ast.Node]) -> Iterator[ast.Variable]:
    """The .const variables that a module defines, those of functions included."""
    for node in nodes:
        if isinstance(node, ast.Variable):
            if node.space == "const" and "extern" not in node.linkage:
                yield node
        elif isinstance(node, ast.Function):
            yield from _constants(node.body or ())
        elif isinstance(node, ast.Block):
            yield from _constants(node.statements)


def _pragma_place(directive: ast.Directive) -> Problem | None:
    word = " ".join(directive.arguments).strip('"').partition(" ")[0]
    return ("illegal-form", f".pragma {word} stands in a function") if word in INSIDE else None


def _module_variable(variable: ast.Variable, options: tuple[str, ...]) -> Problem | None:
    text = None
    if variable.space in ("reg", "local", "param"):
        text = f".{variable.space} variables belong into functions"
    elif "common" in variable.linkage and variable.space != "global":
        text = ".common variables are in .global memory"
    elif variable.type in OPAQUE and variable.space != "global":
        text = "textures, samplers and surfaces are in .global memory"
    elif variable.type == "samplerref" and "texmode_independent" not in options:
        text = SAMPLERS
    return ("illegal-form", f"{variable.name}: {text}") if text else None


def _function_problem(function: ast.Function, version: Version, target: Target) -> Problem | None:
    text = _signature_problem(function)
    if text:
        return "illegal-form", f"{function.name}: {text}"
    directives = KERNEL if function.is_entry else FUNCTION
    given = [directive.name for directive in function.directives]
    for directive in function.directives:
        if directive.name not in directives:
            where = "a function" if function.is_entry else "a kernel"
            return "illegal-form", f"{function.name}: .{directive.name} is for {where}"
        most, since = directives[directive.name]
        if directive.name == "pragma" and (found := pragma_problem(directive, version)):
            return found
        if found := parse_availability(since).problem(version, target):
            return found[0], f".{directive.name} {found[1]}"
        if not min(1, most) <= len(directive.arguments) <= most:
            return "illegal-form", f".{directive.name} takes {f'one to {most}' if most > 1 else most} numbers"
        if directive.name in COUNTS and 0 in (read_integer(number).value for number in directive.arguments):
            return "illegal-form", f".{directive.name} counts {COUNTS[directive.name]}, here are none"
    for one, other in EXCLUSIVE:
        if one in given and other in given:
            return "illegal-form", f"{function.name}: .{one} and .{other} exclude each other"
    if "blocksareclusters" in given and not {"reqntid", "reqnctapercluster"} <= set(given):
        return "illegal-form", f"{function.name}: .blocksareclusters needs .reqntid and .reqnctapercluster"
    if "noreturn" in given and function.returns:
        return "illegal-form", f"{function.name}: a function that does not return has no results"
    return None


def _signature_problem(function: ast.Function) -> str | None:
    if "common" in function.linkage:
        return "only variables are .common"
    if "extern" in function.linkage and function.body is not None:
        return "an .extern function is defined in another file, here it has a body"
    if function.is_entry and function.body is None and function.directives:
        return f"a kernel's .{function.directives[0].name} stands where its body is"
    return None


def _parameters_problem(function: ast.Function, version: Version, options: tuple[str, ...]) -> Problem | None:
    most = PARAMETER_BYTES if version < MORE_SINCE else MORE_BYTES
    if function.is_entry and (size := lay_out(function.parameters)[1]) > most:
        return "illegal-form", f"{function.name}: parameters of {size} bytes, a kernel has at most {most}"
    if len(function.returns) > 1 and any(result.space != "reg" for result in function.returns):
        return "illegal-form", f"{function.name}: only registers are several results; make one array of them"
    for parameter in (*function.returns, *function.parameters):
        name = f"{function.name}, parameter {parameter.name}"
        if function.is_entry and parameter.space != "param":
            return "illegal-form", f"{name}: kernels take .param variables"
        if parameter.space not in ("param", "reg"):
            return "illegal-form", f"{name}: parameters are .param variables or registers"
        if function.is_entry and not all(parameter.shape):
            return "illegal-form", f"{name}: the array has no size"
        if None in parameter.shape and (parameter in function.returns or parameter is not function.parameters[-1]):
            return "illegal-form", f"{name}: only the last parameter may be an array without a size"
        if len(parameter.shape) > 1:
            return "illegal-form", f"{name}: parameters are arrays of one dimension"
        if parameter.count is not None or (parameter.space == "param" and parameter.vector > 1):
            return "illegal-form", f"{name}: a parameter is no family, and in .param no vector; pass an array of bytes"
        if parameter.name == "_" and not function.is_entry:
            return "illegal-form", f"{name}: only prototypes leave parameters without a name"
        if parameter.type == "samplerref" and "texmode_independent" not in options:
            return "illegal-form", f"{name}: {SAMPLERS}"
        if parameter.type == "b128" and version < (8, 3):
            return "wrong-version", f"{name}: .b128 needs .version 8.3"
        if parameter.name != "_" and (text := type_problem(parameter)):
            return "illegal-form", f"{name}: {text}"
        if not function.is_entry and (found := passed_problem(parameter)):
            return found
        if parameter.pointer and (text := _pointer_problem(function, *parameter.pointer)):
            return "illegal-form", f"{name}: {text}"
    return None


def _pointer_problem(function: ast.Function, space: str, alignment: int | None) -> str | None:
    """What is wrong with `.ptr .space .align n`."""
    if not function.is_entry:
        return ".ptr is said of a kernel's parameters"
    if space and space not in POINTED:
        return f".ptr says where it points, to .{', .'.join(POINTED)}; .{space} is none of them"
    if alignment is not None and (alignment < 1 or alignment & (alignment - 1)):
        return f"the alignment {alignment} is no power of two"
    return None


def _unavailable_alias(version: Version, target: Target) -> Problem | None:
    found = parse_availability(ALIAS).problem(version, target)
    return (found[0], f".alias {found[1]}") if found else None


def _alias_problem(alias: ast.Alias, module: ast.Module, known: Container[str]) -> Problem | None:
    if next(item for item in module.items if isinstance(item, ast.Alias) and item.name == alias.name) is not alias:
        return "illegal-form", f"{alias.name} is an alias already"
    functions = {item.name: item for item in module.functions() if item.body is not None or item.name == alias.name}
    aliases = {item.name: item.target for item in module.items if isinstance(item, ast.Alias)}
    declared, name = functions.get(alias.name), alias.target
    for _ in aliases:
        name = aliases.get(name, name)
    target = functions.get(name)
    if declared is None:
        return (
            "undeclared-name",
            f".alias needs a declaration of {alias.name} before it, such as `.visible .func {alias.name};`",
        )
    if declared.body is not None:
        return "illegal-form", f"{alias.name} has a body; an alias has none"
    if target is None or alias.target not in known:
        return "undeclared-name", f".alias: no function {alias.target} is defined in the file, or it comes later"
    if target.is_entry or "weak" in target.linkage:
        return "illegal-form", f"{alias.target} is {'a kernel' if target.is_entry else '.weak'}, which has no alias"
    if what := redeclaration.differing(declared, target):
        return "illegal-form", f"{alias.name} has other {what} than {alias.target}, whose alias it is"
    return None

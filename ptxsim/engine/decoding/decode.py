"""From syntax to Program: binds every statement of a kernel and of the functions it calls."""

from __future__ import annotations

from collections.abc import Sequence

from ptxsim import instructions
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.analysis.ptxas.approximations import undo_approximations
from ptxsim.engine.analysis.ptxas.copies import put_copies
from ptxsim.engine.analysis.ptxas.fma_contraction import contract
from ptxsim.engine.analysis.ptxas.late_copies import LateCopies
from ptxsim.engine.decoding.bodies import Bodies
from ptxsim.engine.decoding.frames import frame_of, measure_stack
from ptxsim.engine.decoding.function_names import FunctionNames
from ptxsim.engine.decoding.linkage import SymbolPlace, function_addresses, link
from ptxsim.engine.decoding.resolve import Resolver
from ptxsim.engine.program.operand import Address, Operand, Register, StackAddress
from ptxsim.engine.program.operation import CallSite, FunctionCode, Op, Passed, Program
from ptxsim.isa import declaration
from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.facts import Control
from ptxsim.isa.operand import Value, compatible
from ptxsim.isa.variable_layout import size_of
from ptxsim.machine.cta import DYNAMIC_STACK
from ptxsim.machine.memory import FIRST
from ptxsim.machine.state import max_static_shared_bytes
from ptxsim.source import Place
from ptxsim.syntax import ast
from ptxsim.syntax.vectors import registers_of
from ptxsim.types import TYPES, ScalarType, Target


class Decoder:
    """Decodes one kernel. Raises PtxError with every binding problem of the functions it reaches.

    With `alone` the functions it calls are not decoded: enough to say what is wrong with its own statements. `base` and
    `inner_base` say where variables begin, as in `link`.
    """

    def __init__(
        self, bodies: Bodies, kernel: ast.Function, binder: Binder, run_target: Target, alone: bool = False,
        base: int = FIRST, inner_base: int | None = None,
    ):  # fmt: skip
        instructions.offer_families()
        self.bodies, self.kernel, self.binder = bodies, kernel, binder
        self.alone = alone
        self.functions = [kernel] if alone else bodies.reachable(kernel)
        self.linkage = link(
            bodies.module, kernel, self._shared_variables(), self._inner_globals(), run_target, base, inner_base
        )  # fmt: skip
        self.program = Program(kernel.name, [], [], [], [])
        self.findings: list[Finding] = []
        self.pending_targets: list[tuple[Op, tuple[str, ...], dict[str, int]]] = []

    def _shared_variables(self) -> list[ast.Variable]:
        used: set[str] = set()
        inner: list[ast.Variable] = []
        for function in self.functions:
            body = self.bodies.flat(function)
            used.update(self.bodies.referenced(function))
            inner.extend(v for v in body.variables if v.space == "shared")
        outer = [
            item for item in self.bodies.module.items
            if isinstance(item, ast.Variable) and item.space == "shared" and item.name in used
        ]  # fmt: skip
        return outer + inner

    def _inner_globals(self) -> list[ast.Variable]:
        """Global and constant variables declared in function bodies."""
        return [v for f in self.functions for v in self.bodies.flat(f).variables if v.space in ("global", "const")]

    def refuse(self, name: str, message: str, place: Place, help: str | None = None) -> None:
        """Something is wrong at a place."""
        self.findings.append(Finding(name, message, help=help).at(place))

    def decode(self) -> Program:
        self.program.function_addresses = function_addresses(self.bodies.module, self.alone)
        self.program.called_by_address = self.bodies.by_address(self.functions)
        for function in self.functions:
            _FunctionDecoder(self, function).decode()
        most = max_static_shared_bytes(self.binder.target)
        if self.linkage.static_shared_bytes > most:
            declared = f"{self.kernel.name} declares {self.linkage.static_shared_bytes} bytes of shared memory"
            help = "declare `.extern .shared .b8 tile[];` and give the bytes at launch (shared_mem=)"
            self.refuse("illegal-form", f"{declared}, {most} is the most", self.kernel, help)
        if self.findings:
            raise PtxError(self.findings)
        for op, labels, blocks in self.pending_targets:
            op.targets = tuple(blocks[label] for label in labels)
        put_copies(self.program)
        undo_approximations(self.program)
        contract(self.program)
        measure_stack(self.program)
        allocates = any(op.family == "stack" for op in self.program.ops)
        self.program.local_bytes = self.program.stack_bytes + (DYNAMIC_STACK if allocates else 0)
        return self.program


class _FunctionDecoder:
    def __init__(self, decoder: Decoder, function: ast.Function):
        self.decoder, self.function = decoder, function
        self.program, self.symbols = decoder.program, decoder.linkage.symbols
        if decoder.alone and decoder.linkage.unresolved:  # what other files define has some address
            self.symbols = self.symbols | {name: SymbolPlace("global", 0, 0) for name in decoder.linkage.unresolved}
        self.body = decoder.bodies.flat(function)
        self.names = FunctionNames(decoder.bodies.module, function, self.body)
        self.labels: dict[str, int] = {}
        self.late_copies = LateCopies()
        self.frame_offsets, self.frame_bytes = frame_of(function, self.body)
        self.registers = Resolver(self.program, self.names, self.symbols, self.frame_offsets)

    def decode(self) -> None:
        program = self.program
        first_slot, entry = len(program.slots), len(program.blocks)
        self.decoder.findings += declaration.problems(
            self.function.body or (), self.decoder.binder.version, self.names.variable_space
        )
        self._check_tables()
        program.blocks.append([])
        for statement in self.body.statements:
            if isinstance(statement, ast.Label):
                if program.blocks[-1]:
                    program.blocks.append([])
                self.labels[statement.name] = len(program.blocks) - 1
            elif isinstance(statement, ast.Instruction):
                self._instruction(statement)
            elif isinstance(statement, ast.Directive) and "nounroll" in str(statement.arguments):
                program.nounroll.add(statement.line)
        last = program.blocks[-1] or (program.blocks[-2] if len(program.blocks) - entry > 1 else [])
        ends = last and last[-1].leads_away and last[-1].guard is None
        labelled = any(block == len(program.blocks) - 1 for block in self.labels.values())
        if not ends or labelled or program.blocks[-1]:
            self._end()
        formals = [] if self.function.is_entry else self._formals(self.function.parameters)
        returns = self._formals(self.function.returns)
        code = FunctionCode(
            self.function.name, entry, formals, returns, self.frame_bytes, range(first_slot, len(program.slots))
        )
        program.functions[self.function.name] = code
        for name, function in self.decoder.bodies.functions.items():
            if function is self.function:
                program.functions[name] = code

    def _check_tables(self) -> None:
        """A list of functions holds functions; one of labels has been resolved."""
        for table in self.body.targets.values():
            for name in table.names if table.kind == "calltargets" else ():
                if self.names.variable_space(name) != "func":
                    self.decoder.refuse("operand-mismatch", f"{table.name} lists functions, {name} is none", table)

    def _end(self) -> None:
        """A body may end without ret: falling off the end returns."""
        statement = ast.Instruction("ret", line=self.function.line, column=self.function.column)
        self._instruction(statement)

    def _formals(self, variables: Sequence[ast.Variable]) -> list[Passed]:
        """Where parameters or results are; each element of a vector register is one of its own."""
        found = []
        for variable in variables:
            if variable.space == "param":
                found.append(Passed(size_of(variable), offset=self.frame_offsets[variable.name]))
                continue
            t = TYPES[variable.type]
            for name in registers_of(variable):
                found.append(Passed(t.bytes, self.registers.slot(name), t))
        return found

    def _instruction(self, statement: ast.Instruction) -> None:
        bound = self.decoder.binder.bind(statement, self.names)
        if isinstance(bound, Finding):
            self.decoder.findings.append(bound)
            return
        guard = None
        if statement.guard:
            declared = self.names.register_type(statement.guard.name)
            if declared != "pred":
                what = "is not declared" if declared is None else f"is declared {declared}, not pred"
                name = "undeclared-name" if declared is None else "operand-mismatch"
                help = f"declare it: `.reg .pred {statement.guard.name};`"
                self.decoder.refuse(name, f"the guard {statement.guard.name} {what}", statement.guard, help)
                return
            guard = (self.registers.slot(statement.guard.name), statement.guard.negated)
        self._append(self._op(bound, guard))

    def _op(self, bound: Bound, guard: tuple[int, bool] | None) -> Op:
        definition, form = bound.definition, bound.form
        wants = {name: bound.modifiers.get(name) for name in definition.wants}
        if definition.facts.control is not None:
            op = Op(len(self.program.ops), bound, definition, wants, (), (), guard)
            self._control(op, bound)
            return op
        per_lane_parameter = False
        sources: list[Operand | None] = []
        for name in definition.sources:
            operand = bound.operands.get(name)
            if name == "carry" and "r" in definition.carry:
                sources.append(self.registers.carry())
                continue
            if operand is None:
                sources.append(None)
                continue
            resolved = self.registers.operand(form.kinds[name], operand, bound)
            if isinstance(resolved, Address) and isinstance(resolved.base, StackAddress):
                per_lane_parameter = True
            sources.append(resolved)
        if per_lane_parameter:  # .param variables of functions and calls live in the lane's frame
            wants = {n: "local" if isinstance(v, str) and v.startswith("param") else v for n, v in wants.items()}
        order = [n for o in form.operands for n in (o.name, o.second) if n in form.writes]
        destinations = tuple(
            self.registers.operand(form.kinds[n], bound.operands[n], bound) if n in bound.operands else None
            for n in order
        )
        if "w" in definition.carry:
            destinations += (self.registers.carry(),)
        aligned = "aligned" in bound.modifiers and bound.modifiers["aligned"] not in (False, None)
        return Op(len(self.program.ops), bound, definition, wants, tuple(sources), destinations, guard, aligned)

    def _append(self, op: Op) -> None:
        if self.decoder.alone:
            return
        block = self.program.blocks[-1]
        late = self.late_copies.take(block, op)
        self.program.ops.append(op)
        block.append(op)
        if op.control or ends_block(op):
            self.program.blocks.append(late)

    def _control(self, op: Op, bound: Bound) -> None:
        operands = bound.statement.operands
        match op.control:
            case Control.BRANCH:
                self._target(op, (_name(operands[0]),))
            case Control.TABLE:
                op.sources = (self.registers.operand(Value("u32"), operands[0], bound),)
                self._target(op, self.body.targets[_name(operands[1])].names)
            case Control.CALL:
                op.call = self._call(operands)

    def _target(self, op: Op, labels: tuple[str, ...]) -> None:
        unknown = [name for name in labels if self.names.variable_space(name) != "label"]
        if unknown:
            help = f"write `{unknown[0]}:` where it should go"
            self.decoder.refuse("undeclared-name", f"there is no label {unknown[0]} in this function", op, help)
            return
        self.decoder.pending_targets.append((op, labels, self.labels))

    def _call(self, operands: tuple[ast.Operand, ...]) -> CallSite:
        groups = [o for o in operands if isinstance(o, ast.Group)]
        names = [o for o in operands if isinstance(o, ast.Name)]
        leading = isinstance(operands[0], ast.Group)
        returns = groups[0] if leading else None
        arguments = next((g for g in groups[1 if leading else 0 :]), None)
        callee = names[0]
        call = CallSite(
            None, None,
            [self._argument(a) for a in single_operands(arguments)],
            [self._argument(a) for a in single_operands(returns)],
        )  # fmt: skip
        declared = self.names.register_type(callee.name)
        if declared is not None:
            call.address = Register(self.registers.slot(callee.name), TYPES[declared], TYPES["u64"])
        else:
            call.name = callee.name
        prototype = next(
            (self.body.prototypes[name.name] for name in names[1:] if name.name in self.body.prototypes), None
        )
        known = self.decoder.bodies.declared
        listed = [
            target
            for name in names[1:]
            if name.name in self.body.targets
            for target in self.body.targets[name.name].names
        ]
        for signature in [prototype] if prototype else [known[n] for n in listed or [callee.name] if n in known]:
            if isinstance(signature, ast.Function) and signature.is_entry:
                self.decoder.refuse("operand-mismatch", f"{signature.name} is a kernel; calls are of functions", callee)
            is_inlined = len(signature.returns) > 1  # the assembler knows no other way to return several values
            self._check_passed(callee, "argument", arguments, signature.parameters, is_inlined)
            self._check_passed(callee, "result", returns, signature.returns, is_inlined)
        return call

    def _check_passed(
        self, callee: ast.Name, what: str, group: ast.Group | None, formals: Sequence[ast.Variable],
        is_inlined: bool = False,
    ) -> None:  # fmt: skip
        """Whether a call names as many arguments or results as the function has, of types that fit."""
        given = group.elements if group else ()
        if len(given) != len(formals):
            why = f"{callee.name} has {len(formals)} {what}s, the call names {len(given)}"
            self.decoder.refuse("operand-mismatch", why, callee)
            return
        for number, (operand, formal) in enumerate(zip(given, formals, strict=True), 1):
            if formal.type in NEVER_PASSED and formal.vector == 1 and not is_inlined:
                why = f"{what} {number} of {callee.name} is a .{formal.type}, which no call passes"
                self.decoder.refuse("operand-mismatch", why, callee, "pass it as .b32")
            passed, is_vector = self._passed_type(operand), isinstance(operand, ast.Vector)
            if passed is not None and not (fits_parameter(*passed, formal) and is_vector == (formal.vector > 1)):
                t, size, is_array = passed
                needed = spelled(formal.type, formal.vector) + "".join(f"[{n or ''}]" for n in formal.shape)
                here = spelled(t.name, size // t.bytes if is_vector else 1) + f"[{size // t.bytes}]" * is_array
                why = f"{what} {number} of {callee.name} is a {needed}, here is a {here}"
                self.decoder.refuse("operand-mismatch", why, operand)

    def _passed_type(self, operand: ast.Operand) -> tuple[ScalarType, int, bool] | None:
        """Type and bytes of a register, a vector register or a variable that a call passes, and whether it is an array."""
        if isinstance(operand, ast.Vector):
            element = self.names.register_type(_name(operand.elements[0]))
            assert element is not None
            return TYPES[element], TYPES[element].bytes * len(operand.elements), False
        if not isinstance(operand, ast.Name):
            return None
        declared = self.names.register_type(operand.name)
        if declared is not None:
            return TYPES[declared], TYPES[declared].bytes, False
        variable = next((v for v in self.body.variables if v.name == operand.name), None)
        return (TYPES[variable.type], size_of(variable), bool(variable.shape)) if variable is not None else None

    def _argument(self, operand: ast.Operand) -> Passed:
        if isinstance(operand, ast.Name):
            declared = self.names.register_type(operand.name)
            if declared is not None:
                return Passed(TYPES[declared].bytes, self.registers.slot(operand.name), TYPES[declared])
            if operand.name in self.frame_offsets:
                own = (*self.body.variables, *self.function.parameters, *self.function.returns)
                variable = next(v for v in own if v.name == operand.name)
                return Passed(size_of(variable), offset=self.frame_offsets[operand.name])
        if isinstance(operand, ast.Integer | ast.Float):
            bits = operand.value if isinstance(operand, ast.Integer) else operand.bits
            return Passed(8, constant=bits & (2**64 - 1))
        return Passed(0)


def _name(operand: ast.Operand) -> str:
    assert isinstance(operand, ast.Name), operand
    return operand.name


# Small integers and predicates, as which the code generator passes nothing; untyped bits of 8 and 16 it does.
NEVER_PASSED = ("pred", "u8", "s8", "u16", "s16")


def fits_parameter(passed: ScalarType, size: int, is_array: bool, formal: ast.Variable) -> bool:
    """Whether what a call passes may stand for a parameter: arrays of its size; values and vectors of a type that fits."""
    if formal.shape:
        return is_array and (size == size_of(formal) or None in formal.shape)
    return not is_array and size == passed.bytes * formal.vector and compatible(passed, TYPES[formal.type])


def spelled(type_name: str, vector: int) -> str:
    """A type as it is declared."""
    return f".v{vector} .{type_name}" if vector > 1 else f".{type_name}"


def single_operands(group: ast.Group | None) -> list[ast.Operand]:
    """What a call passes, the elements of vector registers one by one."""
    elements = group.elements if group else ()
    return [one for each in elements for one in (each.elements if isinstance(each, ast.Vector) else (each,))]


def ends_block(op: Op) -> bool:
    """Whether threads may be suspended at this operation or take the slow path for it, so that a new block begins after it."""
    return op.definition.uses_machine and not op.facts.straight

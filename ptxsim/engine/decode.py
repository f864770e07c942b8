"""From syntax to Program: binds every statement of a kernel and of the functions it calls, and resolves operands."""

from __future__ import annotations

from collections.abc import Iterator

from ptxsim import instructions
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.linkage import Linkage, lay_out, size_of
from ptxsim.engine.names import FunctionNames
from ptxsim.engine.operand import Address, Constant, Literal, Operand, Register, Special, StackAddress, Vector
from ptxsim.engine.program import CallSite, FunctionCode, Op, Passed, Program
from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.operand import Addr, Either, Imm, Kind, Nowhere, Pred, Reg, Symbol, Value, Vec, resolve_type
from ptxsim.isa.special import SPECIAL_REGISTERS
from ptxsim.machine.memory import LOCAL_WINDOW, SHARED_WINDOW
from ptxsim.syntax import ast
from ptxsim.syntax.scope import FlatBody, flatten
from ptxsim.types import TYPES, ScalarType, Target

FUNCTION_WINDOW = 0x7C00_0000_0000  # code addresses of functions, for indirect calls
BUILTINS = ("vprintf", "__assertfail", "malloc", "free")


def referenced(body: FlatBody) -> Iterator[str]:
    """Every name the operands of a body mention."""
    stack: list = [operand for s in body.statements if isinstance(s, ast.Instruction) for operand in s.operands]
    while stack:
        operand = stack.pop()
        match operand:
            case ast.Name(name):
                yield name
            case ast.Offset(base, _) | ast.Element(base, _):
                stack.append(base)
            case ast.Address(base, _, extra):
                stack.extend([base, *extra])
            case ast.Vector(elements) | ast.Group(elements):
                stack.extend(elements)
            case ast.Not(inner) | ast.Negative(inner):
                stack.append(inner)
            case ast.Pair(first, second):
                stack.extend([first, second])


class Bodies:
    """Flat bodies of a module's functions, made once; and which functions a kernel can reach."""

    def __init__(self, module: ast.Module):
        self.module = module
        self.functions = {f.name: f for f in module.functions() if f.body is not None}
        self.declared = {f.name: f for f in module.functions()}
        for item in module.items:
            if isinstance(item, ast.Alias) and item.target in self.functions:
                self.functions[item.name] = self.functions[item.target]
        self._flat: dict[str, FlatBody] = {}

    def flat(self, function: ast.Function) -> FlatBody:
        if function.name not in self._flat:
            self._flat[function.name] = flatten(function, self.module)
        return self._flat[function.name]

    def reachable(self, kernel: ast.Function) -> list[ast.Function]:
        """The kernel and every function it mentions, directly or through others or through tables in memory."""
        found, queue = {kernel.name: kernel}, [kernel]
        tables = {
            name for item in self.module.items if isinstance(item, ast.Variable) for name in _names_in(item.initializer)
        }
        queue_names = list(tables)
        while queue or queue_names:
            if queue:
                body = self.flat(queue.pop())
                queue_names.extend(referenced(body))
                for table in body.targets.values():
                    queue_names.extend(table.names)
            while queue_names:
                function = self.functions.get(queue_names.pop())
                if function is not None and function.name not in found and not function.is_entry:
                    found[function.name] = function
                    queue.append(function)
        return list(found.values())


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _names_in(item)
    elif isinstance(value, ast.Name):
        yield value.name
    elif isinstance(value, ast.Offset | ast.MaskedAddress):
        yield from _names_in(value.base if isinstance(value, ast.Offset) else value.operand)


class Decoder:
    """Decodes one kernel. Raises PtxError with every binding problem of the functions it reaches."""

    def __init__(self, bodies: Bodies, kernel: ast.Function, binder: Binder, run_target: Target):
        instructions.load_families()
        self.bodies, self.kernel, self.binder = bodies, kernel, binder
        self.functions = bodies.reachable(kernel)
        shared = self._shared_variables()
        self.linkage = Linkage(bodies.module, kernel, shared, run_target)
        self.program = Program(kernel.name, [], [], [], [])
        self.findings: list[Finding] = []
        self._pending_targets: list[tuple[Op, tuple[str, ...], dict[str, int]]] = []

    def _shared_variables(self) -> list[ast.Variable]:
        used: set[str] = set()
        inner: list[ast.Variable] = []
        for function in self.functions:
            body = self.bodies.flat(function)
            used.update(referenced(body))
            inner.extend(v for v in body.variables if v.space == "shared")
        outer = [
            item for item in self.bodies.module.items
            if isinstance(item, ast.Variable) and item.space == "shared" and item.name in used
        ]  # fmt: skip
        return outer + inner

    def decode(self) -> Program:
        names = [f.name for f in self.functions] + list(BUILTINS)
        self.program.function_addresses = {name: FUNCTION_WINDOW + 16 * i for i, name in enumerate(names)}
        for function in self.functions:
            _FunctionDecoder(self, function).decode()
        if self.findings:
            raise PtxError(self.findings)
        for op, labels, blocks in self._pending_targets:
            op.targets = tuple(blocks[label] for label in labels)
        frames = [f.frame for f in self.program.functions.values()]
        depth = 1 if len(frames) <= 1 else 64
        self.program.local_bytes = sum(frames) + (depth - 1) * max(frames, default=0)
        return self.program


class _FunctionDecoder:
    def __init__(self, decoder: Decoder, function: ast.Function):
        self.decoder, self.function = decoder, function
        self.program, self.symbols = decoder.program, decoder.linkage.symbols
        self.body = decoder.bodies.flat(function)
        self.names = FunctionNames(decoder.bodies.module, function, self.body)
        self.slots: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        frame = [v for v in self.body.variables if v.space in ("local", "param")]
        if not function.is_entry:
            frame += [v for v in (*function.parameters, *function.returns) if v.space == "param"]
        self.frame_offsets, end = lay_out(frame)
        self.frame_bytes = -(-end // 16) * 16

    def decode(self) -> None:
        program = self.program
        first_slot, entry = len(program.slots), len(program.blocks)
        program.blocks.append([])
        for statement in self.body.statements:
            if isinstance(statement, ast.Label):
                if program.blocks[-1]:
                    program.blocks.append([])
                self.labels[statement.name] = len(program.blocks) - 1
            elif isinstance(statement, ast.Instruction):
                self._instruction(statement)
        last = program.blocks[-1] or (program.blocks[-2] if len(program.blocks) - entry > 1 else [])
        ends = last and last[-1].control in ("ret", "exit", "bra", "brx.idx") and last[-1].guard is None
        labelled = any(block == len(program.blocks) - 1 for block in self.labels.values())
        if not ends or labelled or program.blocks[-1]:
            self._end()
        formals = [self._passed(v) for v in self.function.parameters] if not self.function.is_entry else []
        returns = [self._passed(v) for v in self.function.returns]
        code = FunctionCode(
            self.function.name, entry, formals, returns, self.frame_bytes, range(first_slot, len(program.slots))
        )
        program.functions[self.function.name] = code
        for name, function in self.decoder.bodies.functions.items():
            if function is self.function:
                program.functions[name] = code

    def _end(self) -> None:
        """A body may end without ret: falling off the end returns."""
        statement = ast.Instruction("ret", line=self.function.line, column=self.function.column)
        self._instruction(statement)

    def _passed(self, variable: ast.Variable) -> Passed:
        if variable.space == "reg":
            return Passed(TYPES[variable.type].bytes, self.slot(variable.name), TYPES[variable.type])
        return Passed(size_of(variable), offset=self.frame_offsets[variable.name])

    def slot(self, name: str) -> int:
        """The slot of a declared register; made when first asked for."""
        found = self.slots.get(name)
        if found is None:
            found = self.slots[name] = len(self.program.slots)
            self.program.slots.append(TYPES[self.names.register_type(name)])  # type: ignore[index]
            self.program.slot_names.append(name)
        return found

    def _carry(self) -> Register:
        """The condition code CC.CF: a predicate register without a name of its own."""
        slot = self.slots.get("CC.CF")
        if slot is None:
            slot = self.slots["CC.CF"] = len(self.program.slots)
            self.program.slots.append(TYPES["pred"])
            self.program.slot_names.append("CC.CF")
        return Register(slot, TYPES["pred"], TYPES["pred"])

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
                self.decoder.findings.append(
                    Finding(
                        "undeclared-name" if declared is None else "operand-mismatch",
                        f"the guard {statement.guard.name} {what}",
                        statement.guard.line,
                        statement.guard.column,
                        len(statement.guard.name),
                        help=f"declare it: `.reg .pred {statement.guard.name};`",
                    )  # fmt: skip
                )
                return
            guard = (self.slot(statement.guard.name), statement.guard.negated)
        self._append(self._op(bound, guard))

    def _op(self, bound: Bound, guard: tuple[int, bool] | None) -> Op:
        definition, form = bound.definition, bound.form
        wants = {name: bound.modifiers.get(name) for name in definition.wants}
        if definition.control:
            op = Op(len(self.program.ops), bound, definition, wants, (), (), guard, control=form.name)
            self._control(op, bound)
            return op
        per_lane_parameter = False
        sources: list[Operand | None] = []
        for name in definition.sources:
            operand = bound.operands.get(name)
            if name == "carry" and "r" in definition.carry:
                sources.append(self._carry())
                continue
            if operand is None:
                sources.append(None)
                continue
            resolved = self._operand(form.kinds[name], operand, bound)
            if isinstance(resolved, Address) and isinstance(resolved.base, StackAddress):
                per_lane_parameter = True
            sources.append(resolved)
        if per_lane_parameter:  # .param variables of functions and calls live in the lane's frame
            wants = {n: "local" if isinstance(v, str) and v.startswith("param") else v for n, v in wants.items()}
        order = [n for o in form.operands for n in (o.name, o.second) if n in form.writes]
        destinations = tuple(
            self._operand(form.kinds[n], bound.operands[n], bound) if n in bound.operands else None for n in order
        )
        if "w" in definition.carry:
            destinations += (self._carry(),)
        aligned = "aligned" in bound.modifiers and bound.modifiers["aligned"] not in (False, None)
        return Op(len(self.program.ops), bound, definition, wants, tuple(sources), destinations, guard, aligned)

    def _append(self, op: Op) -> None:
        self.program.ops.append(op)
        self.program.blocks[-1].append(op)
        if op.control or ends_block(op):
            self.program.blocks.append([])

    def _control(self, op: Op, bound: Bound) -> None:
        operands = bound.statement.operands
        match op.control:
            case "bra":
                self._target(op, (operands[0].name,))
            case "brx.idx":
                op.sources = (self._operand(Value("u32"), operands[0], bound),)
                self._target(op, self.body.targets[operands[1].name].names)
            case "call":
                op.call = self._call(operands)

    def _target(self, op: Op, labels: tuple[str, ...]) -> None:
        unknown = [name for name in labels if self.names.variable_space(name) != "label"]
        if unknown:
            statement = op.bound.statement
            self.decoder.findings.append(
                Finding(
                    "undeclared-name",
                    f"there is no label {unknown[0]} in this function",
                    statement.line,
                    statement.column,
                    statement.length,
                    help=f"write `{unknown[0]}:` where it should go",
                )  # fmt: skip
            )
            return
        self.decoder._pending_targets.append((op, labels, self.labels))

    def _call(self, operands: tuple[ast.Operand, ...]) -> CallSite:
        groups = [o for o in operands if isinstance(o, ast.Group)]
        names = [o for o in operands if not isinstance(o, ast.Group)]
        leading = isinstance(operands[0], ast.Group)
        returns = groups[0] if leading else None
        arguments = next((g for g in groups[1 if leading else 0 :]), None)
        callee = names[0]
        call = CallSite(
            None, None,
            [self._argument(a) for a in (arguments.elements if arguments else ())],
            [self._argument(a) for a in (returns.elements if returns else ())],
        )  # fmt: skip
        if self.names.register_type(callee.name) is not None:
            call.address = Register(self.slot(callee.name), TYPES[self.names.register_type(callee.name)], TYPES["u64"])
        else:
            call.name = callee.name
            self._check_arity(callee, call)
        return call

    def _check_arity(self, callee: ast.Name, call: CallSite) -> None:
        declared = self.decoder.bodies.declared.get(callee.name)
        if declared is None:
            return
        for what, given, wanted in (
            ("arguments", len(call.arguments), len(declared.parameters)),
            ("results", len(call.returns), len(declared.returns)),
        ):
            if given != wanted:
                why = f"{callee.name} has {wanted} {what}, the call names {given}"
                place = (callee.line, callee.column, len(callee.name))
                self.decoder.findings.append(Finding("operand-mismatch", why, *place))

    def _argument(self, operand: ast.Operand) -> Passed:
        if isinstance(operand, ast.Name):
            declared = self.names.register_type(operand.name)
            if declared is not None:
                return Passed(TYPES[declared].bytes, self.slot(operand.name), TYPES[declared])
            if operand.name in self.frame_offsets:
                variable = next(v for v in self.body.variables if v.name == operand.name)
                return Passed(size_of(variable), offset=self.frame_offsets[operand.name])
        if isinstance(operand, ast.Integer | ast.Float):
            bits = operand.value if isinstance(operand, ast.Integer) else operand.bits
            return Passed(8, constant=bits & (2**64 - 1))
        return Passed(0)

    # ---- operands ----

    def _operand(self, kind: Kind, operand: ast.Operand, bound: Bound) -> Operand:
        modifiers = bound.modifiers
        match kind:
            case Either():
                from ptxsim.isa.check_operand import check

                kind = next(k for k in kind.kinds if check(k, operand, modifiers, self.names) is None)
                return self._operand(kind, operand, bound)
            case Vec():
                elements = operand.elements if isinstance(operand, ast.Vector) else (operand,)
                if kind.bare and len(elements) == 1:
                    return self._operand(kind.element, elements[0], bound)
                return Vector(tuple(self._operand(kind.of(i), e, bound) for i, e in enumerate(elements)))
            case Addr():
                return self._address(operand, kind, bound)
            case Imm():
                return Literal(operand.value)
            case Symbol():
                return Literal(operand.name)
            case Pred():
                return self._value(operand, TYPES["pred"])
            case Nowhere():
                return self._value(operand, TYPES["b64"])
            case Reg() | Value():
                return self._value(operand, resolve_type(kind.type, modifiers))
        raise AssertionError(kind)

    def _value(self, operand: ast.Operand, t: ScalarType) -> Operand:
        match operand:
            case ast.Not(inner):
                found = self._value(inner, t)
                return Register(found.slot, found.declared, found.type, negated=True)
            case ast.Sink():
                return Register(-1, t, t, sink=True)
            case ast.Integer(value):
                if t.is_float:
                    return Constant(float_bits(float(value), t), t)
                return Constant(value & ((1 << max(t.bits, 1)) - 1) if t.kind != "predicate" else int(value != 0), t)
            case ast.Float(bits, width):
                return Constant(convert_literal(bits, width, t), t)
            case ast.Name(name):
                declared = self.names.register_type(name)
                if declared is not None:
                    return Register(self.slot(name), TYPES[declared], t)
                if name in SPECIAL_REGISTERS:
                    return Special(name, t)
                return self._symbol(name, 0, t)
            case ast.Offset(base, offset):
                return self._symbol(base.name, offset, t)
        raise PtxError(Finding("not-modeled", f"operand {operand}", operand.line, operand.column))

    def _symbol(self, name: str, offset: int, t: ScalarType) -> Operand:
        if name in self.frame_offsets:
            return StackAddress(self.frame_offsets[name] + offset, t)
        if name in self.symbols:
            return Constant((self.symbols[name].address + offset) & ((1 << t.bits) - 1), t)
        if name in self.program.function_addresses:
            return Constant(self.program.function_addresses[name], t)
        raise PtxError(Finding("not-modeled", f"{name} is declared extern: ptxsim links one file only"))

    def _address(self, operand: ast.Address, kind: Addr, bound: Bound) -> Address:
        extra = tuple(self._operand(k, e, bound) for k, e in zip(kind.extra, operand.extra))
        if operand.base is None:
            return Address(None, operand.offset, extra)
        declared = self.names.register_type(operand.base.name)
        if declared is not None:
            t = TYPES[declared]
            return Address(Register(self.slot(operand.base.name), t, TYPES[f"u{t.bits}"]), operand.offset, extra)
        symbol = self._symbol(operand.base.name, operand.offset, TYPES["u64"])
        generic = kind.space in bound.modifiers and bound.modifiers[kind.space] is None
        window = window_of(self.names.variable_space(operand.base.name)) if generic else 0
        if isinstance(symbol, Constant):
            return Address(None, symbol.value + window, extra)
        return Address(StackAddress(symbol.offset, TYPES["u64"]), window, extra)


def window_of(space: str | None) -> int:
    """Where a variable's state space begins in the generic address space."""
    return {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space or "", 0)


# Families whose effects use only operations that have a native form; any other machine effect ends its block.
NATIVE_FAMILIES = ("load", "store", "atomic", "shuffle", "vote", "special")


def ends_block(op: Op) -> bool:
    """Whether execution may stop behind this operation, so that a new block begins there."""
    effect = op.definition.effect
    return op.definition.uses_machine and effect.__module__.rpartition(".")[2] not in NATIVE_FAMILIES


def float_bits(value: float, t: ScalarType) -> int:
    import numpy as np

    from ptxsim import lanes

    return int(np.array([value]).astype(lanes.dtype(t)).view(f"u{t.bytes}")[0])


def convert_literal(bits: int, width: int, t: ScalarType) -> int:
    """A floating literal as bits of the operand's type: 1.5 (written as f64) becomes f32 for an f32 operand."""
    import numpy as np

    if width == t.bits or not t.is_float:
        return bits
    value = (
        np.array([bits], np.uint64).view(np.float64)[0]
        if width == 64
        else np.array([bits], np.uint32).view(np.float32)[0]
    )
    return float_bits(float(value), t)

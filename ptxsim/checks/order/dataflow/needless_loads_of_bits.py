"""Plain loads that only spare the atomic that sets a bit: `if (!(*p & bit)) atomicOr(p, bit)`.

By the memory model they race with the atomics of others. But bits are only ever set: a thread that finds an old word sets a bit that is
set already, and a thread that finds the bit set would find it set later, too.
"""

from __future__ import annotations

from ptxsim.checks.order.dataflow.needless_loads import found_at, goes_on, put_there
from ptxsim.checks.order.dataflow.unused import at_one_place, is_ordinary, same_values
from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.program.operand import Constant, Operand, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind


def only_asks_for_a_bit(program: Program, load: Op, update: Op) -> bool:
    """Whether what an ordinary load brings is only asked for the one bit that an atomic of its place would set, and the atomic left out where it is set."""
    if not is_ordinary(load, AccessKind.READ) or not _sets(update) or not at_one_place(program, load, update):
        return False
    updates = [op for op in program.ops if _is_atomic(op) and at_one_place(program, load, op)]
    looks = [op for op in program.ops if is_ordinary(op, AccessKind.READ) and at_one_place(program, load, op)]
    if not all(_sets(op) and _is_one_bit(program, op) and not _is_read(program, writes(op)) for op in updates):
        return False
    found, asked = found_at(program, looks), set[int]()
    for op in program.ops:
        if op.family != "mov" and not found.isdisjoint(reads(op)):
            if not _asks(program, op, found, updates):
                return False
            asked.update(writes(op))
    tests = [op for op in program.ops if not asked.isdisjoint(reads(op))]
    return bool(tests) and all(_is_needed(program, test, asked, [*looks, *updates]) for test in tests)


def _is_atomic(op: Op) -> bool:
    return len(op.accesses) == 1 and op.accesses[0].kind is AccessKind.ATOMIC


def _sets(op: Op) -> bool:
    return _is_atomic(op) and op.words.get("op") == "or"


def _is_one_bit(program: Program, update: Op) -> bool:
    """Whether an atomic sets one bit: a constant, or 1 shifted to the left."""
    value = put_there(update)
    constant, made = _constant(program, value), _made_by(program, value)
    if constant is not None:
        return constant.bit_count() == 1
    return made is not None and made.family == "shl" and _constant(program, made.sources[0]) == 1


def _constant(program: Program, operand: Operand | None) -> int | None:
    """The number that an operand is, or that has been moved into the register."""
    made = _made_by(program, operand)
    if made is not None and made.family == "mov" and made.facts.formula == "a":
        operand = made.sources[0]
    return operand.value if type(operand) is Constant else None


def _made_by(program: Program, operand: Operand | None) -> Op | None:
    """The only operation that writes a register, in all lanes."""
    made = [op for op in program.ops if isinstance(operand, Register) and operand.slot in writes(op)]
    return made[0] if len(made) == 1 and made[0].guard is None else None


def _is_read(program: Program, slots: list[int]) -> bool:
    """Whether anything makes use of registers."""
    returned = {each.slot for function in program.functions.values() for each in function.returns}
    return not returned.isdisjoint(slots) or any(not set(slots).isdisjoint(reads(op)) for op in program.ops)


def _is(operand: object, value: int) -> bool:
    return type(operand) is Constant and operand.value == value


def _asks(program: Program, op: Op, found: set[int], updates: list[Op]) -> bool:
    """Whether an operation takes the bit that all atomics set out of what has been found."""
    if op.facts.formula != "a & b" or op.guard is not None:
        return False
    bits = [each for each in op.sources if found.isdisjoint(slots_of([each]))]
    return len(bits) == 1 and all(same_values(program, bits[0], put_there(each)) for each in updates)


def _is_needed(program: Program, test: Op, asked: set[int], asking: list[Op]) -> bool:
    """Whether a test lets the atomic be where the bit is not set, and decides nothing else."""
    if test.family != "setp" or test.words["boolop"] is not None or test.guard is not None:
        return False
    one, other = test.sources[0], test.sources[1]
    if asked.isdisjoint(slots_of([one])) or not _is(other, 0) or test.words["cmp"] not in ("eq", "ne"):
        return False
    goes = goes_on(program, test, asking)
    return goes is not None and goes == (test.words["cmp"] == "eq")

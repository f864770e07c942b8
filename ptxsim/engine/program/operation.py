"""A kernel decoded for execution: operations with resolved operands, in basic blocks. Both engines run this."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from ptxsim.engine.program.operand import Operand
from ptxsim.isa.bind import Bound
from ptxsim.isa.facts import Access, Control, Facts, Fence, Mechanism, Proxy, Synchronisation
from ptxsim.isa.registry import Definition
from ptxsim.machine.product import Product
from ptxsim.types import ScalarType


@dataclass(slots=True, eq=False)
class Op:
    """One instruction. `sources` follow the effect's parameters (None where an optional operand is absent),
    `destinations` the form's destinations in notation order. `wants` are the effect's keyword arguments.

    `targets` are block numbers, of what branches. `aligned`: all live lanes
    of the warp must execute it together. `site` counts through the program.
    """

    site: int
    bound: Bound
    definition: Definition
    wants: dict[str, object]
    sources: tuple[Operand | None, ...]
    destinations: tuple[Operand | None, ...]
    guard: tuple[int, bool] | None
    aligned: bool = False
    targets: tuple[int, ...] = ()
    call: CallSite | None = None

    @property
    def facts(self) -> Facts:
        """What the instruction is (isa.facts)."""
        return self.definition.facts

    @property
    def family(self) -> str:
        return self.definition.facts.family

    @property
    def control(self) -> Control | None:
        """Where it sends its lanes, if they do not just go on."""
        return self.definition.facts.control

    @property
    def leads_away(self) -> bool:
        """Whether its lanes go on elsewhere, or nowhere, and do not come back."""
        control = self.definition.facts.control
        return control is not None and not control.comes_back

    @property
    def leaves_function(self) -> bool:
        control = self.definition.facts.control
        return control is not None and control.leaves

    @property
    def words(self) -> Mapping[str, Any]:
        """The modifiers, as the effect has them too."""
        return {**self.bound.modifiers, **self.wants}

    @property
    def folds(self) -> bool:
        """Whether ptxas makes a constant of its sources, if they are constants."""
        find = self.definition.facts.folds
        return find is not None and find(self.words)

    @property
    def accesses(self) -> tuple[Access, ...]:
        return self.definition.facts.accesses(self.words)

    @property
    def copies_in_bulk(self) -> bool:
        """Whether it copies memory to memory through the async proxy: bulk and tensor copies and their reductions."""
        there = [access for access in self.accesses if access.proxy is Proxy.ASYNC]
        return any(access.reads for access in there) and any(access.writes for access in there)

    @property
    def names_tensor_map(self) -> bool:
        """Whether one of its operands is a tensor map."""
        return any(access.proxy is Proxy.TENSORMAP for access in self.accesses)

    @property
    def synchronises(self) -> Synchronisation | None:
        return self.definition.facts.synchronises

    @property
    def fence(self) -> Fence | None:
        """What it orders, of fences."""
        find = self.definition.facts.fence
        return None if find is None else find(self.words)

    @property
    def completes_by(self) -> Mechanism | None:
        """What the completion of an asynchronous instruction is waited for with."""
        return self.definition.facts.completes_by

    @property
    def mechanisms(self) -> frozenset[Mechanism | None]:
        """The mechanisms it takes part in, as what is ordered or as what orders."""
        facts = self.definition.facts
        return frozenset({facts.completes_by, facts.synchronises.mechanism if facts.synchronises else None})

    def product(self, target: str, numerics: str) -> Product:
        """The matrix product on a target, of an instruction that multiplies matrices. Raises PtxError not-modeled."""
        find = self.definition.facts.product
        assert find is not None, self.opcode
        return cast("Product", find(self.words, target, numerics))

    def source(self, name: str) -> Operand | None:
        """The source operand that the effect calls so; None where it is absent."""
        names = self.definition.sources
        return self.sources[names.index(name)] if name in names else None

    @property
    def name(self) -> str:
        """The instruction's name without modifiers, for messages."""
        return self.bound.form.name

    @property
    def line(self) -> int:
        return self.bound.statement.line

    @property
    def column(self) -> int:
        return self.bound.statement.column

    @property
    def length(self) -> int:
        return self.bound.statement.length

    @property
    def opcode(self) -> str:
        return self.bound.statement.opcode


@dataclass(slots=True)
class Passed:
    """Where an argument or return value lives: a register slot, or an offset in a local frame; `size` in bytes."""

    size: int
    slot: int | None = None
    type: ScalarType | None = None
    offset: int | None = None
    constant: int | None = None


@dataclass(slots=True)
class CallSite:
    """A call: the function's name (or the operand that holds its address), arguments and returns at the caller's side."""

    name: str | None
    address: Operand | None
    arguments: list[Passed]
    returns: list[Passed]
    caller: FunctionCode | None = None


@dataclass(slots=True)
class FunctionCode:
    """Where a function's code begins, its formals, its local frame in bytes, the register slots that are its own."""

    name: str
    entry: int
    parameters: list[Passed]
    returns: list[Passed]
    frame: int
    slots: range


@dataclass(slots=True)
class Program:
    """Blocks of operations; block 0 is where the kernel starts. `slots` are the declared types of register slots."""

    name: str
    blocks: list[list[Op]]
    ops: list[Op]
    slots: list[ScalarType]
    slot_names: list[str]
    functions: dict[str, FunctionCode] = field(default_factory=dict)
    function_addresses: dict[str, int] = field(default_factory=dict)
    called_by_address: set[str] = field(default_factory=set)  # functions whose addresses anything has
    stack_bytes: int = 0  # of local memory that is for variables and calls
    is_recursive: bool = False  # whether a thread may be in a function twice, as far as the calls show
    local_bytes: int = 0  # that and what alloca gives from
    nounroll: set[int] = field(default_factory=set)  # lines of `.pragma "nounroll"`
    facts: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False)

    def with_operations(self, blocks: list[list[Op]], ops: list[Op]) -> Program:
        """The program with other operations, of which nothing is known yet; one that is read from disk piece by piece becomes one that is not."""
        parts = {each.name: getattr(self, each.name) for each in fields(Program) if each.name not in ("blocks", "ops")}
        return Program(**parts | {"blocks": blocks, "ops": ops, "facts": {}})


Found = TypeVar("Found")
_FACTS: set[str] = set()


def fact(find: Callable[..., Found]) -> Callable[..., Found]:
    """A function of a decoded program (and of other hashable things) that is computed once; its result is not to be changed."""
    name = find.__qualname__  # text: remembered programs keep facts (session.cache)
    assert name not in _FACTS, f"two facts are called {name}"
    _FACTS.add(name)

    @functools.wraps(find)
    def known(program: Program, *others: object) -> Any:
        key = (name, *others)
        if key not in program.facts:
            program.facts[key] = find(program, *others)
        return program.facts[key]

    return known


@fact
def sites_of(program: Program) -> int:
    """How many operations a program has."""
    return len(program.ops)


@fact
def lengths_of(program: Program) -> tuple[int, ...]:
    """How many operations each block has."""
    return tuple(len(block) for block in program.blocks)


@fact
def families(program: Program) -> frozenset[str]:
    """The families of a program's operations. (Launches of remembered programs ask this, and need no operation for it.)"""
    return frozenset(op.family for op in program.ops)


@fact
def copies_in_bulk(program: Program) -> bool:
    """Whether a program has copies, or work of lanes, that are kept in machine.copies.bulk while they are in flight."""
    return works_later(program) or any(op.copies_in_bulk for op in program.ops)


@fact
def works_later(program: Program) -> bool:
    """Whether a program has work of lanes that completes later (machine.copies.lane_work)."""
    return any(op.facts.later for op in program.ops)


@fact
def calls(program: Program) -> bool:
    """Whether a program may call anything: functions of its own, or those that the driver links in."""
    return any(op.call is not None for op in program.ops)


@fact
def calls_functions(program: Program) -> bool:
    """Whether a program may call functions of its own, not only those that the driver links in (engine.builtin)."""
    sites = [op.call for op in program.ops if op.call is not None]
    return any(site.name is None or site.name in program.functions for site in sites)

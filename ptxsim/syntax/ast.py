"""What a PTX text says, as frozen nodes. Every node knows its line and column (1-based); places do not take part in equality.

Names are kept as written ("%r1", "$L__BB0_2", "smem"); types without the dot ("f32"); opcodes as one dotted string.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Node(Struct, frozen=True, eq=False, kw_only=True):
    """What all nodes have: a place, which equality leaves out.

    Where every operand of a file passes, `type(node) is Name` is asked: `isinstance` takes several times as long when
    the answer is no.
    """

    line: int = 0
    column: int = 0

    @property
    def length(self) -> int:
        """Characters from there that a message points at."""
        return 1

    def _key(self) -> tuple[object, ...]:
        return (type(self), *[getattr(self, name) for name in type(self).__match_args__])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())


# ---- operands -------------------------------------------------------------------------------------------------------


class Name(Node, frozen=True):
    """A register, variable, label, function or special register: %r1, smem, %tid.x ("%tid.x" is one name)."""

    name: str

    @property
    def length(self) -> int:
        return len(self.name)


class Integer(Node, frozen=True):
    """An integer literal or constant expression, evaluated to 64 bits; `unsigned` if written with U (or a big hex)."""

    value: int
    unsigned: bool = False


class Float(Node, frozen=True):
    """A floating literal as bits: 0f3F800000 has width 32, 0d... and 1.5 have width 64."""

    bits: int
    width: int


class Sink(Node, frozen=True):
    """The bit bucket `_`."""


class Not(Node, frozen=True):
    """A negated predicate operand `!%p1`."""

    operand: Operand


class Negative(Node, frozen=True):
    """`-name`, as in the second operand of some emulated forms."""

    operand: Operand


class Offset(Node, frozen=True):
    """An address expression outside brackets: `smem+16` in `mov.u32 %r1, smem+16`."""

    base: Name
    offset: int


class Pair(Node, frozen=True):
    """Two destinations or a register pair written `d|p`."""

    first: Operand
    second: Operand


class Vector(Node, frozen=True):
    """`{a, b, ...}`; elements are operands (may be empty)."""

    elements: tuple[Operand, ...]


class Element(Node, frozen=True):
    """One component of a vector register or an array in braces-free syntax: `%v.x`, `array[3]`."""

    base: Name
    component: str


class Address(Node, frozen=True):
    """`[base]`, `[base+offset]`, `[offset]`, `[tensorMap, {c0, c1}]`, `[tensorMap, {..}, {..}]`.

    `base` is a Name, or None for an absolute address. `extra` holds what follows the first comma.
    """

    base: Name | None
    offset: int = 0
    extra: tuple[Operand, ...] = ()


class Group(Node, frozen=True):
    """A parenthesised list: return values and arguments of a call."""

    elements: tuple[Operand, ...]


Operand = Name | Integer | Float | Sink | Not | Negative | Offset | Pair | Vector | Element | Address | Group


# ---- statements -----------------------------------------------------------------------------------------------------


class Guard(Node, frozen=True):
    """`@%p1` or `@!%p1`."""

    name: str
    negated: bool = False

    @property
    def length(self) -> int:
        return len(self.name)


class Instruction(Node, frozen=True):
    """`@guard opcode operands;`. `opcode` is the whole dotted text, `length` its characters (column points at it)."""

    opcode: str
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None

    @property
    def mnemonic(self) -> str:
        """The first word of the opcode; the registry knows the longer names (`wmma.load.a`)."""
        return self.opcode.partition(".")[0]

    @property
    def length(self) -> int:
        return len(self.opcode)


class Label(Node, frozen=True):
    name: str


class Block(Node, frozen=True):
    """`{ ... }`: a scope for names and labels."""

    statements: tuple[Statement, ...]


class Variable(Node, frozen=True):
    """One declared name. `.reg .b32 %r<4>` has count 4 and names %r0..%r3; arrays have `shape` (None: `[]`).

    `space` is reg, global, shared, const, local, param, tex; `vector` is 1, 2 or 4 (8 too for newer PTX).
    `linkage` is the tuple of words before it: extern, visible, weak, common; `attributes` those of `.attribute(...)`.
    """

    name: str
    space: str
    type: str
    count: int | None = None
    vector: int = 1
    align: int | None = None
    shape: tuple[int | None, ...] = ()
    initializer: Initializer | None = None
    linkage: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    pointer: tuple[str, int | None] | None = None  # .ptr .global .align 16 of a kernel parameter


class MaskedAddress(Node, frozen=True):
    """`0xff(symbol)` or `generic(symbol)+4` in an initialiser: which byte, or whether generic.

    `mask` None is `generic`; the operand of a mask may itself be a generic address.
    """

    operand: Name | Offset | MaskedAddress
    mask: int | None = None


class Setting(Node, frozen=True):
    """`addr_mode_0 = wrap` in the initialiser of a sampler or texture; `value` is the literal text."""

    name: str
    value: str


# A value, or those in braces.
Initializer: TypeAlias = "Integer | Float | Name | Offset | MaskedAddress | Setting | tuple[Initializer, ...]"


class Directive(Node, frozen=True):
    """A directive that carries words and values only: .pragma, .file, .loc, .maxntid, .reqnctapercluster, .noreturn, ...

    `name` without the dot; `arguments` are the literal texts in order.
    """

    name: str
    arguments: tuple[str, ...] = ()


class Targets(Node, frozen=True):
    """`L: .branchtargets A, B;` or `F: .calltargets f, g;`; `kind` is branchtargets or calltargets."""

    name: str
    kind: str
    names: tuple[str, ...]


class Prototype(Node, frozen=True):
    """`P: .callprototype (returns) _ (parameters) ...;`"""

    name: str
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    directives: tuple[Directive, ...] = ()


Statement = Instruction | Label | Block | Variable | Directive | Targets | Prototype


# ---- module ---------------------------------------------------------------------------------------------------------


class Function(Node, frozen=True):
    """`.entry` or `.func`. `body` is None for a declaration."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...] = ()
    returns: tuple[Variable, ...] = ()
    linkage: tuple[str, ...] = ()
    directives: tuple[Directive, ...] = ()
    body: tuple[Statement, ...] | None = None


class Alias(Node, frozen=True):
    """`.alias name, target;`"""

    name: str
    target: str


class Section(Node, frozen=True):
    """`.section .debug_info { ... }`: kept as text, never interpreted."""

    name: str
    text: str


Item = Variable | Function | Directive | Alias | Section


class _TargetPlace(Node, frozen=True, kw_only=True):
    target_line: int = 0


class Module(_TargetPlace, frozen=True):
    """A whole file. `targets` holds every word of `.target` (sm_90a, texmode_independent, debug, ...)."""

    version: tuple[int, int]
    targets: tuple[str, ...]
    address_size: int = 64
    items: tuple[Item, ...] = ()

    @property
    def target(self) -> str:
        """The architecture of `.target`."""
        return next((t for t in self.targets if t.startswith(("sm_", "compute_"))), "sm_70")

    def functions(self) -> list[Function]:
        return [item for item in self.items if isinstance(item, Function)]

    def entries(self) -> list[Function]:
        return [item for item in self.functions() if item.is_entry and item.body is not None]

"""Through which parameters of a kernel global memory may be written, wherever its threads go, and whether what they load says where.

Values are followed from register to register by slot, in no order. Memory is one place: whatever is stored anywhere may be what
any load brings. So an address that the kernel itself has put into memory (a descriptor, a table) is known there; one that was there
before it is none of a parameter's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.program.operand import Address, Constant, Operand, Register, Vector
from ptxsim.engine.program.operation import Op, Program, calls_functions, fact
from ptxsim.isa.facts import Mechanism, Proxy
from ptxsim.machine.memory import ARENA_HIGH, PARAMETERS

MOST = 0x8000  # bytes of parameters
NOT_GLOBAL = {"shared", "local", "param"}
# Origins of a value: the parameter at this byte, or its address; memory, whose contents are loaded; the address of something else.
VALUE, PLACE, LOADED, ELSEWHERE = range(4)
Origins = set[tuple[int, int]]
_LOADED, _ELSEWHERE = (LOADED, 0), (ELSEWHERE, 0)


@fact
def written_parameters(program: Program) -> frozenset[int] | None:
    """Bytes (offsets in the kernel's parameters) of those from which addresses come that may be written: pointers, and tensor maps.

    None if it cannot be told. Addresses that lie in memory before the launch may be written besides, and integers may be addresses.
    """
    return None if calls_functions(program) else _found(program)[0]


@fact
def memory_steers(program: Program) -> bool:
    """Whether what is loaded may decide which instructions are executed, by which lanes, or what they access.

    If not, a launch executes the same and accesses the same addresses, whatever lies in the memory that its parameters point to.
    """
    return calls_functions(program) or _found(program)[1]


@fact
def maps_are_parameters(program: Program) -> bool:
    """Whether every tensor map that the kernel uses is a parameter itself, which nothing changes."""
    return not calls_functions(program) and not _found(program)[2]


@fact
def _found(program: Program) -> tuple[frozenset[int], bool, bool]:
    """Bytes of the parameters that may be written through, whether memory steers, whether there are other maps."""
    flow = _Flow()
    uses = [_Use.of(op) for op in program.ops]
    size = -1
    while size != flow.size():
        size = flow.size()
        for use in uses:
            flow.take(use)
    written = frozenset(byte for kind, byte in flow.written if kind in (VALUE, PLACE))
    return written, flow.is_steered, flow.has_other_maps


@dataclass(slots=True)
class _Use:
    """What an operation does with addresses: the slots and the parameters that it takes as values and as addresses."""

    values: list[int]
    given: Origins
    bases: list[int]
    places: Origins
    destinations: list[int]
    is_memory: bool
    writes_global: bool
    by_map: bool  # its address is that of a tensor map
    maps: list[int]  # the slots that hold that address
    loads: bool  # its results are what lies in memory; what mbarriers say of their phase is not
    steering: list[int]  # the slots that say which lanes execute it, and where they go on

    @classmethod
    def of(cls, op: Op) -> _Use:
        accesses, operands = op.accesses, list(_flat(op.sources))
        addresses = [operand for operand in operands if isinstance(operand, Address)]
        is_memory = bool(accesses or addresses or op.completes_by)
        writes = any(access.writes and access.space not in NOT_GLOBAL for access in accesses)
        is_mbarrier = op.synchronises is not None and op.synchronises.mechanism is Mechanism.MBARRIER
        by_map = any(access.proxy is Proxy.TENSORMAP for access in accesses)
        unknown = not accesses and op.synchronises is None  # what has no facts about its address may write there
        return cls(
            slots_of(operand for operand in operands if not isinstance(operand, Address)),
            {place for operand in operands if isinstance(operand, Constant) for place in _place(operand.value)},
            slots_of(addresses),
            {place for address in addresses for place in _places(address)},
            slots_of(op.destinations),
            is_memory,
            writes or (unknown and bool(addresses)),
            by_map,
            slots_of(address.base for address in addresses if by_map),
            not is_mbarrier and (not accesses or any(a.reads and a.space != "param" for a in accesses)),
            slots_of(op.sources if op.control is not None else ()) + ([op.guard[0]] if op.guard is not None else []),
        )


def _flat(operands: Iterable[Operand | None]) -> Iterator[Operand]:
    for operand in operands:
        if isinstance(operand, Vector):
            yield from _flat(operand.elements)
        elif operand is not None:
            yield operand


def _places(address: Address) -> Origins:
    found = {
        place for operand in _flat(address.extra) if isinstance(operand, Constant) for place in _place(operand.value)
    }
    return found | (_place(address.offset) if not isinstance(address.base, Register) else set())


def _place(value: int) -> Origins:
    """The parameter that lies at an address, also at one that has lost its upper half; or whatever else does."""
    byte = (value if value >> 32 else value | ARENA_HIGH) - PARAMETERS
    if 0 <= byte < MOST:
        return {(PLACE, byte)}
    return {_ELSEWHERE} if value >= ARENA_HIGH else set()


@dataclass(slots=True)
class _Flow:
    """Origins of what lies in registers and in memory, as far as they are known, and of the addresses that are written."""

    registers: dict[int, Origins] = field(default_factory=dict)
    memory: Origins = field(default_factory=set)
    written: Origins = field(default_factory=set)
    is_steered: bool = False
    has_other_maps: bool = False

    def size(self) -> int:
        return len(self.memory) + len(self.written) + sum(map(len, self.registers.values()))

    def take(self, use: _Use) -> None:
        """What one operation does."""
        result = self._at(use.values) | use.given
        self.is_steered |= _LOADED in self._at(use.steering)
        if use.is_memory:
            address = self._at(use.bases) | use.places
            # So does a map that is not a parameter itself.
            is_other = any(kind != PLACE for kind, _ in self._at(use.maps))
            is_other |= use.by_map and not any(kind == PLACE for kind, _ in address)
            self.has_other_maps |= is_other
            self.is_steered |= is_other or _LOADED in address
            parameters = {(VALUE, byte) for kind, byte in address if kind == PLACE}
            if use.writes_global:
                self.written |= address | (self.memory if use.by_map else set())
            self.memory |= result - {_LOADED}  # who loads it knows
            if not use.destinations and not use.by_map:  # a copy from the parameters, maybe
                self.memory |= parameters
            result |= parameters | self.memory | ({_LOADED} if use.loads else set())
        for slot in use.destinations:
            self.registers.setdefault(slot, set()).update(result)

    def _at(self, slots: Iterable[int]) -> Origins:
        return set().union(*(self.registers.get(slot, ()) for slot in slots))

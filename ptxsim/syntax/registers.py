"""Registers by name. PTX ISA, "Parameterized Variable Names"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ptxsim.syntax.ast import Variable


class Registers(Mapping[str, Variable]):
    """Register name to its declaration. A family `%r<100000>` stays one Variable; any member finds it at once.

    What comes back for a member of a family is the family's declaration: its `type` and `vector` are the register's.
    """

    def __init__(self, declarations: tuple[Variable, ...] = ()):
        self.declarations: list[Variable] = []
        self._single: dict[str, Variable] = {}
        self._families: dict[str, Variable] = {}
        for declaration in declarations:
            self.add(declaration)

    def add(self, declaration: Variable) -> None:
        self.declarations.append(declaration)
        (self._single if declaration.count is None else self._families)[declaration.name] = declaration

    def find(self, name: str) -> Variable | None:
        found = self._single.get(name)
        if found is None and self._families:
            found = family_of(name, self._families)
        return found

    def __getitem__(self, name: str) -> Variable:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        for declaration in self.declarations:
            if declaration.count is None:
                yield declaration.name
            else:
                yield from (f"{declaration.name}{index}" for index in range(declaration.count))

    def __len__(self) -> int:
        return sum(1 if d.count is None else d.count for d in self.declarations)


DIGITS = "0123456789"


def family_of(name: str, families: Mapping[str, Variable]) -> Variable | None:
    """The family that has a member `name`: all digits at the end are its number, so `%r12` is no member of `%r1<5>`."""
    stem = name.rstrip(DIGITS)
    family = families.get(stem)
    number = name[len(stem) :].lstrip("0")[:20]
    if family is None or len(stem) == len(name):
        return None
    return family if int(number or "0") < (family.count or 0) else None

"""Runs one matrix instruction on given registers and memory, without an engine."""

from __future__ import annotations

import re

from ptxsim import instructions
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Op
from ptxsim.isa.bind import Binder
from ptxsim.machine.cta import Cluster, Cta
from ptxsim.machine.memory import GlobalMemory
from ptxsim.machine.port import Port
from ptxsim.machine.state import Machine
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target

TARGET = parse_target("sm_90a")
BASE = 0x400


class Names:
    """Names by their letters: `%a0` is of the type given for `%a`."""

    def __init__(self, types: dict[str, str]):
        self.types = types

    def register_type(self, name: str) -> str | None:
        return self.types.get(name) or self.types.get(re.sub(r"\d+$", "", name))

    def variable_space(self, name: str) -> str | None:
        return None

    def parameter_role(self, name: str) -> str | None:
        return None


def bind(text: str, types: dict[str, str], target: str = "sm_90a"):
    """The statement bound for a target."""
    instructions.load_families()
    bound = Binder(parse_target(target), (9, 0)).bind(parse_body(text)[0], Names(types))
    assert not isinstance(bound, Finding), bound
    return bound


class Ports(list):
    """A port for every warp of one CTA; `found` collects what is reported, `shared` and `memory` are bytes."""

    def __init__(self, warps: int = 1, shared: int = 0, memory: int = 16, target: str = "sm_90a"):
        everything = GlobalMemory()
        allocation = everything.allocate("buffer", memory)
        machine = Machine(
            parse_target(target), (1, 1, 1), (32 * warps, 1, 1), (1, 1, 1), everything, shared_bytes=BASE + shared
        )
        cluster = Cluster((0, 0, 0), (1, 1, 1))
        self.cta = Cta((0, 0, 0), 0, (32 * warps, 1, 1), BASE + shared, cluster)
        cluster.ctas.append(self.cta)
        self.found: list[str] = []
        self.shared, self.memory = self.cta.shared[BASE:], everything.view(allocation)
        self.address = allocation.address
        super().__init__(Port(machine, warp) for warp in self.cta.warps)
        for port in self:
            port.report = lambda name, *rest, **others: self.found.append(name)


def call(bound, port: Port, **operands):
    """The effect's results for operands by name."""
    definition = bound.definition
    port.mask = port.warp.live
    port.op = Op(0, bound, definition, {}, (None,) * len(definition.sources), (None,), None)
    sources = [operands.get(name) for name in definition.sources]
    return definition.effect(port, *sources, **{name: bound.modifiers.get(name) for name in definition.wants})

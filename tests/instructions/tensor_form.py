"""Runs one matrix instruction on recorded registers and memory, without an engine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ptxsim import instructions
from ptxsim.diagnostic import Finding
from ptxsim.isa.bind import Binder
from ptxsim.machine.cta import Cluster, Cta
from ptxsim.machine.memory import SHARED_WINDOW, GlobalMemory
from ptxsim.machine.port import Port
from ptxsim.machine.state import Machine
from ptxsim.machine.tensor import from_words, to_words
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target

DATA = Path(__file__).parent.parent / "data" / "tensor_h200.npz"
TARGET = parse_target("sm_90a")
BASE = 0x400


def recorded() -> tuple[list[dict], dict[str, np.ndarray]]:
    """Forms recorded on an H200, one trial each, and their arrays."""
    arrays = dict(np.load(DATA))
    return json.loads(arrays.pop("forms").tobytes()), arrays


class Names:
    """Names by their letters: `%a0` is of the type given for `%a`."""

    def __init__(self, types: dict[str, str]):
        self.types = types

    def register_type(self, name: str) -> str | None:
        return self.types.get(name) or self.types.get(re.sub(r"\d+$", "", name))

    def variable_space(self, name: str) -> str | None:
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
        everything.freeze()
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
    sources = [operands.get(name) for name in definition.sources]
    return definition.effect(port, *sources, **{name: bound.modifiers.get(name) for name in definition.wants})


def registers(words: np.ndarray, kind: str) -> list[np.ndarray]:
    """Recorded words as lane values of registers of a type."""
    return from_words(words, kind)


def run(form: dict, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(result, recorded result) of a register or memory form, as words."""
    image = arrays[form["img"]] if "img" in form else np.zeros(4, np.uint32)
    ports = Ports(shared=image.nbytes, memory=image.nbytes)
    port = ports[0]
    types = {f"%{name}": kind for name, _, kind in form["ins"] + form["outs"]} | {"%ptr": "u64"}
    bound = bind(form["instr"], types)
    words, at = arrays.get(form.get("in")), 0
    operands: dict[str, object] = {}
    for name, count, kind in form["ins"]:
        size = count * (2 if kind == "f64" else 1)
        operands[name] = registers(words[at : at + size], kind)
        at += size
    memory = ports.memory if ".global" in form["instr"] else ports.shared
    memory[: image.nbytes] = image.view(np.uint8)
    if form["kind"] == "mem":
        _point(form, bound, ports, operands)
    elif form["family"] == "ldst":
        operands["a"] = operands["a"][0]
    if "e" in operands:
        operands |= {"e": operands["e"][0], "f": bound.operands["f"].value}
    results = call(bound, port, **operands)
    if form.get("dump"):
        return memory[: image.nbytes].view(np.uint32), arrays[form["out"]]
    return to_words(results if isinstance(results, list) else [results]), arrays[form["out"]]


def _point(form: dict, bound, ports: Ports, operands: dict[str, object]) -> None:
    """Give a memory form its address and stride; what it stores is operand b."""
    stored = next((registers for name, registers in operands.items() if name != "o"), None)
    generic = ".shared" not in form["instr"] and ".global" not in form["instr"]
    start = ports.address if ".global" in form["instr"] else BASE + (SHARED_WINDOW if generic else 0)
    if form["family"] == "ldst":
        address = operands["o"][0].astype(np.uint64) + np.uint64(start)
    else:
        address = np.full(32, start + 64, np.uint64)
        if "stride" in bound.operands:
            operands["stride"] = np.full(32, bound.operands["stride"].value, np.uint32)
    operands |= {"a": address, "b": stored}


def run_wgmma(form: dict, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(accumulators, recorded ones, findings) of a wgmma form, fenced, committed and waited for."""
    from ptxsim.machine import wgmma

    image, uniform, words = arrays[form["img"]], arrays[form["uni"]].astype(np.int64), arrays[form["in"]]
    ports = Ports(warps=4, shared=image.nbytes)
    ports.shared[: image.nbytes] = image.view(np.uint8)
    types = {f"%{name}": kind for name, _, kind in form["ins"] + form["outs"]}
    bound = bind(form["instr"], types | {"%da": "u64", "%db": "u64", "%sd": "pred", "%a": "b32", "%e": "b32"})
    count = form["outs"][0][1]
    fragment = len(re.findall(r"%a\d", form["instr"])) if form["registers"] else 0
    descriptors = [(uniform[i] | uniform[i + 1] << 32) + (BASE >> 4) for i in (0, 2)]
    slots = [[SimpleNamespace(slot=i) for i in part] for part in (range(count), range(count, count + fragment))]
    for port in ports:
        lanes = np.arange(32) + 32 * port.warp.index
        port.warp.registers = [words[i % 4][lanes].copy() for i in range(count)]
        port.warp.registers += [image[(uniform[5] + 512 * i) // 4 + lanes] for i in range(fragment)]
        port.op = SimpleNamespace(
            destinations=[SimpleNamespace(elements=slots[0])], sources=[SimpleNamespace(elements=slots[1])]
        )
        wgmma.fence(port)
    for port in ports:
        operands = {name: found.value for name, found in bound.operands.items() if hasattr(found, "value")}
        operands |= {
            "a": port.warp.registers[count:] if fragment else np.full(32, descriptors[0], np.uint64),
            "b": np.full(32, descriptors[1], np.uint64), "p": np.full(32, bool(uniform[4])),
        }  # fmt: skip
        if len(form["ins"]) > 1:
            operands["e"] = words[-1][np.arange(32) + 32 * port.warp.index]
        call(bound, port, **operands)
    for port in ports:
        wgmma.commit(port)
    for port in ports:
        wgmma.wait(port, 0)
    result = [np.stack([r.view(np.uint32) for r in port.warp.registers[:count]]) for port in ports]
    return np.concatenate(result, axis=1), arrays[form["out"]], ports.found

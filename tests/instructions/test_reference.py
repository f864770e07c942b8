"""Every scalar instruction against an independent reference, on both engines.

Random legal statements of all forms become kernels that load operands, execute and store; what the interpreter stores is
compared with the reference, and what the compiled engine stores with the interpreter's.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from ptxsim.instructions import load_families
from ptxsim.isa import registry
from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.operand import Either, Imm, Pred, Vec, resolve_type
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse_body
from ptxsim.types import TYPES, parse_target
from tests.helpers import ENGINES, launch
from tests.instructions import reference, reference_convert  # noqa: F401  (they fill the table)
from tests.instructions.reference_number import ANY_NAN, REFERENCES, is_nan, of
from tests.isa.generate import Generator, Names, every_form

load_families()

TARGET = "sm_90a"
LATER = ("sm_100a", "sm_120a")
VERSION = (9, 0)
MODULES = (
    "integer", "integer_product", "carry", "bit_field", "logic", "shift", "permute", "select", "compare", "extrema", "sign",
    "floating", "floating_half", "floating_double", "division", "dot_product", "move", "convert", "convert_packed",
)  # fmt: skip
# These have no reference here: the machine code's and the GPU's own results judge them (test_scalar_recorded.py,
# test_video.py, tests/numerics, golden/exhaustive.npz). The engines must agree on them all the same.
RECORDED = ("video", "transcendental")
OPERANDS = 5  # 64-bit words a statement can load; a vector takes several
RESULTS = 5
LANES = 32


def names_of(modules) -> list[str]:
    """Instructions with a form whose effect is one of these modules'."""
    return sorted({form.name for form in every_form() if module_of(form) in modules})


def module_of(form) -> str | None:
    effect = form.definition.effect
    return effect.__module__.rpartition(".")[2] if effect else None


def words(rng: np.random.Generator, rows: int) -> np.ndarray:
    """uint64 (rows, OPERANDS, LANES): anything, small numbers, extremes, floats near one; some operands are alike."""
    shape = (rows, OPERANDS, LANES)
    anything = rng.integers(0, 2**64, shape, dtype=np.uint64)
    edge = rng.choice(
        np.array([0, 1, 2, 31, 32, 0x7F, 0x80, 0x7FFF, 0x8000, 0x7FF7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, 2**64 - 1]
        + [0x7F800000, 0xFF800000, 0x7FC00001, 0x00400000, 0x7C00, 0xFC00, 0x7FF << 52, 0xFFF << 52, 0x3C003C00], np.uint64),
        shape,
    )  # fmt: skip
    small = rng.integers(0, 70, shape, dtype=np.uint64) - rng.integers(0, 2, shape, dtype=np.uint64) * np.uint64(35)
    single = (
        (rng.normal(size=shape) * 2.0 ** rng.integers(-8, 9, shape))
        .astype(np.float32)
        .view(np.uint32)
        .astype(np.uint64)
    )
    single = np.where(rng.random(shape) < 0.5, single & np.uint64(0xFFFF0000), single)
    double = (rng.normal(size=shape) * 2.0 ** rng.integers(-8, 9, shape)).view(np.uint64)
    half = (rng.normal(size=(*shape, 4)) * 2).astype(np.float16).view(np.uint64)[..., 0]
    mixed = np.choose(
        rng.integers(0, 7, shape), [anything, edge, small, single, double, half, single << np.uint64(32) | single]
    )
    mixed[:, 1] = np.where(rng.random(mixed[:, 1].shape) < 0.15, mixed[:, 0], mixed[:, 1])
    return mixed


# ---- statements as kernels ----


def leaves(operand) -> list:
    """Registers, negated or not, and literals of an operand."""
    match operand:
        case ast.Not(inner):
            return leaves(inner)
        case ast.Vector(elements=elements):
            return [leaf for element in elements for leaf in leaves(element)]
    return [operand]


def registers(operands) -> list[str]:
    return list(dict.fromkeys(leaf.name for o in operands for leaf in leaves(o) if isinstance(leaf, ast.Name)))


def width(name: str) -> int:
    declared = Names().register_type(name)
    return max(8, TYPES[declared].bits)


class Statement:
    """A bound statement; its source registers get the words of a row in order, its destinations go to a row of results."""

    def __init__(self, text: str, bound: Bound):
        self.text, self.bound = text, bound
        form = bound.form
        self.writes = [n for o in form.operands for n in (o.name, o.second) if n in form.writes and n in bound.operands]
        self.destinations = registers(bound.operands[n] for n in self.writes)
        self.sources = registers(bound.operands[n] for n in bound.definition.sources if n in bound.operands)
        self.carry = bound.definition.carry

    @property
    def usable(self) -> bool:
        fits = len(self.sources) <= OPERANDS and len(self.destinations) + 1 <= RESULTS
        return fits and all(width(name) <= 64 for name in (*self.sources, *self.destinations))

    def lines(self, row: int) -> list[str]:
        found = []
        for i, name in enumerate(self.sources):
            place = f"[%in+{8 * LANES * (row * OPERANDS + i)}]"
            if name.startswith("%p"):
                found += [f"ld.global.u16 %flag, {place};", f"and.b16 %flag, %flag, 1; setp.ne.u16 {name}, %flag, 0;"]
            else:
                found.append(f"ld.global.b{width(name)} {name}, {place};")
        if "r" in self.carry:  # the lowest bit of the last word
            place = f"[%in+{8 * LANES * (row * OPERANDS + OPERANDS - 1)}]"
            found += [f"ld.global.u32 %word, {place};", "and.b32 %word, %word, 1; add.cc.u32 %word, %word, 0xFFFFFFFF;"]
        found.append(self.text)
        if "w" in self.carry:
            found += ["addc.u32 %word, 0, 0;", f"st.global.u32 [%out+{self.place(row, RESULTS - 1)}], %word;"]
        for i, name in enumerate(self.destinations):
            if name.startswith("%p"):
                found += [f"selp.u32 %word, 1, 0, {name};", f"st.global.u32 [%out+{self.place(row, i)}], %word;"]
            else:
                found.append(f"st.global.b{width(name)} [%out+{self.place(row, i)}], {name};")
        return found

    def place(self, row: int, index: int) -> int:
        return 8 * LANES * (row * RESULTS + index)

    def expected(self, inputs: np.ndarray, lane: int) -> dict[int, int | object]:
        """Bits by index of the result, from a row's words (OPERANDS, LANES)."""
        bound = self.bound
        given = {name: int(inputs[i, lane]) for i, name in enumerate(self.sources)}
        m = (
            {"name": bound.form.name}
            | dict.fromkeys(registry.split_opcode(bound.statement.opcode)[1], True)
            | dict(bound.modifiers)
        )
        arguments = [
            self._read(bound.form.kinds.get(n), bound.operands.get(n), given)
            for n in bound.definition.sources
            if n != "carry"
        ]
        if "r" in self.carry:
            arguments.append(int(inputs[-1, lane]) & 1)
        result = REFERENCES[bound.form.name](m, *arguments)
        results = list(result) if isinstance(result, tuple) else [result]
        kinds = []
        for name in self.writes:
            kind, operand = bound.form.kinds[name], bound.operands[name]
            elements = operand.elements if isinstance(operand, ast.Vector) else (operand,)
            kinds += [(kind.element if isinstance(kind, Vec) else kind, element) for element in elements]
        found = {RESULTS - 1: results[len(kinds)] & 1} if "w" in self.carry else {}
        for (kind, operand), bits in zip(kinds, results):
            if isinstance(operand, ast.Name):
                index = self.destinations.index(operand.name)
                found[index] = bits if bits is ANY_NAN else self._stored(kind, operand.name, bits)
        return found

    def holds_nan(self, bits: int) -> bool:
        t = resolve_type(self.bound.form.kinds["d"].type, self.bound.modifiers)
        return is_nan(of(bits & (1 << t.bits) - 1, t))

    def _stored(self, kind, name: str, bits: int) -> int:
        if isinstance(kind, Pred):
            return int(bool(bits))
        t = resolve_type(kind.type, self.bound.modifiers)
        bits = int(bits) & (1 << t.bits) - 1
        if t.is_signed and bits >> t.bits - 1:
            bits -= 1 << t.bits
        return bits & (1 << width(name)) - 1

    def _read(self, kind, operand, given: dict[str, int]):
        if operand is None:
            return None
        if isinstance(operand, ast.Not):
            return not self._read(kind, operand.operand, given)
        if isinstance(kind, Either):
            kind = kind.kinds[0]
        if isinstance(kind, Vec):
            return [self._read(kind.of(i), e, given) for i, e in enumerate(operand.elements)]
        if isinstance(kind, Imm):
            return operand.value
        if isinstance(kind, Pred):
            return bool(operand.value) if isinstance(operand, ast.Integer) else bool(given[operand.name] & 1)
        t = resolve_type(kind.type, self.bound.modifiers)
        if t.kind == "predicate":
            return bool(given[operand.name] & 1)
        if isinstance(operand, ast.Float):
            number = np.array([operand.bits], np.uint64).view(np.float64)[0] if operand.width == 64 else None
            if number is None:
                number = np.array([operand.bits], np.uint32).view(np.float32)[0]
            return int(np.array([number]).astype(f"f{t.bits // 8}").view(f"u{t.bits // 8}")[0])
        word = operand.value if isinstance(operand, ast.Integer) else given[operand.name]
        return word & (1 << t.bits) - 1


def statements(modules, target: str, per_form: int, seed: int, but: str | None = None) -> list[Statement]:
    """So many of each form of the modules that the target has, and `but` has not."""
    rng = random.Random(seed)
    generator = Generator(parse_target(target), VERSION, rng)
    binder, found = Binder(parse_target(target), VERSION), []
    for form in every_form():
        if module_of(form) in modules and not (but and form.requires.on(parse_target(but))):
            for _ in range(per_form):
                text = generator.statement(form)
                bound = text and binder.bind(parse_body(text)[0], Names())
                if text and module_of(bound.form) in modules:
                    found.append(Statement(text, bound))
    return [s for s in found if s.usable]


def kernel(chosen: list[Statement], target: str) -> str:
    names = {name for s in chosen for name in (*s.sources, *s.destinations)}
    names |= {name for s in chosen for name in re.findall(r"%\\w+\\d", s.text)}
    declared = [f".reg .{Names().register_type(name)} {name};" for name in sorted(names)]
    body = [line for row, s in enumerate(chosen) for line in s.lines(row)]
    return "\n".join(
        [
            f".version {VERSION[0]}.{VERSION[1]}\n.target {target}\n.address_size 64",
            ".visible .entry k(.param .u64 in, .param .u64 out) {",
            *declared,
            ".reg .b64 %in, %out, %lane; .reg .b32 %word; .reg .b16 %flag;",
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];",
            "mov.u32 %word, %tid.x; mul.wide.u32 %lane, %word, 8;",
            "add.u64 %in, %in, %lane; add.u64 %out, %out, %lane;",
            *body,
            "ret; }",
        ]
    )


def stored(chosen: list[Statement], target: str, inputs: np.ndarray, engine: str) -> np.ndarray:
    """uint64 (statements, RESULTS, LANES)."""
    out = np.zeros((len(chosen), RESULTS, LANES), np.uint64)
    launch(kernel(chosen, target), [inputs, out], engine=engine, checks="none", on_error="raise")
    return out


def test_every_instruction_has_a_reference():
    assert set(names_of(MODULES)) == set(REFERENCES)


def compare(chosen: list[Statement], target: str) -> None:
    """Every lane of every statement with the reference, and the engines with each other."""
    chosen = [s for s in chosen if s.bound.modifiers.get("rounding") != "rs"]  # test_stochastic.py
    assert len(chosen) > 3
    inputs = words(np.random.default_rng(2), len(chosen))
    found = stored(chosen, target, inputs, "interpreter")
    wrong = []
    for row, statement in enumerate(chosen):
        for lane in range(LANES):
            for index, bits in statement.expected(inputs[row], lane).items():
                got = int(found[row, index, lane])
                if not statement.holds_nan(got) if bits is ANY_NAN else got != bits:
                    operands = " ".join(f"{int(w):x}" for w in inputs[row, : len(statement.sources) + 1, lane])
                    expected = "NaN" if bits is ANY_NAN else hex(bits)
                    wrong.append(f"{statement.text} of {operands}: {got:x}, the reference {expected}")
    assert not wrong, "\n".join(wrong[:40])
    assert np.array_equal(found, stored(chosen, target, inputs, "compiled"))


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "module",
    [pytest.param(m, marks=[pytest.mark.slow] * m.startswith(("convert", "compare", "floating_"))) for m in MODULES],
)
def test_as_the_reference_says(module):
    compare(statements((module,), TARGET, 6 if module.startswith("convert") else 4, seed=1), TARGET)


@pytest.mark.slow
@pytest.mark.parametrize("target", LATER)
def test_forms_of_later_targets(target):
    compare(statements(MODULES, target, 3, seed=1, but=TARGET), target)


@pytest.mark.slow
@pytest.mark.parametrize("module", RECORDED)
def test_engines_agree(module):
    chosen = statements((module,), TARGET, 3, seed=3)
    inputs = words(np.random.default_rng(4), len(chosen))
    interpreted, compiled = (stored(chosen, TARGET, inputs, engine) for engine in ENGINES)
    for row, statement in enumerate(chosen):
        assert np.array_equal(interpreted[row], compiled[row]), statement.text

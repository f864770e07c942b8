"""A shape, a type and a row format of ldmatrix that no GPU has, added as rows, run on both engines. A program of its own: the tables stay changed.

Prints, for each, how many results differ from those of plain Python integers.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import ptxsim
from ptxsim.instructions import mma
from ptxsim.layout.fragments import fragment_layout
from ptxsim.layout.tables import ROW_FORMATS, SHAPES, RowFormat
from ptxsim.numerics import parameters
from ptxsim.types import TYPES, ScalarType
from tests.helpers import ENGINES
from tests.numerics import reference

# ---- the rows ----

# An 8-bit float with 3 exponent and 4 fraction bits, no infinity: what it is, its shapes, its instruction, its arithmetic.
TYPES["e3m4"] = ScalarType("e3m4", "float", 8, exponent=3, mantissa=4, bias=3, finite=True)
SHAPES["mma"]["e3m4"] = ("m16n8k32",)
OF_A_TYPE = ("m16n8k32", "e3m4", "f32", "8.0 sm_90", "")
parameters.TABLE.insert(
    0, parameters.Row(90, 90, "mma", "e3m4", "*", "fused", 32, 25, parameters.HOPPER, source="made up")
)

# f16 with twice the K of the largest that there is; the arithmetic is that of every other shape.
SHAPES["mma"]["f16"] += ("m16n8k32",)
OF_A_SHAPE = ("m16n8k32", "f16", "f16 f32", "8.0 sm_90", "")

# Five bits of each element and 48 bits of padding.
ROW_FORMATS["b5x16_p48"] = RowFormat(5, frozenset(["u8"]))

for row in (OF_A_TYPE, OF_A_SHAPE):
    mma.declare_row(mma.modeled_by(mma.mma), mma.fragment_kinds("mma"), *row)

# ---- what they do ----

reference.FORMATS["e3m4"] = (3, 4, 3, False)
KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 A, .param .u64 B, .param .u64 D) {{
    .reg .b32 %r<40>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [A];
    ld.param.u64 %rd2, [B];
    ld.param.u64 %rd3, [D];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd4, %r0, 4;
    add.s64 %rd1, %rd1, %rd4;
    add.s64 %rd2, %rd2, %rd4;
    add.s64 %rd3, %rd3, %rd4;
    {loads}
    mov.f32 %f0, 0f3f800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    mma.sync.aligned.{shape}.row.col.f32.{type}.{type}.f32 {{%f0,%f1,%f2,%f3}}, {{{a}}}, {{{b}}}, {{%f0,%f1,%f2,%f3}};
    {stores}
    ret;
}}
"""


def run(shape: str, type: str, length: int, engine: str) -> int:
    """How many of 128 results differ."""
    fragments = [fragment_layout("mma", shape, operand, type if operand in "AB" else "f32") for operand in "ABD"]
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2**32, (f.words, 32), dtype=np.uint32) for f in fragments[:2])
    if type == "f16":  # finite
        a, b = a & 0xBFFFBFFF, b & 0xBFFFBFFF
    d = np.zeros((4, 32), np.float32)
    names = [[f"%r{first + i}" for i in range(f.words)] for f, first in zip(fragments, (1, 20))]
    loads = [f"ld.global.b32 {name}, [%rd{1 + i}+{128 * j}];" for i in range(2) for j, name in enumerate(names[i])]
    text = KERNEL.format(
        shape=shape, type=type, a=",".join(names[0]), b=",".join(names[1]), loads=" ".join(loads),
        stores=" ".join(f"st.global.f32 [%rd3+{128 * i}], %f{i};" for i in range(4)),
    )  # fmt: skip
    launched = ptxsim.Module.from_text(text).kernel("k").launch(1, 32, [a, b, d], engine=engine, checks="all")
    assert launched.fidelity["mma"] == ("modeled" if type == "e3m4" else "exact")
    a, b, d = (f.to_matrix(words.view(np.uint32)) for f, words in zip(fragments, (a, b, d)))
    one = int(np.float32(1).view(np.uint32))
    expected = [
        [reference.chain(list(map(int, row)), list(map(int, column)), one, type, type, "f32", length, 25, -133, "f32")
         for column in b.T]
        for row in a
    ]  # fmt: skip
    if type == "e3m4":  # and on whole matrices
        a, b = a.astype(np.uint8), b.astype(np.uint8)
        assert (ptxsim.execute(f"mma.{shape}.f32.{type}.{type}.f32", a, b, np.full((16, 8), one, np.uint32)) == d).all()
    return int((d != np.array(expected, np.uint32)).sum())


def rows(engine: str) -> int:
    """How many of the 128 bytes of a matrix of five-bit elements differ."""
    tile = np.random.default_rng(2).integers(0, 256, (8, 16), dtype=np.uint8)
    found = ptxsim.snippet(
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b5x16_p48 {%0}, [%1];",
        registers={"1": 0x400 + 16 * np.arange(32)}, shared=tile.ravel(), target="sm_120f", engine=engine,
    )  # fmt: skip
    numbers = [int.from_bytes(row.tobytes(), "little") for row in tile]
    expected = [[number >> 5 * column & 31 for column in range(16)] for number in numbers]
    lanes = found.registers["%0"].view(np.uint8).reshape(8, 16)
    return int((lanes != np.array(expected)).sum())


if __name__ == "__main__":
    for arguments in (("m16n8k32", "e3m4", 32), ("m16n8k32", "f16", 16)):
        print(*arguments[:2], *(run(*arguments, engine) for engine in ENGINES))
    print("b5x16_p48", *(rows(engine) for engine in ENGINES))

"""Layouts against recordings of an H200: one trial of every form (tests/data/layouts.npz, thinned; raw bits)."""

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.fragments import address_lanes, fragment_layout
from ptxsim.layout.sparsity import sparsity
from ptxsim.types import TYPES

DATA = np.load(Path(__file__).parent.parent / "data" / "layouts.npz")
ROWS = json.loads(str(DATA["rows"]))
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
          "f32": np.float32, "tf32": np.float32, "f64": np.float64}  # fmt: skip


def rows(suite):
    found = [(i, row["instr"]) for i, row in enumerate(ROWS) if row["suite"] == suite]
    return pytest.mark.parametrize(("index", "instr"), found, ids=[text.split(" ")[0] for _, text in found])


def values(codes, type_):
    if type_ in FLOATS:
        bits = TYPES[type_].bits
        return codes.astype(f"u{bits // 8}").view(FLOATS[type_]).astype(np.float64)
    signed, bits = codes.astype(np.int64), TYPES[type_].bits
    return np.where(signed >> (bits - 1) & 1, signed - (1 << bits), signed) if type_[0] == "s" else signed


def operands(index, registers):
    words, start = DATA[f"{index}.inputs"], 0
    for count in registers:
        yield words[start : start + count]
        start += count


def agree(product, magnitude, out, fragment, type_):
    if type_ == "s32":
        assert np.array_equal(fragment.from_matrix((product & 0xFFFFFFFF).astype(np.uint64)), out)
    else:
        # Rounding is not this test's subject: a swapped element is off by the size of the sum.
        assert (np.abs(values(fragment.to_matrix(out), type_) - product) <= 0.02 * magnitude).all()


def split(instr):
    parts = instr.split(" ")[0].split(".")
    return parts, next(part for part in parts if re.fullmatch(r"m\d+n\d+k\d+", part))


@rows("mma")
def test_mma(index, instr):
    parts, shape = split(instr)
    types = [part for part in parts if part in TYPES][-4:]
    layouts = (
        [part for part in parts if part in ("row", "col")] if shape == "m8n8k4" and types[1] == "f16" else [None] * 2
    )
    d = fragment_layout("mma", shape, "D", types[0])
    a, b, c = (fragment_layout("mma", shape, *pair) for pair in zip("ABC", types[1:], [*layouts, None]))
    x, y, z = (f.to_matrix(r) for f, r in zip((a, b, c), operands(index, (a.words, b.words, c.words))))
    x, y, z = values(x, types[1]), values(y, types[2]), values(z, types[3])
    product = (x[:, :, None] ^ y).sum(axis=1) + z if "xor" in parts else x @ y + z
    agree(product, np.abs(x) @ np.abs(y) + np.abs(z), DATA[f"{index}.out"], d, types[0])


@rows("mma_sp")
def test_sparse_mma(index, instr):
    parts, shape = split(instr)
    types = parts[-4:]
    d = fragment_layout("mma.sp", shape, "D", types[0])
    a, b, c = (fragment_layout("mma.sp", shape, *pair) for pair in zip("ABC", types[1:]))
    x, y, z, metadata = operands(index, (a.words, b.words, c.words, 1))
    selector = int(re.search(r",(\d);", instr)[1])
    storage = sparsity("mma.sp", shape, types[1])
    x = storage.expand(a.to_matrix(x), storage.columns(metadata[0], selector))
    x, y, z = values(x, types[1]), values(b.to_matrix(y), types[2]), values(c.to_matrix(z), types[3])
    agree(x @ y + z, np.abs(x) @ np.abs(y) + np.abs(z), DATA[f"{index}.out"], d, types[0])
    assert storage.problems(metadata[0], selector, ordered="ordered_metadata" in instr) == []


@rows("ldst")
def test_matrix_loads_stores_and_moves(index, instr):
    words, out = DATA[f"{index}.inputs"], DATA[f"{index}.out"]
    if instr.startswith("movmatrix"):
        a, d = (fragment_layout("movmatrix", "m8n8", operand, "b16") for operand in "AD")
        assert np.array_equal(d.from_matrix(a.to_matrix(words)), out)
        return
    shape = re.search(r"m8n8\.x\d", instr)[0]
    fragment = fragment_layout(instr.split(".")[0], shape, "D", "b16", "trans" if ".trans" in instr else None)
    memory = DATA[f"{index}.image"].copy().view(np.uint16)
    units = words[0][address_lanes(shape)][..., None] // 2 + np.arange(8)
    if instr.startswith("ldmatrix"):
        assert np.array_equal(fragment.from_matrix(memory[units]), out)
    else:
        memory[units] = fragment.to_matrix(words[1:])
        assert np.array_equal(memory.view(np.uint32), out)


@rows("wmma")
def test_wmma(index, instr):
    parts, shape = split(instr)
    out = DATA[f"{index}.out"]
    if parts[1] == "mma":
        at = parts.index("s32")
        types = [*parts[at + 1 : at + 3], "s32"]
        a, b, c = (fragment_layout("wmma", shape, *pair) for pair in zip("ABC", types))
        x, y, z = (
            values(f.to_matrix(r), t) for f, r, t in zip((a, b, c), operands(index, (a.words, b.words, c.words)), types)
        )
        product = (x[:, :, None] ^ y).sum(axis=1) + z if "xor" in parts else x @ y + z
        agree(product, None, out, c, "s32")
        return
    fragment = fragment_layout("wmma", shape, parts[2], parts[-1])
    row, column = np.indices(fragment.shape)
    by_row = "row" in parts
    given = re.search(r",(\d+);", instr)
    stride = int(given[1]) if given else fragment.shape[1 if by_row else 0]
    place = 64 * 8 + (row * stride + column if by_row else column * stride + row) * fragment.element_bits
    bits = np.arange(fragment.element_bits)
    if parts[1] == "load":
        memory = np.unpackbits(np.arange(4096, dtype=np.uint16).view(np.uint8), bitorder="little")
        codes = (memory[place[..., None] + bits].astype(np.uint64) << bits.astype(np.uint64)).sum(axis=-1)
        assert np.array_equal(fragment.from_matrix(codes), out)
    else:  # The recording holds the bits that the store flipped.
        image = DATA["wmma_image"]
        codes = fragment.to_matrix(DATA[f"{index}.inputs"]).astype(np.uint64)
        memory = np.unpackbits(image.view(np.uint8), bitorder="little")
        memory[place[..., None] + bits] = codes[..., None] >> bits.astype(np.uint64) & np.uint64(1)
        assert np.array_equal(np.packbits(memory, bitorder="little").view(np.uint32) ^ image, out)


@rows("probe")
def test_wgmma_descriptors(index, instr):
    """The image numbers its halfwords and the other operand is one-hot, so the result names the halfword fetched."""
    columns = int(re.search(r"n(\d+)k", instr)[1])
    which, major = re.search(r"#probe([AB])\.sw\d\.(K|MN)", instr).groups()
    fragment = fragment_layout("wgmma", f"m64n{columns}k16", "D", "f16")
    for uni, out in zip(DATA[f"{index}.uni"].astype(object), DATA[f"{index}.out"]):
        low, high = (uni[0], uni[1]) if which == "A" else (uni[2], uni[3])
        descriptor = Descriptor.decode((low | high << 32) + (0x400 >> 4))
        rows_ = 64 if which == "A" else columns
        unit = (descriptor.addresses(major, rows_, 16, 16) - 0x400) // 2
        code = np.where(unit + 1 < 0x7C00, unit + 1, 0x8001 + (unit + 1 - 0x7C00))
        result = fragment.to_matrix(out)
        row, column = np.indices(result.shape)
        expected = code[column, row % 16] if which == "B" else code[:, :16][:, column[0]]
        assert np.array_equal(result, expected), str(descriptor)

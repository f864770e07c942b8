import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.layout.fragments import fragment_layout
from ptxsim.layout.sparsity import sparsity
from ptxsim.layout.tables import SHAPES

FORMS = [
    (family, shape.replace("N", "8"), type_)
    for family in ("mma.sp", "wgmma.sp")
    for type_, shapes in SHAPES[family].items()
    for shape in shapes
]


def random_dense(storage, seed, per_group=None):
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 100, (storage.rows, storage.k), dtype=np.uint32)
    blocks = dense.reshape(storage.rows, -1, storage.group // storage.run, storage.run)
    order = rng.permuted(np.broadcast_to(np.arange(blocks.shape[2]), blocks.shape[:3]), axis=2)
    keep = blocks.shape[2] // 2 if per_group is None else per_group
    blocks *= (order < keep)[..., None].astype(np.uint32)
    return dense


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("per_group", [None, 0])
def test_compressed_matrices_expand_to_themselves(form, per_group):
    storage = sparsity(*form)
    for selector in range(storage.selectors):
        dense = random_dense(storage, selector, per_group)
        compressed, nibbles = storage.compress(dense)
        words = storage.words(nibbles, selector)
        assert storage.problems(words, selector, ordered=True) == []
        columns = storage.columns(words, selector)
        assert compressed.shape == columns.shape == (storage.rows, storage.k // 2)
        expanded = np.zeros_like(dense)
        np.put_along_axis(expanded, columns, compressed, axis=-1)
        assert np.array_equal(expanded, dense)


@given(seed=st.integers(0, 2**32 - 1))
def test_descending_pairs_pick_the_same_columns_turned_round(seed):
    storage = sparsity("mma.sp", "m16n8k32", "f16")
    _, nibbles = storage.compress(random_dense(storage, seed))
    turned = nibbles >> 2 | (nibbles & 3) << 2
    straight, crossed = storage.columns_of(nibbles), storage.columns_of(turned)
    assert np.array_equal(straight, crossed.reshape(16, -1, 2)[..., ::-1].reshape(16, -1))
    assert storage.problems(storage.words(turned)) == []
    assert len(storage.problems(storage.words(turned), ordered=True)) == nibbles.size


def test_who_supplies_what():
    words = np.zeros(32, dtype=np.uint32)
    words[5] = 0x0000_0004  # quad 1, lane 1
    half = sparsity("mma.sp", "m16n8k16", "f16")
    assert half.rows_of(words, 1)[1, 0] == 4 and half.rows_of(words, 0)[1, 0] == 0
    assert (half.lanes, half.selectors) == (1, 4)
    wide = sparsity("mma.sp", "m16n8k32", "f16")
    assert wide.rows_of(words, 0)[1, 4] == 4 and (wide.lanes, wide.selectors) == (2, 2)
    byte = sparsity("mma.sp", "m16n8k64", "s8")
    assert byte.rows_of(words, 0)[9, 0] == 4 and (byte.lanes, byte.selectors) == (4, 1)
    many = np.zeros((3, 128), dtype=np.uint32)
    many[2, 32 * 3 + 5] = 4 << 16
    assert sparsity("wgmma.sp", "m64n8k32", "bf16").rows_of(many, 0)[2, 48 + 9, 4] == 4


def test_tf32_keeps_one_of_two():
    storage = sparsity("mma.sp", "m16n8k8", "tf32")
    assert storage.columns_of(np.array([[4, 14, 4, 14]])).tolist() == [[0, 3, 4, 7]]
    words = storage.words(np.full((16, 4), 5))
    assert len(storage.problems(words)) == 64 and storage.problems(words)[0] == (0, 0, 5)


def test_four_bit_types_keep_pairs():
    storage = sparsity("mma.sp", "m16n8k64", "u4")
    assert storage.columns_of(np.array([[0 | 3 << 2]])).tolist() == [[0, 1, 6, 7]]


def test_what_cannot_be_is_refused():
    storage = sparsity("mma.sp", "m16n8k16", "f16")
    dense = np.zeros((16, 16), dtype=np.uint32)
    dense[5, 4:7] = 1
    with pytest.raises(PtxError, match=r"row 5 .* columns 4\.\.7"):
        storage.compress(dense)
    with pytest.raises(PtxError) as caught:
        storage.columns(np.zeros(32, dtype=np.uint32), 4)
    assert caught.value.findings[0].name == "sparse-metadata"
    with pytest.raises(PtxError):
        sparsity("mma.sp", "m16n8k8", "f16")


@pytest.mark.parametrize(("family", "shape", "type"), FORMS)
def test_the_metadata_is_a_fragment(family, shape, type):
    """(selector, row, group) of every nibble, as the recorded metadata is read."""
    storage, fragment = sparsity(family, shape, type), fragment_layout(family, shape, "E", type)
    words = np.random.default_rng(3).integers(0, 2**32, fragment.lanes, dtype=np.uint32)
    nibbles = fragment.to_matrix(words[None])
    assert fragment.registers == 1 and len(nibbles) == storage.selectors
    for selector in range(storage.selectors):
        assert np.array_equal(nibbles[selector], storage.rows_of(words, selector))

import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.layout.shared_layout import SharedLayout

# The manual's worked examples: layout, leading and stride offsets as encoded in the descriptor.
EXAMPLES = [
    (("K", "none", "tf32"), "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", 16, 8),
    (("K", "32B", "tf32"), "Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", 1, 16),
    (("MN", "none", "bf16"), "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", 16, 8),
    (("MN", "32B", "bf16"), "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", 16, 32),
    (("MN", "64B", "bf16"), "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", 32, 64),
]


@pytest.mark.parametrize(("words", "exact", "leading", "stride"), EXAMPLES, ids=[str(e[0]) for e in EXAMPLES])
def test_worked_examples(words, exact, leading, stride):
    layout = SharedLayout(*words, m=2, k=2)
    assert layout.cute() == exact
    raw = layout.descriptor(0x400).raw()
    assert (raw["start"], raw["leading"], raw["stride"]) == (0x40, leading, stride)
    explicit = SharedLayout(*words, leading=layout.leading, stride=layout.stride, m=2, k=2)
    assert explicit == layout and layout.leading == (None if leading == 1 else 16 * leading)


CANONICAL = {
    ("MN", "none"): "((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))",
    ("MN", "32B"): "((T,2,m),(8,k)):((1,T,LBO),(2T,SBO))",
    ("MN", "64B"): "((T,4,m),(8,k)):((1,T,LBO),(4T,SBO))",
    ("MN", "128B"): "((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))",
    ("K", "none"): "((8,m),(T,2k)):((1T,SBO),(1,LBO))",
    ("K", "32B"): "((8,m),(T,2k)):((2T,SBO),(1,T))",
    ("K", "64B"): "((8,m),(T,2k)):((4T,SBO),(1,T))",
    ("K", "128B"): "((8,m),(T,2k)):((8T,SBO),(1,T))",
}


def cute_offset(text, row, column):
    """Element offset that a printed layout gives, read from its text alone."""
    shape, stride = text.split(" o ")[1].split(":")
    total = 0
    for index, sizes, steps in zip((row, column), eval(shape), eval(stride)):
        for size, step in zip(sizes, steps):
            total += index % size * step
            index //= size
    bits = int(text[len("Swizzle<")])
    return total, bits


@pytest.mark.thin(5)
@pytest.mark.parametrize("words", CANONICAL, ids=str)
@pytest.mark.parametrize("type_", ["tf32", "bf16", "s8"])
def test_canonical_layouts_text_and_offsets_agree(words, type_):
    layout = SharedLayout(*words, type_, m=3, k=1)
    bits = {"none": 0, "32B": 1, "64B": 2, "128B": 3}[words[1]]
    assert layout.canonical == f"Swizzle<{bits},4,3> o {CANONICAL[words]}"
    for row in range(layout.shape[0]):
        for column in range(layout.shape[1]):
            elements, mode = cute_offset(layout.cute(), row, column)
            address = elements * layout.bits // 8
            address ^= (address >> 7 & (1 << mode) - 1) << 4
            assert layout.offset(row, column) == address
    read = layout.descriptor(0x400).addresses(words[0], *layout.shape, layout.bits)
    assert np.array_equal(read - 0x400, layout.offsets)


ATOMS = {
    ("128B", "MN"): (8, 8), ("128B", "K"): (8, 8), ("64B", "MN"): (4, 8), ("64B", "K"): (8, 4),
    ("32B", "MN"): (2, 8), ("32B", "K"): (8, 2), ("none", "MN"): (1, 8), ("none", "K"): (8, 1),
}  # fmt: skip


@pytest.mark.parametrize("key", ATOMS, ids=str)
def test_swizzle_atoms(key):
    mode, major = key
    layout = SharedLayout(major, mode, "bf16")
    assert layout.atom_units == ATOMS[key]
    rows, columns = ATOMS[key]
    assert layout.atom == ((rows, columns * 8) if major == "K" else (rows * 8, columns))


def test_the_manuals_tf32_atom():
    assert SharedLayout("MN", "128B", "tf32").atom == (32, 8)
    assert SharedLayout("K", "128B", "tf32").atom == (8, 32)


def test_refusals():
    for words in (("M", "none", "f16"), ("K", "16B", "f16"), ("K", "none", "f17"), ("K", "none", "e3m2")):
        with pytest.raises(PtxError):
            SharedLayout(*words)
    for tile in ({"m": 1 << 35}, {"k": 0}, {"m": -1}):
        with pytest.raises(PtxError):
            SharedLayout("K", "128B", "f16", **tile)
    with pytest.raises(PtxError) as caught:
        SharedLayout("K", "128B", "f16").offset(8, 0)
    assert caught.value.findings[0].name == "descriptor-past-tile"


@pytest.mark.parametrize(
    ("operand", "major", "letter"), [("A", "K", "T"), ("A", "MN", "N"), ("B", "K", "N"), ("B", "MN", "T")]
)
def test_majorness_against_blas(operand, major, letter):
    """BLAS reads column-major arrays: with N the operand's first dimension lies next to each other, with T the second."""
    tile = SharedLayout(major=major, swizzle="none", type="bf16")
    neighbour_in_k = tile.offset(0, 1) - tile.offset(0, 0) == 2
    first_is_k = operand == "B"  # A is M x K, B is K x N
    assert neighbour_in_k == (first_is_k if letter == "N" else not first_is_k)

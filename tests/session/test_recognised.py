"""What a failed expectation recognises in a wrong result: layouts, swizzles, steps, that rows have changed places."""

import numpy as np
import pytest

from ptxsim import arrays
from ptxsim.session.ptxfile.expectations import check_comparison, parse_comparison
from tests.session.comparison import check, product


def test_a_failure_says_where_and_what_the_wrong_ones_share():
    a, b, d = product("f16", (64, 64, 16))
    d[8:16] += 1
    d[24:32] += 1
    d[40:48] += 1
    d[56:64] += 1
    (finding,) = check("D == A @ B.T", A=a, B=b, D=d)
    assert finding.name == "expectation-failed" and finding.level == "error"
    assert "D[8,0] is " in finding.message and "expected" in finding.message
    assert finding.notes[0] == "2048 of 4096 elements are wrong, exactly those with row bit 3 set"


def test_a_transposed_result_is_recognised():
    a = arrays.ramp((8, 8), "f32")
    (finding,) = check("D == A", A=a, D=a.T.copy())
    assert finding.notes[-1].startswith("D is the transpose of what is expected")
    (finding,) = check("D == A", A=a, B=a, D=-a)
    assert "with the other sign" in finding.notes[-1]


def test_rows_and_columns_that_have_changed_places_are_named():
    a = arrays.ramp((32, 16), "f32")

    def last_note(d):
        return check("D == A", A=a, D=np.ascontiguousarray(d))[0].notes[-1]

    assert "columns 0 to 7 and 8 to 15 have changed places" in last_note(a[:, np.arange(16) ^ 8])
    assert "rows 0 and 1 have changed places, and so on: row i holds row i ^ 1" in last_note(a[np.arange(32) ^ 1])
    one = np.arange(32)
    one[[16, 20]] = 20, 16
    assert "rows 16 to 19" not in last_note(a[one]) and "row 16 holds row 20, row 20 holds row 16" in last_note(a[one])
    assert "the rows are in reverse order" in last_note(a[::-1])
    turned = a.reshape(4, 8, 2, 8).transpose(0, 3, 2, 1).reshape(a.shape)
    assert "in each 8x8 matrix rows and columns have changed places" in last_note(turned)
    i, j = np.indices(a.shape)  # lane i of 8 rows taken for i % 8, where it is i / 4
    lane, one = (i & 7) << 2 | j >> 1 & 3, j & 1
    moved = a[i & ~7 | lane & 7, j & ~7 | lane >> 3 << 1 | one]
    assert "[1,0] holds [4,0], [2,0] holds [0,2]" in last_note(moved)
    wide = arrays.ramp((16, 64), "f32")
    row, column = np.indices(wide.shape)
    (found,) = check("D == A", A=wide, D=wide[row, column ^ row % 8 * 8])
    assert "at p ^ (r % 8) on one side, not swizzled on the other" in found.notes[-1]
    assert "row 0 holds row 3" in last_note(np.roll(a, -3, 0))


@pytest.mark.parametrize("expression", ["A @ B.T", "A @ B.T + 1", "2 * (A @ B.T)"])
def test_a_factor_that_was_read_otherwise_is_named(expression):
    a, b, _ = product("f16")
    wide_a, wide_b = a.astype("f8"), b.astype("f8")

    def notes(left, right):
        d = (left @ right).astype("f4")
        d = d + 1 if "+" in expression else 2 * d if "2" in expression else d
        return " ".join(check(f"D == {expression}", A=a, B=b, D=d)[0].notes)

    assert "the other layout of B.T" in notes(wide_a, wide_b.reshape(wide_b.shape[::-1]))
    assert "the other layout of A" in notes(wide_a.ravel().reshape(wide_a.shape, order="F"), wide_b.T)
    k = np.arange(16)
    assert "columns i and i ^ 8 of A change places (or those rows of B.T)" in notes(wide_a[:, k ^ 8], wide_b.T)
    assert "columns i and i ^ 2 of A" in notes(wide_a, wide_b.T[k ^ 2])
    tile = wide_a.copy()
    tile[:8, 8:], tile[8:, :8] = wide_a[8:, :8], wide_a[:8, 8:]
    assert "16x16 tile of A the 8x8 matrices beside the diagonal" in notes(tile, wide_b.T)
    blocks = wide_b.reshape(-1, 8, wide_b.shape[1] // 8, 8).transpose(0, 3, 2, 1).reshape(wide_b.shape)
    assert "in each 8x8 matrix of B.T rows and columns change places" in notes(wide_a, blocks.T)
    assert "columns of A whose bits 0 and 3 differ" in notes(wide_a[:, k ^ ((k ^ k >> 3) & 1) * 9], wide_b.T)
    turned = (
        k >> 3 << 3 | k >> 2 & 1 | (k & 3) << 1
    )  # filled as if a register held rows t and t + 4, where it holds 2t and 2t + 1
    told = notes(wide_a[:, turned], wide_b.T)
    assert "rows 0 1 2 3 ... of B.T are multiplied by columns 0 2 4 6 1 3 5 7 ... of A" in told
    i, j = np.indices(wide_a.shape)
    one = (i >> 2 ^ j >> 1) & 1
    assert "row bit 2 and column bit 1 differ, elements of A" in notes(wide_a[i ^ one << 2, j ^ one << 1], wide_b.T)
    assert "that is the result" not in notes(wide_a + 1, wide_b.T)


@pytest.mark.parametrize("type, taken", [("bf16", "f16"), ("f16", "bf16"), ("e5m2", "e4m3"), ("s8", "u8")])
def test_factors_that_an_instruction_takes_for_another_type_are_named(type, taken):
    a, b, _ = product(type)
    other_a, other_b = (x.view(arrays.dtype_of(taken)).astype("f8") for x in (a, b))

    def last_note(left, right):
        return check("D == A @ B.T", A=a, B=b, D=(left @ right.T).astype("f4"))[0].notes[-1]

    both = f"takes A, of {type}, as {taken} and B.T, of {type}, as {taken}: look at the types"
    assert both in last_note(other_a, other_b)
    assert f"takes A, of {type}, as {taken}: look" in last_note(other_a, b.astype("f8"))
    assert f"takes B.T, of {type}, as {taken}: look" in last_note(a.astype("f8"), other_b)


def test_a_tile_that_is_stored_with_one_swizzle_and_read_with_another_is_named():
    a, b = arrays.ints((32, 64), "f16", 3), arrays.ints((16, 64), "f16", 4)

    def tile(matrix, stored, read, size=8):
        r = np.arange(len(matrix))
        return matrix[r[:, None], np.arange(matrix.shape[1]) ^ size * (stored(r) ^ read(r))[:, None]].astype("f8")

    def note(left, right):
        return check("D == A @ B.T", A=a, B=b, D=(left @ right.T).astype("f4"))[0].notes[-1]

    wide, narrow, half = (lambda r: r % 8), (lambda r: r % 4), (lambda r: r // 2 % 4)
    assert "of A is stored" in note(tile(a, wide, narrow), b.astype("f8"))
    assert "p ^ (r % 4) on one side, at p ^ (r % 8) on the other" in note(tile(a, wide, narrow), b.astype("f8"))
    assert "of B.T is stored" in note(a.astype("f8"), tile(b, half, lambda r: 0 * r))
    assert "of A and of B.T is stored" in note(tile(a, wide, half), tile(b, wide, half))
    assert "that is the result" not in note(a.astype("f8") + 1, b.astype("f8"))
    d = (tile(a, wide, narrow)[:, :16] @ b[:, :16].T.astype("f8")).astype("f4")
    (found,) = check("D == A[:, :16] @ B[:, :16].T", A=a, B=b, D=d)
    assert "of A is stored" in found.notes[-1]


def test_other_steps_along_k_are_named():
    a, b = arrays.ints((32, 64), "f16", 3).astype("f8"), arrays.ints((16, 64), "f16", 4).astype("f8")
    k = np.arange(64)

    def note(left, right):
        return check("D == A @ B.T", A=a.astype("f2"), B=b.astype("f2"), D=(left @ right.T).astype("f4"))[0].notes[-1]

    assert "rows 16 17 ... of B.T are multiplied by columns 0 1 ... of A" in note(a, b[:, (k + 16) % 64])
    assert "rows 48 49 ... of B.T" in note(a[:, (k + 16) % 64], b)
    assert "columns of A and rows of B.T the first 16 are taken again and again" in note(a[:, k % 16], b[:, k % 16])
    assert "of the rows of B.T the first 32 are taken again" in note(a, b[:, k % 32])
    both = k // 16 * 8 + k % 16
    assert "each 16 begin only 8 after the 16 before" in note(a[:, both], b[:, both])


def test_products_within_functions_are_tried_without_changing_what_is_expected():
    a, b = arrays.ints((16, 16), "f16", 3), arrays.ints((16, 16), "f16", 4)
    (found,) = check("D == f16(A[0:8] @ B.T) + f16(A[8:16] @ B.T)", A=a, B=b, D=np.ones((8, 16), "f4"))
    assert found.name == "expectation-failed"


def test_layouts_are_named_within_a_tolerance():
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(16, 16)).astype("f2"), draw.normal(size=(8, 16)).astype("f2")
    noise = 1 + draw.normal(size=(16, 8)) * 1e-4

    def notes(d):
        return " ".join(check("D == A @ B.T rtol=1e-3 atol=1e-3", A=a, B=b, D=(d * noise).astype("f4"))[0].notes)

    wide_a, wide_b = a.astype("f8"), b.astype("f8")
    right, k, (i, j) = wide_a @ wide_b.T, np.arange(16), np.indices((16, 8))
    assert "columns i and i ^ 8 of A" in notes(wide_a[:, k ^ 8] @ wide_b.T)
    assert "rows 0 and 1 have changed places" in notes(right[k ^ 1])
    one = (i >> 3 ^ j) & 1
    assert "[0,1] and [8,0] have changed places" in notes(right[i ^ one << 3, j ^ one])
    assert "changed places" not in notes(right + 1)


def test_a_permuted_a_constant_and_an_empty_result_are_recognised():
    a = arrays.ramp(64, "f32")
    assert "other places" in check("D == A", A=a, D=a[::-1].copy())[0].notes[-1]
    assert "all zeros" in check("D == A", A=a, D=a * 0)[0].notes[-1]
    names = {"A": a, "D": a * 0}
    stored = check_comparison(parse_comparison("D == A"), names, writer=lambda name, index: "stored at line 4")
    assert stored[0].notes[-1] == "D is all zeros: zeros were stored"
    assert "every element of D is 3" in check("D == A", A=a, D=a * 0 + 3)[0].notes[-1]

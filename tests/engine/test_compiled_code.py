"""The object store, the self-test, code for other CPUs, threads, and what is emitted for definitions."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim import lanes
from ptxsim.diagnostic import PtxError
from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.value import Value, kind_of_dtype
from ptxsim.engine.compiled.library import Library, library
from ptxsim.engine.compiled.run import selftest
from ptxsim.engine.compiled.tensor.dot import toward_zero
from ptxsim.jit.compiler import ATTRIBUTES, Abilities, Jit
from ptxsim.jit.store import ObjectStore
from ptxsim.types import TYPES
from tests.engine.programs import Writer, body, compare, outcome, run
from tests.helpers import launch, plain

# ---- the store ----


def test_objects_come_back(tmp_path):
    ObjectStore(tmp_path).put("key", b"code" * 100)
    assert ObjectStore(tmp_path).get("key") == b"code" * 100
    assert ObjectStore(tmp_path).get("other") is None


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:-3] + b"xyz", lambda data: b"\0" + data]
)
def test_a_damaged_object_counts_as_missing(tmp_path, damage):
    store = ObjectStore(tmp_path)
    store.put("key", b"code" * 100)
    path = store.folder / "key"
    path.write_bytes(damage(path.read_bytes()))
    assert ObjectStore(tmp_path).get("key") is None


def test_an_unwritable_folder_falls_back_to_memory(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("no folder")
    store = ObjectStore(blocker)
    assert store.folder is None
    store.put("key", b"code")
    assert store.get("key") == b"code"


def test_the_store_keeps_to_a_number_of_objects(tmp_path):
    for number in range(40):
        # Every process looks once, and then at every 32nd object.
        ObjectStore(tmp_path, most=5).put(str(number), b"small")
    assert len(list((tmp_path / "objects").iterdir())) == 5


def test_the_store_is_bounded(tmp_path):
    store = ObjectStore(tmp_path, limit=5000)
    for i in range(66):
        store.put(f"key{i}", bytes(1000))
        os.utime(store.folder / f"key{i}", (i, i))
    left = [path.name for path in store.folder.iterdir()]
    assert sum(path.stat().st_size for path in store.folder.iterdir()) < 5000 + 32 * 1100
    assert "key0" not in left and "key65" in left


# ---- trust ----


def test_the_self_test_passes():
    assert selftest._compare() is None


def test_a_crashed_self_test_refuses(tmp_path, monkeypatch):
    native = Library(Jit(store=ObjectStore(tmp_path)))
    monkeypatch.setattr("ptxsim.engine.compiled.library.library", lambda: native)
    mark = native.jit.store.folder / f"{native.jit.key('self-test', selftest.KERNEL)}.test"
    mark.write_text("999999999")  # a process that lives no more
    assert "died" in selftest.refusal.__wrapped__()
    mark.unlink()
    assert selftest.refusal.__wrapped__() is None
    assert mark.read_text() == "passed"


def test_a_refused_engine_gives_way(monkeypatch):
    monkeypatch.setattr(selftest, "refusal", lambda: "it is Sunday")
    text = "\n.version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n    ret;\n}\n"
    with pytest.warns(RuntimeWarning, match="Sunday"):
        assert launch(text, [np.zeros(1)]).engine == "interpreter"
    with pytest.raises(PtxError, match="Sunday"):
        launch(text, [np.zeros(1)], engine="compiled")


def test_a_mark_cut_short_is_no_verdict(tmp_path, monkeypatch):
    native = Library(Jit(store=ObjectStore(tmp_path)))
    monkeypatch.setattr("ptxsim.engine.compiled.library.library", lambda: native)
    (native.jit.store.folder / f"{native.jit.key('self-test', selftest.KERNEL)}.test").write_text("")
    assert selftest.refusal.__wrapped__() is None


def test_what_is_compiled_can_be_shown(monkeypatch, capsys):
    monkeypatch.setenv("PTXSIM_DUMP", "ir")
    run(Writer(int.from_bytes(os.urandom(4), "little")).text(), "compiled")
    assert "define i32 @kernel_" in capsys.readouterr().err


# ---- other code, more threads ----


@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
def test_code_for_other_cpus(monkeypatch, cpu):
    from ptxsim.engine.compiled.run import engine

    monkeypatch.setattr(engine, "library", lambda: library(cpu))
    for seed in (3, 4):
        compare(Writer(seed).text())


@pytest.mark.parametrize("seed", [1, 2])
def test_threads_change_nothing(seed):
    text = Writer(seed).text().replace("%clock", "%tid.y")
    one, three = (plain(outcome(text, "compiled", grid=9, jobs=jobs)) for jobs in (1, 3))
    assert one == three


def test_a_fault_on_threads_is_the_first_ctas():
    fault = "setp.gt.u32 %p2, %r1, 2; mov.u32 %r4, 1; st.global.u32 [%d0], %r4; @%p2 ld.global.u32 %r4, [%d0+1];"
    one, three = (plain(outcome(body(fault), "compiled", grid=8, jobs=jobs)) for jobs in (1, 3))
    assert one == three
    assert run(body(fault), "compiled", grid=8, jobs=3)[1].findings[0].cta == (3, 0, 0)


# ---- operations of ptxsim.lanes, emitted against numpy ----

U32, S32, U64, S64, F32, F64, F16, BF16 = (TYPES[n] for n in ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16"))
TABLE = np.arange(100, 164, dtype=np.uint32)
CASES = [
    *((lambda a, b, c, f=f: f(a, b), (t, t, t)) for t in (U32, S32, U64, S64) for f in (lanes.minimum, lanes.maximum, lanes.divide, lanes.multiply_high)),
    *((lambda a, b, c: lanes.shift_left(a, b & 127) ^ lanes.shift_right(a, b & 127), (t, t, t)) for t in (U32, S32, U64, S64)),
    *((lambda a, b, c, n=n: lanes.shift_left(a, n) ^ lanes.shift_right(b, n), (t, t, t)) for t in (U32, S32, U64, S64) for n in (3, 32, 64)),
    *((lambda a, b, c, f=f: f(a), (t, t, t)) for t in (U32, U64) for f in (lanes.count_leading_zeros, lanes.population_count, lanes.reverse_bits)),
    *((lambda a, b, c, t=t: lanes.float_to_int(lanes.round_to_integral(a, "rz"), t), (s, s, s)) for s in (F32, F64) for t in (U32, S32, S64)),
    *((lambda a, b, c: lanes.where(a == a, a * b + c, b), (t, t, t)) for t in (F32, F64, F16, BF16)),
    *((lambda a, b, c: lanes.cast(lanes.where((a < b) | (a >= c), 1, 0), "u32"), (t, t, t)) for t in (F32, F16, BF16, S32)),
    *((lambda a, b, c, t=t: lanes.cast(a, t), (s, s, s)) for s, t in ((F32, F64), (F16, F32), (BF16, F32), (S32, F64), (U64, F32), (S64, F64), (S32, S64))),
    (lambda a, b, c: lanes.lookup(TABLE, a & 63) + lanes.permute(b, [*range(31, -1, -1)]), (U32, U32, U32)),
    (lambda a, b, c: lanes.fma(a, b, c), (F32, F32, F32)),
    (lambda a, b, c: lanes.where(a < b, 0.5, 1.0), (F32, F32, F32)),
    (lambda a, b, c: lanes.absolute(a) + -b, (S32, S32, S32)),
]  # fmt: skip


def operand(t, random: np.random.Generator) -> np.ndarray:
    """Random bits, with numbers of ordinary size and special ones among them."""
    word = (
        random.integers(0, 1 << t.bits, 32, dtype=np.uint64, endpoint=False)
        if t.bits < 64
        else random.integers(0, 2**64, 32, dtype=np.uint64)
    )
    word[::5] &= 0xFF
    word[1] = 0
    sign = 1 << t.bits - 1
    word[2:7] = (
        sign,
        sign - 1,
        sign + 1,
        2 * sign - 1,
        t.bits,
    )  # the smallest and the largest number, the sizes of shifts
    values = word.astype(f"u{t.bytes}").view(lanes.dtype(t))
    if t.is_float:
        values[::3] = random.normal(size=11).astype(lanes.dtype(t))
        values[10:14] = np.inf, -np.inf, np.nan, -0.0
    return values


def emitted(effect, operands: list[np.ndarray], native: Library, tag: str) -> np.ndarray:
    """What the emitted form of an effect computes."""
    import ctypes

    module = Module(native.jit.abilities)
    e = Emitter(module)
    values = []
    for i, array in enumerate(operands):
        kind = kind_of_dtype(array.dtype)
        values.append(Value(e, e.let(f"load {e.vector(kind)}, ptr %p{i}, align 1"), kind))
    result = effect(*values)
    e.line(f"  store {result.type} {result.text}, ptr %out, align 1")
    name = f"test_{tag}"
    body = f"define void @{name}({', '.join(f'ptr %p{i}' for i in range(len(operands)))}, ptr %out) #0 {{\n"
    text = "\n".join(
        [module.text(), body, *e.stack_slots, *e.lines, "  ret void", "}", f"attributes #0 = {ATTRIBUTES}"]
    )
    tables = {table: np.ascontiguousarray(content) for table, content in module.tables.items()}
    for table, content in tables.items():
        native.jit.publish(table, content.ctypes.data)
    native.jit.load(native.jit.key(text), lambda: text)
    out = np.zeros(32, np.uint64)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(operands) + 1))(native.jit.address(name))
    function(*(array.ctypes.data for array in operands), out.ctypes.data)
    return out


@pytest.mark.thin(5)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_emitted_operations(number):
    effect, kinds = CASES[number]
    random = np.random.default_rng(number)
    native = library()
    operands = [operand(t, random) for t in kinds]
    with np.errstate(all="ignore"):
        expected = np.asarray(effect(*operands))
    found = (
        emitted(effect, operands, native, f"{number}_{os.getpid()}")
        .view(np.uint8)[: expected.nbytes]
        .view(expected.dtype)
    )
    same = (found == expected) | ((found != found) & (expected != expected))
    assert same.all(), [(o[~same], found[~same], expected[~same]) for o in operands]


def test_indices_beyond_a_table_read_its_last_entry():
    """Lanes that do not execute may hold any."""
    index = np.arange(32, dtype=np.uint32) * 9
    found = emitted(lambda a: lanes.lookup(TABLE, a), [index], library(), f"lookup_{os.getpid()}").view(np.uint32)[:32]
    assert (found == TABLE[np.minimum(index, 63)]).all()


def test_sums_become_singles_toward_zero():
    powers = 2 ** np.arange(31)
    near = np.concatenate([powers + off for off in (-3, -2, -1, 0, 1, 2, 3)])
    some = np.random.default_rng(1).integers(-(2**31), 2**31, 512 - 2 * len(near) - 1)
    numbers = np.concatenate([near, -near, some, [-(2**31)]]).clip(-(2**31), 2**31 - 1).astype(np.int32)
    for row in numbers.reshape(-1, 32):
        name = f"toward_zero_{os.getpid()}"
        found = emitted(lambda a: toward_zero(a.emitter, a), [row], library(), name).view(np.float32)[:32]
        bits = np.frexp(np.abs(row.astype(np.float64)))[1]
        unit = 2.0 ** np.maximum(bits - 24, 0)
        assert (found == np.trunc(row / unit) * unit).all()


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("u8", 0, 255), ("s8", -128, 127), ("u64", 0, 2**64 - 1), ("s64", -(2**63), 2**63 - 1)]
)
def test_numbers_beside_values_fit_their_kind(kind, least, most):
    e = Emitter(Module(Abilities()))
    like = Value(e, "%x", kind)
    for number in {least, most, -1, 1}:  # -1 is all bits
        assert e.lift(number, like).text == f"splat (i{kind[1:]} {number})"
    for number in (least - 1, most + 1) if least else (most + 1, -2):
        with pytest.raises(OverflowError, match="does not fit"):
            e.lift(number, like)
    with pytest.raises(OverflowError, match="does not fit"):
        e.lift(np.int64(-2), Value(e, "%x", "u32"))


def test_other_scalars_beside_values():
    e = Emitter(Module(Abilities()))
    assert (
        e.lift(np.True_, Value(e, "%x", "pred")).text == e.lift(True, Value(e, "%x", "pred")).text == "splat (i1 true)"
    )
    assert e.lift(np.float32(2), Value(e, "%x", "f32")).text == e.lift(2, Value(e, "%x", "f32")).text
    assert e.lift(np.uint8(2), Value(e, "%x", "u32")).text == "splat (i32 2)"


@settings(max_examples=20, deadline=None)
@given(st.binary(min_size=0, max_size=64))
def test_anything_fits_the_store(data):
    store = ObjectStore("")
    store.put("key", data)
    assert store.get("key") == data

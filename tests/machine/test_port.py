"""Loads, stores and atomics: where they land, what they refuse, what they tell observers."""

import numpy as np
import pytest

from ptxsim import lanes as vocabulary
from ptxsim.machine.event import Event, Space
from ptxsim.machine.fault import Converge, Fault
from ptxsim.machine.memory import ARENA_HIGH, FIRST, LOCAL_WINDOW, RANK_SHIFT, SHARED_RESERVED, SHARED_WINDOW
from ptxsim.types import TYPES
from tests.machine.bench import LANE, Bench, lanes

U32 = TYPES["u32"]
SHARED = np.uint64(SHARED_RESERVED)


def test_store_then_load_every_width():
    for name in ("u8", "s16", "u32", "f32", "u64", "f64", "bf16"):
        bench, t = Bench(), TYPES[name]
        port = bench.port()
        values = LANE.astype(np.float32 if t.is_float else np.uint32).astype(vocabulary.dtype(t))
        address = bench.address(offsets=LANE * t.bytes)
        port.store("global", address, [values], t)
        (back,) = port.load("global", address, t)
        assert back.dtype == values.dtype
        np.testing.assert_array_equal(back, values)


def test_vector_elements_are_neighbours():
    bench = Bench()
    port = bench.port()
    columns = [LANE + 100 * i for i in range(4)]
    address = bench.address(offsets=LANE * 16)
    port.store("global", address, columns, U32)
    words = bench.bytes()[: 32 * 16].view(np.uint32).reshape(32, 4)
    np.testing.assert_array_equal(words, np.stack(columns, axis=1))
    for column, back in zip(columns, port.load(None, address, U32, 4)):
        np.testing.assert_array_equal(back, column)


def test_inactive_lanes_touch_nothing_and_may_hold_any_address():
    bench = Bench()
    mask = LANE % 2 == 0
    port = bench.port(mask=mask)
    address = np.where(mask, bench.address(offsets=LANE * 4), np.uint64(3))
    port.store("global", address, [lanes(7)], U32)
    np.testing.assert_array_equal(bench.bytes()[:128].view(np.uint32), np.where(mask, 7, 0))
    assert not port.load("global", address, U32)[0][~mask].any()


@pytest.mark.parametrize(("words", "lane"), [(1, 0), (2, 16), (4, 24)])
def test_the_lowest_lane_of_the_last_part_wins_a_conflicting_store(words, lane):
    bench = Bench()
    bench.port().store("global", bench.address(), [LANE] * words, U32)
    assert bench.bytes()[: 4 * words].view(np.uint32).tolist() == [lane] * words


@pytest.mark.parametrize(
    ("offset", "name"), [(4094, "misaligned-address"), (4096, "out-of-bounds"), (1 << 46, "out-of-bounds")]
)
def test_global_faults(offset, name):
    bench = Bench()
    with pytest.raises(Fault) as fault:
        bench.port().load("global", bench.address(offsets=offset), U32)
    assert fault.value.name == name


def test_spaces_that_do_not_match():
    bench = Bench(allocations=(("buffer", 64, "global"), ("table", 64, "const"), ("arguments", 64, "param")))
    port = bench.port()
    for space, name in (("param", "buffer"), ("const", "buffer"), ("global", "arguments")):
        with pytest.raises(Fault) as fault:
            port.load(space, bench.address(name), U32)
        assert fault.value.name == "wrong-space"
    with pytest.raises(Fault) as fault:
        port.store(None, bench.address("table"), [lanes(1)], U32)
    assert fault.value.name == "read-only-write"
    with pytest.raises(Fault) as fault:
        port.load("global", lanes(SHARED_WINDOW + SHARED_RESERVED, np.uint64), U32)
    assert fault.value.name == "wrong-space"
    with pytest.raises(Fault, match=f"{FIRST:#x}, a global address: byte 0 of buffer") as fault:
        port.load("shared", bench.address(), U32)
    assert fault.value.name == "wrong-space"
    with pytest.raises(Fault, match="made it of an address in buffer") as fault:
        port.load("shared", bench.address() - np.uint64(SHARED_WINDOW), U32)
    assert fault.value.name == "wrong-space"


def test_shared_addresses_after_a_variable_name_it():
    port = Bench().port()
    port.machine.shared_variables = {"second": (SHARED_RESERVED + 64, 16), "first": (SHARED_RESERVED, 64)}
    end = port.cta.shared_bytes
    for address, words in (
        (end, f"{end - SHARED_RESERVED - 80} bytes after second"),
        (1 << 20, "after second"),
        (0, "0x0;"),
    ):
        with pytest.raises(Fault, match=words):
            port.load("shared", lanes(address, np.uint64), U32)


@pytest.mark.parametrize("space", ["global", None])
@pytest.mark.parametrize(
    ("address", "words"),
    [
        (8, "a null pointer and an offset"),
        (SHARED_RESERVED, "a shared address as it stands"),
        (1 << 20, "no address of a buffer"),
        (FIRST - ARENA_HIGH, "the lower half of an address in buffer"),
        (FIRST + 4096, "right after the end of buffer"),
        (FIRST + 4104, "8 bytes after the end of buffer"),
        (FIRST - 4, "4 bytes before buffer"),
    ],
)
def test_an_address_in_no_buffer_is_reported_what_it_may_be(space, address, words):
    with pytest.raises(Fault, match=words) as fault:
        Bench().port().load(space, lanes(address, np.uint64), U32)
    assert fault.value.name == "out-of-bounds" and fault.value.help


def test_one_generic_access_may_touch_three_spaces():
    bench = Bench()
    port = bench.port()
    shared = np.uint64(SHARED_WINDOW + SHARED_RESERVED) + LANE * np.uint64(4)
    address = np.where(LANE < 10, bench.address(offsets=LANE * 4), np.where(LANE < 20, shared, np.uint64(LOCAL_WINDOW)))
    port.store(None, address, [LANE + 1], U32)
    np.testing.assert_array_equal(bench.bytes()[:40].view(np.uint32), np.arange(1, 11))
    np.testing.assert_array_equal(
        bench.ctas[0].shared[SHARED_RESERVED + 40 : SHARED_RESERVED + 80].view(np.uint32), np.arange(11, 21)
    )
    np.testing.assert_array_equal(port.load("local", lanes(0, np.uint64), U32)[0][20:], np.arange(21, 33))
    assert {int(space) for space in bench.events(Event.STORE)["space"]} == {Space.GLOBAL, Space.SHARED, Space.LOCAL}


def test_local_memory_is_each_lanes_own():
    port = Bench().port()
    port.store("local", lanes(8, np.uint64), [LANE], U32)
    np.testing.assert_array_equal(port.load("local", lanes(8, np.uint64), U32)[0], LANE)


def test_local_bounds():
    with pytest.raises(Fault) as fault:
        Bench(local=64).port().load("local", lanes(64, np.uint64), U32)
    assert fault.value.name == "out-of-bounds"


def test_shared_bounds_and_the_reserved_bytes():
    port = Bench(shared=64).port()
    port.load("shared", lanes(SHARED_RESERVED + 60, np.uint64), U32)
    for at in (SHARED_RESERVED + 64, SHARED_RESERVED - 4):
        with pytest.raises(Fault) as fault:
            port.load("shared", lanes(at, np.uint64), U32)
        assert fault.value.name == "out-of-bounds"


def test_an_address_names_its_cta_by_rank():
    bench = Bench(ctas=2)
    for rank, value in ((1, 5), (0, 6)):
        named = lanes(rank << RANK_SHIFT | SHARED_RESERVED, np.uint64)
        bench.port(cta=1).store("shared::cluster", named, [lanes(value)], U32)
        assert bench.ctas[rank].shared[SHARED_RESERVED] == value
    assert list(bench.events(Event.STORE)["addresses"][:, 0]) == [SHARED_RESERVED | 1 << RANK_SHIFT, SHARED_RESERVED]
    with pytest.raises(Fault):
        bench.port().load("shared::cluster", lanes((2 << RANK_SHIFT) | SHARED_RESERVED, np.uint64), U32)


def test_atomics_on_one_address_take_turns():
    bench = Bench()
    port = bench.port()
    (old,) = port.atomic("global", bench.address(), U32, lambda old, b: old + b, [lanes(2)])
    np.testing.assert_array_equal(old, 2 * LANE)
    assert bench.bytes()[:4].view(np.uint32)[0] == 64


def test_vector_and_wide_atomics():
    bench = Bench()
    port = bench.port()
    address = bench.address(offsets=LANE * 8)
    port.atomic("global", address, U32, lambda old, b: old + b, [[LANE, LANE * 10]], 2)
    words = bench.bytes()[:256].view(np.uint32).reshape(32, 2)
    np.testing.assert_array_equal(words, np.stack([LANE, LANE * 10], axis=1))
    wide = bench.address(offsets=1024 + LANE * 16)
    low, high = LANE.astype(np.uint64), LANE.astype(np.uint64) << np.uint64(40)
    port.atomic("global", wide, TYPES["b128"], lambda old, b: b, [[low, high]])
    ((old_low, old_high),) = port.atomic("global", wide, TYPES["b128"], lambda old, b: b, [[high, low]])
    np.testing.assert_array_equal(old_low, low)
    np.testing.assert_array_equal(old_high, high)
    np.testing.assert_array_equal(bench.bytes()[1024:1536].view(np.uint64).reshape(32, 2)[:, 0], high)


def test_converge_waits_for_members_that_are_elsewhere():
    port = Bench().port(mask=LANE < 16)
    assert port.converge(lanes(0xFFFF)) is None
    found = port.converge(lanes(0xFFFFFFFF))
    assert isinstance(found, Converge)
    assert found.lanes.all()


def test_converge_takes_groups_of_lanes_with_masks_of_their_own():
    port = Bench().port()
    assert port.converge(np.where(LANE < 16, 0xFFFF, 0xFFFF0000).astype(np.uint32)) is None


def test_converge_does_not_wait_for_lanes_that_have_exited():
    port = Bench(threads=20).port()
    assert port.converge(lanes(0xFFFFFFFF)) is None


@pytest.mark.parametrize("masks", [lanes(0xFFFFFFFE), np.where(LANE == 3, 8, 0xFFFFFFFF).astype(np.uint32)])
def test_converge_refuses_strangers_and_disagreement(masks):
    with pytest.raises(Fault) as fault:
        Bench().port().converge(masks)
    assert fault.value.name == "member-mask"

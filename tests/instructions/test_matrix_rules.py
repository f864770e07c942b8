"""What the matrix instructions refuse or warn of."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine.fault import Fault
from ptxsim.machine.matrix_rows import unpack_row
from ptxsim.machine.product import from_words
from tests.instructions.tensor_form import BASE, Ports, bind, call

TYPES = {"%r": "b32", "%f": "f32", "%p": "u64", "%s": "u32", "%h": "b16"}
LANES = np.arange(32)


def ldmatrix(addresses, count: int = 4, shared: int = 1024):
    ports = Ports(shared=shared)
    ports.shared.view(np.uint16)[:] = np.arange(shared // 2)
    names = ",".join(f"%r{i}" for i in range(count))
    bound = bind(f"ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {{{names}}}, [%p0];", TYPES)
    return call(bound, ports[0], a=np.asarray(addresses, np.uint64))


def test_ldmatrix_names_the_lane_that_supplies_no_row():
    addresses = BASE + 16 * LANES
    addresses[17] = 0
    with pytest.raises(Fault, match="lane 17 must supply the address of row 1 of matrix 2") as caught:
        ldmatrix(addresses)
    assert caught.value.name == "ldmatrix-row-address" and caught.value.lane == 17


def test_ldmatrix_ignores_lanes_beyond_its_rows():
    addresses = BASE + 16 * LANES
    addresses[16:] = 7
    first, second = ldmatrix(addresses, 2)
    assert (first == 2 * LANES + (2 * LANES + 1 << 16)).all() and (second == first + 64 + (64 << 16)).all()


def test_ldmatrix_rows_start_at_multiples_of_16():
    with pytest.raises(Fault) as caught:
        ldmatrix(BASE + 16 * LANES + 8)
    assert caught.value.name == "misaligned-address"


def test_packed_rows_give_one_element_a_byte():
    row = np.arange(16, dtype=np.uint8)
    nibbles = unpack_row(row[None], 4)[0]
    assert (nibbles[0::2] == row[:8] & 15).all() and (nibbles[1::2] == row[:8] >> 4).all()
    number = int.from_bytes(row.tobytes(), "little")
    assert (unpack_row(row[None], 6)[0] == [number >> 6 * i & 63 for i in range(16)]).all()


def wmma_load(
    shape="m16n16k16", operand="a", type="f16", space="shared", stride=None, offset=0, layout="row", ports=None
):
    ports = ports or Ports(shared=8192, memory=8192)
    memory, start = (ports.shared, BASE) if space == "shared" else (ports.memory, ports.address)
    memory.view(np.uint16)[:4096] = np.arange(4096)
    count = fragment_layout("wmma", shape, operand.upper(), type).registers
    name = "%f" if type == "f32" else "%r"
    names = ",".join(f"{name}{i}" for i in range(count))
    text = f"wmma.load.{operand}.sync.aligned.{layout}.{shape}.{space}.{type} {{{names}}}, [%p0]"
    bound = bind(f"{text}{'' if stride is None else ', %s0'};", TYPES)
    given = {} if stride is None else {"stride": np.full(32, stride, np.uint32)}
    result = call(bound, ports[0], a=np.full(32, start + offset, np.uint64), **given)
    return result, ports


@pytest.mark.parametrize("stride", [17, 18, 20])
def test_wmma_in_shared_memory_faults_where_rows_are_not_multiples_of_16(stride):
    with pytest.raises(Fault, match="row 1 starts at") as caught:
        wmma_load(stride=stride)
    assert caught.value.name == "misaligned-address"
    assert f"stride is 16 elements, the next above {stride} is 24" in caught.value.help


def test_wmma_in_global_memory_drops_half_a_word_of_odd_strides():
    (words, *_), ports = wmma_load(space="global", stride=17)
    assert ports.found == ["wmma-alignment"]
    assert words[4] == 16 + (17 << 16)  # row 1 is read from element 16, not 17


@pytest.mark.parametrize(("stride", "found"), [(None, []), (16, []), (32, []), (24, ["wmma-alignment"])])
def test_wmma_warns_where_only_the_manual_is_broken(stride, found):
    assert wmma_load(stride=stride)[1].found == found


def test_wmma_default_strides_are_never_warned_of():
    assert wmma_load(shape="m8n32k16", layout="col")[1].found == []


def test_wmma_stride_below_the_default():
    assert "wmma-stride-too-small" in wmma_load(operand="c", type="f32", stride=8)[1].found


def wmma_mma(ports, a, b, c, shape="m16n16k16", layouts="row.col"):
    counts = (len(a), len(b), len(c))
    braces = [",".join(f"%{letter}{i}" for i in range(n)) for letter, n in zip("rrf", counts)]
    text = f"wmma.mma.sync.aligned.{layouts}.{shape}.f32.f32 {{{braces[2]}}}, {{{braces[0]}}}, {{{braces[1]}}}, {{{braces[2]}}};"
    return call(bind(text, TYPES), ports[0], a=a, b=b, c=c)


def test_wmma_fragments_are_used_as_what_they_were_loaded_as():
    a, ports = wmma_load()
    b, _ = wmma_load(operand="b", layout="col", offset=512, ports=ports)
    c, _ = wmma_load(operand="c", type="f32", offset=1024, ports=ports)
    d = wmma_mma(ports, a, b, c)
    wmma_mma(ports, a, b, d)
    assert ports.found == []
    wmma_mma(ports, b, a, d)
    assert ports.found == ["fragment-mismatch"] * 2
    del ports.found[:]
    wmma_mma(ports, a, b, d, layouts="col.col")
    assert ports.found == ["fragment-mismatch"]


def test_constants_are_no_fragment():
    zeros, ports = [np.zeros(32, np.uint32)] * 8, Ports()
    wmma_mma(ports, zeros, zeros, [np.zeros(32, np.float32)] * 8)
    assert ports.found == []


def sparse(metadata, selector=0, ordered=False, shape="m16n8k32"):
    name = "sp::ordered_metadata" if ordered else "sp"
    text = (
        f"mma.{name}.sync.aligned.{shape}.row.col.f32.f16.f16.f32 {{%f0,%f1,%f2,%f3}}, {{%r0,%r1,%r2,%r3}}, "
        f"{{%r4,%r5,%r6,%r7}}, {{%f4,%f5,%f6,%f7}}, %r8, {selector};"
    )
    ports = Ports()
    words, floats = [np.zeros(32, np.uint32)] * 4, [np.zeros(32, np.float32)] * 4
    call(bind(text, TYPES), ports[0], a=words, b=words, c=floats, e=np.full(32, metadata, np.uint32), f=selector)
    return ports.found


def test_sparse_metadata_that_names_one_element_twice():
    assert sparse(0x44444444) == []
    assert sparse(0x44444440) == ["sparse-metadata"]


def test_unordered_metadata_may_descend():
    assert sparse(0x11111111) == []
    assert sparse(0x11111111, ordered=True) == ["sparse-metadata"]


def test_selectors_that_the_gpu_refuses():
    with pytest.raises(Fault) as caught:
        sparse(0x44444444, selector=2)
    assert caught.value.name == "illegal-instruction"


def test_block_scales_come_from_the_selected_lanes_and_bytes():
    rng = np.random.default_rng(1)
    text = (
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
        "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3}, %r6, {2, 1}, %r7, {1, 3};"
    )
    a, b = np.full((4, 32), 0x38383838, np.uint32), np.full((2, 32), 0x38383838, np.uint32)  # ones
    sa, sb = (rng.integers(0x78, 0x88, (32, 4)).astype(np.uint8) for _ in "ab")
    ports = Ports(target="sm_120a")
    d = call(
        bind(text, TYPES, "sm_120a"), ports[0], a=list(a), b=list(b), c=from_words(np.zeros((4, 32), np.uint32), "f32"),
        sa=sa.view(np.uint32)[:, 0], ia=[2, 1], sb=sb.view(np.uint32)[:, 0], ib=[1, 3],
    )  # fmt: skip
    matrix = fragment_layout("mma", "m16n8k32", "D", "f32").to_matrix(np.stack(d).view(np.uint32)).view(np.float32)
    rows = np.array([sa[4 * (m % 8) + 2 + m // 8, 2] for m in range(16)], float)
    columns = np.array([sb[4 * n + 3, 1] for n in range(8)], float)
    assert (matrix == 32 * 2.0 ** (rows[:, None] - 127 + columns - 127)).all()


def test_four_bit_floats_sit_in_the_middle_of_their_bytes():
    text = (
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
        "{%r4,%r5}, {%f0,%f1,%f2,%f3};"
    )
    ports = Ports(target="sm_120a")
    one = np.full(32, (0x2 << 2) * 0x01010101, np.uint32)
    d = call(
        bind(text, TYPES, "sm_120a"), ports[0], a=[one] * 4, b=[np.full(32, 0x38383838, np.uint32)] * 2,
        c=[np.zeros(32, np.float32)] * 4,
    )  # fmt: skip
    assert (np.stack(d) == 32).all()

"""Native wgmma against the interpreter: every kind of product, pipelines, and what is under way when Python takes over."""

import numpy as np
import pytest

import ptxsim
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.run.cta_runner import NativeCluster
from ptxsim.engine.compiled.runtime.warpgroups import TILES
from ptxsim.engine.compiled.tensor.tiles import pieces
from ptxsim.machine.tile import Tile
from tests.helpers import facts, launch, names, same_on_both

SHARED = 65536
HEAD = """.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry k(.param .u64 src, .param .u64 out) {{
    .reg .{type} d<{n}>, e<{n}>; .reg .b32 a<4>, t<12>, m; .reg .b64 r<6>, da, db; .reg .pred p, q;
    ld.param.u64 r0, [src]; ld.param.u64 r1, [out];
    mov.u32 t0, %tid.x; mov.u32 t4, %ntid.x; mov.u32 t1, tiles; mov.u32 t2, t0; mov.u32 t7, 0;
FILL:
    mul.wide.u32 r2, t2, 4; add.u64 r3, r0, r2; ld.global.b32 t3, [r3];
    shl.b32 t5, t2, 2; add.u32 t6, t1, t5; st.shared.b32 [t6], t3;
    add.u32 t2, t2, t4; setp.lt.u32 q, t2, 16384; @q bra FILL;
    bar.sync 0;
    fence.proxy.async;
    setp.ne.b32 p, 1, 0; shr.u32 t8, t0, 5;
    mul.wide.u32 r2, t0, 16; add.u64 r3, r0, r2; ld.global.v4.b32 {{a0, a1, a2, a3}}, [r3]; ld.global.b32 m, [r3+32768];
    mov.u64 da, {a}; mov.u64 db, {b};
"""


def head(n: int, kind: str = "f32", a: int = 0, b: int = 0, names: str = "de") -> str:
    registers = n // 4 if kind == "f16" else n // 2
    text = HEAD.format(type="b32" if kind == "f16" else kind, n=registers, a=hex(a), b=hex(b))
    for name in names:
        lines = (
            f"mul.wide.u32 r2, t0, 4; add.u64 r3, r0, r2; ld.global.b32 {name}{i}, [r3+{512 * i}];"
            for i in range(registers)
        )
        text += "".join(f"    {line}\n" for line in lines).replace("b32", "b32" if kind == "f16" else kind)
    return text


def tail(n: int, kind: str = "f32", names: str = "de") -> str:
    registers = n // 4 if kind == "f16" else n // 2
    stored = "b32" if kind == "f16" else kind
    text = ""
    for place, name in enumerate(names):
        for i in range(registers):
            text += f"    mul.wide.u32 r2, t0, {8 * registers}; add.u64 r3, r1, r2; "
            text += f"st.global.{stored} [r3+{4 * (place * registers + i)}], {name}{i};\n"
    return text + "    ret;\n}\n"


def registers(name: str, n: int, kind: str = "f32") -> str:
    return "{" + ", ".join(f"{name}{i}" for i in range(n // 4 if kind == "f16" else n // 2)) + "}"


def descriptor(start: int, swizzle: str = "128B", leading: int = 16, stride: int = 1024) -> int:
    return ptxsim.Descriptor(start=start, leading=leading, stride=stride, swizzle=swizzle).encode()


def check_alike(text: str, data: np.ndarray, block: int = 128, **options) -> list[str]:
    """Assert that both engines do the same; the names of the findings."""

    def outcome(engine: str) -> tuple:
        out = np.zeros(block * 256, np.uint32)
        run = launch(text, [data.copy(), out], block=block, shared_mem=SHARED, engine=engine, **options)
        return out, facts(run), names(run.findings)

    return same_on_both(outcome)[-1]


def numbers(rng: np.random.Generator, random: bool) -> np.ndarray:
    data = rng.integers(0, 2**32, 32768, dtype=np.uint32)
    return data if random else data & np.uint32(0xBFBFBFBF) | np.uint32(0x30303030)


# K, types of D, A and B, what follows scale-d with both descriptors.
PRODUCTS = [
    (16, "f32", "f16", "f16", ", 1, 1, 0, 0"),
    (16, "f16", "f16", "f16", ", -1, 1, 1, 1"),
    (16, "f32", "bf16", "bf16", ", 1, -1, 0, 1"),
    (8, "f32", "tf32", "tf32", ", 1, 1"),
    (32, "f32", "e4m3", "e5m2", ", 1, -1"),
    (32, "f16", "e5m2", "e5m2", ", 1, 1"),
    (32, "s32", "s8", "u8", ""),
]


@pytest.mark.parametrize("sparse", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["dense", "sparse"])
@pytest.mark.parametrize("source", ["registers", pytest.param("shared", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "k, d, a, b, after", [PRODUCTS[0], *(pytest.param(*p, marks=pytest.mark.slow) for p in PRODUCTS[1:])], ids=str
)
def test_products_equal_the_interpreters(k, d, a, b, after, source, sparse, slow_path):
    rng = np.random.default_rng([k, source == "shared", sparse])
    if source == "registers" and after.count(",") > 2:
        after = after.rpartition(",")[0]
    opcode = f"wgmma.mma_async{'.sp' * sparse}.sync.aligned.m64n{{n}}k{k * (1 + sparse)}.{d}.{a}.{b}"
    for n, swizzle in zip((8, 48), rng.permutation(["none", "32B", "64B", "128B"])):
        steps = (16 * int(rng.integers(1, 40)) for _ in range(4))
        tiles = [
            descriptor(0x400 + 1024 * int(rng.integers(4)), str(swizzle), next(steps), next(steps)) for _ in range(2)
        ]
        product = (
            f"{opcode.format(n=n)} {registers('d', n, d)}, {'{a0, a1, a2, a3}' if source == 'registers' else 'da'}, db"
            f"{', m, 0' * sparse}, p{after};\n"
        )
        text = (
            head(n, d, *tiles, names="d") + "wgmma.fence.sync.aligned;\n"
            # The first product leaves out what D was, the second adds to the first.
            + f"setp.ne.u32 p, 0, 0;\n{product}setp.eq.u32 p, 0, 0;\n{product}"
            + "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" + tail(n, d, "d")
        )  # fmt: skip
        for random in (True, False):
            data = numbers(rng, random)
            if sparse:
                legal = [4, 14] if a == "tf32" else [4, 8, 12, 9, 13, 14]
                nibbles = rng.choice(np.array(legal, np.uint32), (4096, 8)) << np.arange(0, 32, 4, np.uint32)
                data[8192 : 8192 + 4096] = nibbles.sum(1)
            assert check_alike(text, data, checks="none") == []
    assert slow_path == {}


@pytest.fixture
def handed(monkeypatch):
    """How often a CTA went on in Python."""
    found, hand_over = [], NativeCluster._hand_over

    def noted(self):
        found.append(self.at)
        return hand_over(self)

    monkeypatch.setattr(NativeCluster, "_hand_over", noted)
    return found


FENCE, COMMIT = "wgmma.fence.sync.aligned;\n", "wgmma.commit_group.sync.aligned;\n"


def product(name: str, n: int = 16) -> str:
    return f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {registers(name, n)}, da, db, p, 1, 1, 0, 0;\n"


def wait(pending: int) -> str:
    return f"wgmma.wait_group.sync.aligned {pending};\n"


WRITE = "add.u32 t9, t1, t5; st.shared.b32 [t1], t0;\n"  # into the tile: what is read late sees it
# A service: lanes wait for others of their warp, which native code leaves to the interpreter; it has the CTA until no product is in flight.
SERVICE = (  # lanes that wait for others within a block are Python's
    "bra TEST; SYNC: mov.u32 t11, 0; bar.warp.sync -1; bra ON; "
    "TEST: mov.u32 t11, %laneid; setp.lt.u32 q, t11, 7; @q bra SYNC; add.u32 t11, t11, 1; bra SYNC; ON:\n"
)
LOOP = "ROUND{i}: bar.sync 0; add.u32 t7, t7, 1; setp.lt.u32 q, t7, {rounds}; @q bra ROUND{i};\n"

PROGRAMS = {
    "a pipeline of two": (
        FENCE + product("d") + COMMIT + "AGAIN:\n" + product("e") + COMMIT + wait(1) + "mov.b32 t10, t7;\n" + product("d") + COMMIT
        + wait(1) + "add.u32 t7, t7, 1; setp.lt.u32 q, t7, 5; @q bra AGAIN;\n" + wait(0)
    ),
    "read as late as the wait": FENCE + product("d") + COMMIT + WRITE + wait(0),
    "read when it may wait no longer": (
        FENCE + product("d") + COMMIT + LOOP.format(i=1, rounds=400) + WRITE + LOOP.format(i=2, rounds=700) + wait(0)
    ),
    "never waited for": FENCE + product("e") + COMMIT + product("e") + "ret;\n",
    "python takes over a product under way": FENCE + product("d") + COMMIT + SERVICE + WRITE + wait(0),
    "python takes over two groups and a loose one": (
        FENCE + product("d") + COMMIT + product("e") + COMMIT + product("e") + SERVICE + wait(1) + COMMIT + wait(0)
    ),
    "python gives products under way back": (
        FENCE + product("d") + COMMIT + SERVICE + product("e") + COMMIT + LOOP.format(i=1, rounds=60) + wait(1) + product("d") + COMMIT
        + WRITE + wait(0)
    ),
    "python takes over while warps gather": (
        FENCE + "setp.ne.u32 q, t8, 2; @q bra OVER;\n" + SERVICE + "OVER:\n" + product("d") + COMMIT + wait(0)
    ),
    "an empty group": FENCE + COMMIT + product("d") + COMMIT + wait(1) + wait(0),
    "more products than are remembered": FENCE + 140 * product("d") + COMMIT + WRITE + wait(0),
    "more groups than products are remembered": FENCE + 140 * (product("d") + COMMIT) + wait(1) + wait(0),
    "python takes over more products than are remembered": FENCE + 140 * product("d") + COMMIT + SERVICE + WRITE + wait(0),
}  # fmt: skip
BROKEN = {
    "no commit": (FENCE + product("d") + wait(0), ["missing-commit"]),
    "no fence": (product("d") + COMMIT + wait(0), ["missing-wgmma-fence"]),
    "touched": (FENCE + product("d") + COMMIT + "add.f32 d0, d0, d0;\n" + wait(0), ["register-in-flight"]),
    "tile outside": (
        f"mov.u64 da, {descriptor(0x400, stride=16 * 16383):#x};\n" + FENCE + product("d") + COMMIT + wait(0), ["out-of-bounds"],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("block", [128, pytest.param(256, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_the_same_natively(name, block, slow_path, handed):
    text = head(16, "f32", descriptor(0x400), descriptor(0x2400)) + PROGRAMS[name] + tail(16)
    data = numbers(np.random.default_rng(1), False)
    assert check_alike(text, data, block=block, checks="none") == []
    assert [reason for reason in slow_path.values() if "wgmma" in reason] == []
    assert bool(handed) == ("python" in name)


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", BROKEN)
def test_breaches_are_reported_all_the_same(name):
    body, findings = BROKEN[name]
    text = head(16, "f32", descriptor(0x400), descriptor(0x2400)) + body + tail(16)
    assert check_alike(text, numbers(np.random.default_rng(1), False), checks="memory") == findings


@pytest.mark.slow
@pytest.mark.parametrize("k, a, selector", [(32, "f16", 1), (16, "tf32", 0), (64, "e4m3", 0)])
def test_metadata_that_means_nothing_does_the_same(k, a, selector):
    sparse = (
        f"wgmma.mma_async.sp.sync.aligned.m64n16k{k}.f32.{a}.{a} {registers('d', 16)}, da, db, m, {selector}, p, 1, 1"
    )
    sparse += ", 0, 0;\n" if a == "f16" else ";\n"
    for metadata in ("0", "t3"):
        body = f"mov.b32 m, {metadata};\n" + FENCE + sparse + COMMIT + wait(0)
        text = head(16, "f32", descriptor(0x400), descriptor(0x2400)) + body + tail(16)
        for checks, found in (("none", []), ("memory", ["sparse-metadata"])):
            assert check_alike(text, numbers(np.random.default_rng(1), False), checks=checks) == found


@pytest.mark.thin(4)
@pytest.mark.parametrize("negate", ["", "!"])
@pytest.mark.parametrize("threads", [0, 128])
def test_a_product_on_one_way_excuses_no_write_on_another(negate, threads):
    """Registers in flight need no fence, but only where they are in flight whatever way the program came."""
    ways = (product("d") + COMMIT, "add.f32 d0, d0, d1;\n")
    for first, second in (ways, ways[::-1]):
        body = (
            FENCE + f"setp.lt.u32 q, t0, {threads}; @{negate}q bra OTHER;\n" + first + "bra BOTH;\nOTHER:\n" + second + "BOTH:\n"
            + product("d") + COMMIT + wait(0)
        )  # fmt: skip
        text = head(16, "f32", descriptor(0x400), descriptor(0x2400)) + body + tail(16)
        taken = second if (threads == 128) != (negate == "!") else first
        expected = ["missing-wgmma-fence"] if "add" in taken else []
        assert check_alike(text, numbers(np.random.default_rng(1), False), checks="memory") == expected


def test_tiles_of_a_cta_that_python_took_over(handed):
    """The first CTA has known tiles when Python takes over; the second one meets so many that theirs are forgotten."""
    text = (
        head(16, "f32", descriptor(0x400, "none"), descriptor(0x2400, "none")) + FENCE
        + "mov.u32 t9, %ctaid.x; setp.eq.u32 q, t9, 1; selp.b32 t10, 2200, 90, q; selp.b32 t11, 100, 0, q;\n"
        + "AGAIN: add.u32 t2, t7, t11; shl.b32 t2, t2, 16; cvt.u64.u32 r4, t2; add.u64 r5, db, r4;\n"
        + product("d").replace("db", "r5") + COMMIT + wait(0) + "add.u32 t7, t7, 1; setp.lt.u32 q, t7, t10; @q bra AGAIN;\n"
        + "setp.ne.u32 q, t9, 0; @q bra DONE;\n" + SERVICE
        + "DONE: mul.lo.u32 t9, t9, 8192; cvt.u64.u32 r4, t9; add.u64 r1, r1, r4;\n" + tail(16)
    )  # fmt: skip
    data, out = numbers(np.random.default_rng(1), False), np.zeros((4, 2048), np.uint32)
    launch(text, [data, out], 4, 128, shared_mem=SHARED, engine="compiled", jobs=1, checks="none")
    assert set(handed) == {0}
    assert out[0].any() and (out[2:] == out[0]).all()


@pytest.mark.slow
def test_more_tiles_than_are_remembered():
    """Every CTA meets descriptors of its own."""
    text = (
        head(16, "f32", descriptor(0x400, "none"), descriptor(0x2400, "none")) + FENCE
        + "mov.u32 t9, %ctaid.x; mul.lo.u32 t10, t9, 300;\n"
        + "AGAIN: add.u32 t2, t7, t10; shl.b32 t2, t2, 16; cvt.u64.u32 r4, t2; add.u64 r5, db, r4;\n"
        + product("d").replace("db", "r5") + COMMIT + wait(0) + "add.u32 t7, t7, 1; setp.lt.u32 q, t7, 300; @q bra AGAIN;\n"
        + "mul.lo.u32 t9, t9, 8192; cvt.u64.u32 r4, t9; add.u64 r1, r1, r4;\n" + tail(16)
    )  # fmt: skip

    def outcome(engine: str) -> np.ndarray:
        data, out = numbers(np.random.default_rng(1), False), np.zeros((6, 2048), np.uint32)
        launch(text, [data, out], 6, 128, shared_mem=SHARED, engine=engine, jobs=1, checks="none")
        return out

    assert TILES < 6 * 300
    same_on_both(outcome)


def test_tiles_that_differ_in_their_start_share_a_table():
    first, second = (Tile(descriptor(start), "K", 64, 16, 16) for start in (0x400, 0x800))
    assert pieces(first) is pieces(second)
    assert pieces(first) is not pieces(Tile(descriptor(0x400, stride=512), "K", 64, 16, 16))


def test_no_native_product_where_native_code_is_refused(monkeypatch):
    """The interpreter that takes over has other registers."""
    monkeypatch.setattr(NativeContext, "refusal", lambda self: "it is Sunday")
    text = head(16, "f32", descriptor(0x400), descriptor(0x2400)) + PROGRAMS["an empty group"] + tail(16)
    data, outs = numbers(np.random.default_rng(1), False), np.zeros((2, 128 * 256), np.uint32)
    launch(text, [data.copy(), outs[0]], block=128, shared_mem=SHARED, engine="interpreter")
    with pytest.warns(RuntimeWarning, match="Sunday"):
        launch(text, [data.copy(), outs[1]], block=128, shared_mem=SHARED)
    assert (outs[0] == outs[1]).all()


@pytest.mark.slow
def test_warpgroups_on_several_threads():
    """Every thread has engines of its own, and what they compute products with must outlive the others'."""
    text = head(16, "f32", descriptor(0x400), descriptor(0x2400)) + PROGRAMS["a pipeline of two"] + tail(16)
    data, outs = numbers(np.random.default_rng(1), False), []
    for jobs in (1, 2, 3, 2):
        outs.append(np.zeros(128 * 256, np.uint32))
        launch(text, [data.copy(), outs[-1]], 24, 128, shared_mem=SHARED, engine="compiled", checks="none", jobs=jobs)
    assert all((out == outs[0]).all() for out in outs)

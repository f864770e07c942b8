"""Native matrix products and fragments against the interpreter, extreme values included."""

import numpy as np
import pytest

from ptxsim.session.snippet import snippet
from tests.helpers import facts, launch, same_on_both

GEMM = """
.version 8.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 A, .param .u64 B, .param .u64 C)
{{
    .reg .b64 %d<4>;
    .reg .b32 %a<8>, %b<8>;
    .reg .f32 %c<8>;
    ld.param.u64 %d0, [A];
    ld.param.u64 %d1, [B];
    ld.param.u64 %d2, [C];
    wmma.load.a.sync.aligned.{rows}.m16n16k16.global.f16 {{%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}}, [%d0], {stride};
    wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}}, [%d1], 16;
    wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}}, [%d2], 16;
    wmma.mma.sync.aligned.{rows}.col.m16n16k16.f32.f32 {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}},
        {{%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}}, {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}}, {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}};
    wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d2], {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}}, 16;
    ret;
}}
"""


def halves(random: np.random.Generator, kind: str, shape) -> np.ndarray:
    """f16 words: ordinary numbers, any bits, tiny ones, mostly zeros."""
    words = random.integers(0, 1 << 16, shape, dtype=np.uint16)
    if kind == "normal":
        return random.normal(size=shape).astype(np.float16).view(np.uint16)
    if kind == "finite":
        return np.where((words & 0x7C00) == 0x7C00, words & 0x83FF, words)
    if kind == "tiny":
        return words & 0x87FF
    if kind == "sparse":
        return np.where(words % 8 == 0, 0x3C00, words & 0x8000).astype(np.uint16)
    return words


@pytest.mark.parametrize("kind", ["normal", "finite", "tiny", "sparse", "bits"])
@pytest.mark.parametrize(("target", "rows"), [("sm_75", "row"), ("sm_90", "col"), ("sm_80", "row")])
def test_wmma_products(kind, target, rows):
    random = np.random.default_rng([*kind.encode(), *target.encode()])
    a, b = halves(random, kind, (16, 16)), halves(random, kind, (16, 16))
    c = random.normal(size=(16, 16)).astype(np.float32) * np.float32(2.0) ** random.integers(-140, 60, (16, 16))
    c[::3] = random.choice(np.array([0.0, -0.0], np.float32), (6, 16))
    c = c.astype(np.float32)

    def outcome(engine: str) -> tuple:
        d = c.copy()
        run = launch(GEMM.format(target=target, rows=rows, stride=16), [a, b, d], engine=engine)
        return d, facts(run)

    _, (_, findings, _) = same_on_both(outcome)
    assert findings == []


def test_wide_products():
    random = np.random.default_rng(5)
    a, b = halves(random, "normal", (8, 16)), halves(random, "normal", (32, 16))
    text = GEMM.format(target="sm_90", rows="row", stride=16).replace("m16n16k16", "m8n32k16")
    text = text.replace("[%d2], 16", "[%d2], 32").replace("%c7}, 16", "%c7}, 32")

    def outcome(engine: str) -> np.ndarray:
        d = np.ones((8, 32), np.float32)
        assert launch(text, [a, b, d], engine=engine).findings == []
        return d

    assert np.allclose(
        same_on_both(outcome),
        a.view(np.float16).astype(np.float32) @ b.view(np.float16).T.astype(np.float32) + 1,
        atol=0.02,
    )


@pytest.mark.parametrize("stride", [8, 15, 17, 24, 4096])
def test_strides_that_deserve_a_word(stride):
    text = GEMM.format(target="sm_80", rows="row", stride=stride)

    def outcome(engine: str) -> tuple:
        arrays = [np.ones((16, 16), np.float16), np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32)]
        run = launch(text, arrays, engine=engine)
        return arrays[2], facts(run)

    _, (_, findings, _) = same_on_both(outcome)
    assert findings or stride == 24


PRODUCTS = {
    "m16n8k16.row.col.f32.f16.f16.f32": (4, 2, 4),
    "m16n8k8.row.col.f32.bf16.bf16.f32": (2, 1, 4),
    "m16n8k8.row.col.f32.tf32.tf32.f32": (4, 2, 4),
}


@pytest.mark.parametrize("form", PRODUCTS)
@pytest.mark.parametrize("scale", [1, 60, 250])
def test_mma(form, scale):
    random = np.random.default_rng(len(form) + scale)
    counts = dict(zip("abc", PRODUCTS[form]))
    registers = {}
    for letter, count in counts.items():
        for i in range(count):
            exponent = random.integers(-scale // 2, scale // 2 + 1, 32)
            number = (random.normal(size=32) * 2.0 ** exponent.clip(-126, 120)).astype(np.float32).view(np.uint32)
            if letter != "c" and "f16.f16" in form:
                number = halves(random, "normal" if scale == 1 else "bits", (32, 2)).view(np.uint32)[:, 0]
            registers[f"{letter}{i}"] = number
    groups = {x: "{" + ", ".join(f"%{x}{i}" for i in range(n)) + "}" for x, n in counts.items()}
    text = f"mma.sync.aligned.{form} {{%d0, %d1, %d2, %d3}}, {groups['a']}, {groups['b']}, {groups['c']};"
    same_on_both(lambda engine: dict(snippet(text, registers=registers, engine=engine).registers))


@pytest.mark.parametrize("words", ["x4.shared", "x4.trans.shared", "x2", "x1.trans"])
@pytest.mark.parametrize("wrong", [None, 3, 9])
def test_ldmatrix(words, wrong):
    tile = np.arange(1024, dtype=np.uint16)
    rows = (0x400 + 16 * np.random.default_rng(1).permutation(32)).astype(np.uint64)
    if wrong is not None:
        rows[wrong] += 8
    base = 0 if "shared" in words else 0x7E00_0000_0000
    count = int(words[1])
    registers = "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"
    text = f"ldmatrix.sync.aligned.m8n8.{words}.b16 {registers}, [%p];"

    def outcome(engine: str) -> tuple:
        found = snippet(text, registers={"p": rows + base}, shared=tile, engine=engine, on_error="report")
        return [f.message for f in found.findings], dict(found.registers)

    same_on_both(outcome)


PLACES = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data)
{{
    .reg .b32 %r<4>, %s, %lane; .reg .b64 %a; .reg .pred %one;
    ld.param.u64 %a, [data];
    mov.u32 %lane, %laneid; setp.eq.u32 %one, %lane, 5;
    mov.u32 %s, 32;
    {before_load}
    wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {{%r0, %r1, %r2, %r3}}, [%a], %s;
    {before_store}
    wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%a+4096], {{%r0, %r1, %r2, %r3}}, %s;
    ret;
}}
"""


@pytest.mark.parametrize("stored", [False, True], ids=["loaded", "stored"])
@pytest.mark.parametrize(
    "change",
    ["add.u64 %a, %a, 2;", "add.u64 %a, %a, 4;", "add.u64 %a, %a, 8;", "add.u64 %a, %a, 16;", "mov.u32 %s, 20;", "mov.u32 %s, 24;", "mov.u32 %s, 8;",
     "@%one add.u64 %a, %a, 64;", "@%one mov.u32 %s, 64;", "@!%one mov.u32 %s, 16;"],
)  # fmt: skip
def test_places_that_lanes_do_not_agree_on_or_that_are_not_aligned(change, stored):
    """Of fragments in memory: both engines do and say the same."""
    text = PLACES.format(before_load="" if stored else change, before_store=change if stored else "")

    def outcome(engine: str) -> tuple:
        data = np.arange(4096, dtype=np.float32)
        return data, facts(launch(text, [data], engine=engine))

    same_on_both(outcome)

"""The fifth generation's tensor core and its memory: bound, not modeled. PTX ISA, "TensorCore 5th Generation Instructions"."""

from __future__ import annotations

from ptxsim.isa.facts import Words
from ptxsim.isa.operand import Addr, Either, Imm, Pred, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, declare

FAMILY = "8.6 sm_100f sm_110f"
EXACT = "8.6 sm_100a sm_103a sm_110a"  # what the family-specific targets lack
TMEM = Addr("tensor")
TILE = Addr("tensor", untyped=True)
GROUP: Options = {"cta_group": "cta_group::1 cta_group::2"}

# ---- allocation, order -----------------------------------------------------------------------------------------------

COLUMNS = Either((Imm(choices=(32, 64, 128, 256, 512)), Reg("u32")))
declare(
    "tcgen05.alloc.cta_group.sync.aligned{.space}.b32 [a], columns", name="tcgen05.alloc", space="shared::cta",
    operands={"columns": COLUMNS}, requires=FAMILY, **GROUP,
)  # fmt: skip
declare(
    "tcgen05.dealloc.cta_group.sync.aligned.b32 a, columns", name="tcgen05.dealloc", requires=FAMILY,
    operands={"a": Value("u32"), "columns": COLUMNS}, **GROUP,
)  # fmt: skip
declare(
    "tcgen05.relinquish_alloc_permit.cta_group.sync.aligned", name="tcgen05.relinquish_alloc_permit", requires=FAMILY,
    **GROUP,
)  # fmt: skip
for name in ("tcgen05.wait::ld", "tcgen05.wait::st"):
    declare(f"{name}.sync.aligned", name=name, requires=FAMILY)
for name in ("tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"):
    declare(name, name=name, requires=FAMILY)
for multicast, mask in (("", ""), (".multicast::cluster", ", mask")):
    declare(
        f"tcgen05.commit.cta_group.mbarrier::arrive::one{{.space}}{multicast}.b64 [a]{mask}", name="tcgen05.commit",
        space="shared::cluster", operands={"mask": Reg("u16")}, requires=FAMILY, **GROUP,
    )  # fmt: skip

# ---- tensor memory to registers and back -----------------------------------------------------------------------------

WORDS = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}  # registers of .x1
NUMBERS = " ".join(f"x{1 << n}" for n in range(8))


def registers(modifiers: Words) -> int:
    return WORDS[modifiers["shape"]] * int(modifiers["num"][1:])


def at_most_128(modifiers: Words) -> str | None:
    return (
        None if registers(modifiers) <= 128 else f".{modifiers['shape']} goes to .x{128 // WORDS[modifiers['shape']]}"
    )


MOVE: Options = {"num": NUMBERS, "rules": (at_most_128,), "requires": FAMILY}
KINDS: Kinds = {"a": TMEM, "d": Vec(registers, Reg("b32", sink=True)), "b": Vec(registers, Reg("b32")), "split": Imm()}
for shapes, split in ((" ".join(list(WORDS)[:4]), ""), ("16x32bx2", ", split")):
    declare(
        f"tcgen05.ld.sync.aligned.shape.num{{.pack::16b}}.b32 d, [a]{split}", name="tcgen05.ld", shape=shapes,
        operands=KINDS, **MOVE,
    )  # fmt: skip
    declare(
        f"tcgen05.st.sync.aligned.shape.num{{.unpack::16b}}.b32 [a]{split}, b", name="tcgen05.st", shape=shapes,
        operands=KINDS, **MOVE,
    )  # fmt: skip

REDUCED: Kinds = {"a": TMEM, "d": Vec(registers, Reg("type", sink=True)), "r": Reg("type"), "split": Imm()}
for shape, split in (("32x32b", ""), ("16x32bx2", ", split")):
    reduction: Options = {
        "name": "tcgen05.ld.red", "shape": shape, "num": NUMBERS.replace("x1 ", ""), "op": "min max", "operands": REDUCED,
        "writes": "d r", "requires": "8.8 sm_103f sm_110f",
    }  # fmt: skip
    for extra, types in (("{.abs}{.NaN}", "f32"), ("", "u32 s32")):
        declare(
            f"tcgen05.ld.red.sync.aligned.shape.num.op{extra}.type d, r, [a]{split}", type=types, **reduction
        )  # fmt: skip

# ---- shared memory to tensor memory ----------------------------------------------------------------------------------

for shapes, warps in (
    ("128x256b 4x256b 128x128b", ""), ("64x128b", ".warpx2::02_13"), ("64x128b", ".warpx2::01_23"), ("32x128b", ".warpx4"),
):  # fmt: skip
    for formats, narrow in (("", {}), (".b8x16.source", {"source": "b6x16_p32 b4x16_p64"})):
        declare(
            f"tcgen05.cp.cta_group.shape{warps}{formats} [a], descriptor", name="tcgen05.cp", shape=shapes,
            **narrow, operands={"a": TMEM, "descriptor": Value("u64")}, requires=FAMILY, **GROUP,
        )  # fmt: skip
declare("tcgen05.shift.cta_group.down [a]", name="tcgen05.shift", operands={"a": TMEM}, requires=EXACT, **GROUP)

# ---- products --------------------------------------------------------------------------------------------------------

PLAIN = "kind::f16 kind::tf32 kind::f8f6f4 kind::i8@8.6:sm_100a:sm_110a"
SCALED = (
    ("kind::mxf8f6f4", "", "8.8 sm_100f sm_110f"),
    ("kind::mxf8f6f4", ".scale_vec::1X", EXACT),
    ("kind::mxf8f6f4", ".block32", "8.8 sm_100f sm_110f"),
    ("kind::mxf4", "", "8.8 sm_100f sm_110f"),
    ("kind::mxf4", ".scale_vec::2X", EXACT),
    ("kind::mxf4", ".block32", "8.8 sm_100f sm_110f"),
    ("kind::mxf4nvf4", ".scale_vec::2X", EXACT.replace("8.6", "8.7")),
    ("kind::mxf4nvf4", ".scale_vec::4X", EXACT.replace("8.6", "8.7")),
    ("kind::mxf4nvf4", ".block16", "8.8 sm_100f sm_110f"),
    ("kind::mxf4nvf4", ".block32", "8.8 sm_100f sm_110f"),
)
USES = ("fill", "use", "lastuse", "discard")
COLLECTOR_A = " ".join(f"collector::a::{use}" for use in USES)
COLLECTOR_B = " ".join(f"collector::b{n}::{use}" for n in range(4) for use in USES)
PRODUCT: Kinds = {
    "a": Either((Value("u64"), TILE)), "b": Value("u64"), "idesc": Value("u32"),
    "enable": Pred(negatable=True, immediate=True),
    "d": TILE, "meta": TILE, "sa": TILE, "sb": TILE, "lanes": Vec(lambda modifiers: 8 if modifiers["cta_group"] == "cta_group::2" else 4, Value("b32")),
    "scale": Imm(0, 15), "columns": Value("u64"),
}  # fmt: skip
IN_MEMORY: Kinds = {**PRODUCT, "a": TILE}

for sparse, metadata in (("", ""), (".sp", "[meta], ")):
    name = f"tcgen05.mma{sparse}"
    for lanes in ("", "lanes, "):
        for scale, kinds, since in (("", PLAIN, FAMILY), (", scale", "kind::f16 kind::tf32", "8.6 sm_100f")):
            operands = f"[d], a, b, {metadata}idesc, {lanes}enable{scale}"
            words: Options = {"name": name, "kind": kinds, "requires": since, **GROUP}
            declare(
                f"{name}.cta_group.kind{{.collector}} {operands}", collector=COLLECTOR_A, operands=PRODUCT, **words
            )  # fmt: skip
            declare(
                f"{name}.cta_group.kind.ashift{{.collector}} {operands}",
                collector="collector::a::lastuse collector::a::discard", operands=IN_MEMORY, **words,
            )  # fmt: skip
    for kind, vector, since in SCALED:
        if sparse and kind in ("kind::mxf4", "kind::mxf4nvf4"):
            since = EXACT.replace("8.6", since[:3])
        declare(
            f"{name}.cta_group.{kind}.block_scale{vector}{{.collector}} [d], a, b, {metadata}idesc, [sa], [sb], enable",
            name=name, collector=COLLECTOR_A, operands=PRODUCT, requires=since, **GROUP,
        )  # fmt: skip
    name = f"tcgen05.mma.ws{sparse}"
    declare(
        f"{name}.cta_group::1.kind{{.collector}} [d], a, b, {metadata}idesc, enable{{, columns}}", name=name, kind=PLAIN,
        collector=COLLECTOR_B, operands=PRODUCT, requires=FAMILY,
    )  # fmt: skip

import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.numerics.forms import Form, parse_form
from ptxsim.numerics.parameters import TABLE, find
from ptxsim.types import TARGETS, parse_target


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r.first}-{r.last} {r.families} {r.operands} {r.kind}")
def test_no_row_hides_behind_another(row):
    """Some form on some target reaches every row of the table."""
    for family in row.families.split():
        for operand in row.operands.split():
            k = int(row.shape.partition("k")[2] or 64)
            shape = (8, 8, 4) if row.shape == "m8n8k4" else (16, 8, k)
            d = {"f64": "f64"}.get(
                operand, "s32" if (operand[0] in "su" and operand[1].isdigit()) or operand == "b1" else "f32"
            )
            form = Form(family, bool(row.sparse), *shape, d, operand, operand, d, kind=row.kind)
            for target in TARGETS:
                if row.first <= parse_target(target).number <= row.last:
                    rule = find(form, target)
                    if (rule.algorithm, rule.source, rule.evidence) == (row.algorithm, row.source, row.evidence):
                        return
    raise AssertionError("no form reaches this row")


@pytest.mark.parametrize(
    "opcode, expected",
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2", "wgmma.sp.m64n8k64.f32.e4m3.e5m2.f32"),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16", "mma.sp.m16n8k32.f16.f16.f16.f16"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", "wmma.m16n16k16.f32.f16.f16.f16"),
        ("mma.m16n8k8.tf32", "mma.m16n8k8.f32.tf32.tf32.f32"),
        ("mma.m16n8k32.s8", "mma.m16n8k32.s32.s8.s8.s32"),
        ("mma.m8n8k4.f64", "mma.m8n8k4.f64.f64.f64.f64"),
        ("mma.m16n8k16.f32.bf16", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ],
)
def test_short_and_full_names(opcode, expected):
    assert str(parse_form(opcode)) == expected


def test_modifiers():
    assert parse_form("mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64").rounding == "rz"
    assert parse_form("mma.m16n8k256.s32.b1.b1.s32.xor.popc").popc_op == "xor"
    assert parse_form("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8.satfinite").satfinite
    scaled = parse_form("mma.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3")
    assert (scaled.kind, scaled.scale) == ("mxf4nvf4", "ue4m3")


@pytest.mark.parametrize(
    "opcode", ["", "mma", "ld.shared.b32", "mma.m16n8k16", "wgmma.m64n8k16.f16.f16.f16.f16.f16", "mma.m16n8.f16"]
)
def test_unreadable_names_are_findings(opcode):
    with pytest.raises(PtxError):
        parse_form(opcode)


def test_hopper_wmma_tf32_is_two_blocks_and_mma_one():
    assert find("wmma.m16n16k8.tf32", "sm_90").length == 4
    assert find("mma.m16n8k8.tf32", "sm_90").length == 8


def test_a_block_is_never_longer_than_the_instruction():
    assert find("mma.m16n8k8.f32.f16.f16.f32", "sm_90").length == 8
    assert find("mma.m16n8k16.f32.e4m3.e4m3.f32", "sm_90").length == 8
    assert find("mma.sp.m16n8k16.f32.f16.f16.f32", "sm_90").length == 8

"""Instruction descriptors of products on tensor memory: fields that do not go together are found before anything is multiplied."""

from dataclasses import replace

import pytest

from ptxsim.layout.instruction_descriptor import KINDS, InstructionDescriptor, decode
from ptxsim.machine.fault import Fault
from ptxsim.machine.tensor_memory.product import legal


def test_96_products_in_a_row_are_not_modeled():
    """Of sm_103: a figure says where their scales stand."""
    words = replace(InstructionDescriptor("mxf4", 128, 32, KINDS["mxf4"].k, "f32", "e2m1", "e2m1"), scale="ue8m0")
    with pytest.raises(Fault) as caught:
        legal(decode(words.encode() | 1 << 31, "mxf4"), 1, ws=False, sparse=False)
    assert caught.value.name == "not-modeled"


@pytest.mark.parametrize(
    "kind, fields, options, said",
    [
        ("f16", {"reserved": 1 << 6}, {}, "bits 0x40 are reserved"),
        ("f16", {"saturate": True}, {}, "only kind::i8 saturates"),
        ("i8", {"negate_b": True}, {}, "kind::i8 negates nothing"),
        ("i8", {"m": 64, "n": 40}, {}, "N 8, 24 or a multiple of 16 up to 256"),
        ("i8", {"m": 256, "n": 48}, {"ctas": 2}, "N a multiple of 32 up to 256"),
        ("f16", {"n": 256, "sparse": True}, {"ws": True, "sparse": True}, "N 64, 128"),
        ("mxf4", {"sparse": True, "scale": "ue8m0"}, {"ctas": 2, "sparse": True, "blocks": 2}, "M is 256"),
        ("mxf4", {"scale": "ue8m0", "scale_a": 3}, {"blocks": 2}, "the scales of A begin at byte 3; 2 of a row begin at 0 or 2"),
        ("mxf4nvf4", {"scale": "ue4m3", "scale_b": 2}, {"blocks": 4}, "the scales of B begin at byte 2; 4 of a row begin at 0"),
    ],
)  # fmt: skip
def test_fields_of_an_instruction_descriptor_that_do_not_go_together(kind, fields, options, said):
    row = KINDS[kind]
    factor, d = next(iter(row.factors.values())), next(iter(row.d.values()), "f32")
    words = InstructionDescriptor(
        **{"kind": kind, "m": 128, "n": 64, "k": row.k, "d": d, "a": factor, "b": factor} | fields
    )
    with pytest.raises(Fault) as caught:
        legal(decode(words.encode(), kind), **{"ctas": 1, "ws": False, "sparse": False} | options)
    assert caught.value.name == "descriptor-invalid"
    assert said in caught.value.message


def test_only_the_transposed_operand_has_to_be_of_bytes():
    words = InstructionDescriptor("f8f6f4", 128, 64, 32, "f32", "e2m1", "e4m3", transpose_b=True)
    assert legal(words, 1, ws=False, sparse=False) is words
    with pytest.raises(Fault, match="K-major"):
        legal(replace(words, a="e4m3", b="e2m1"), 1, ws=False, sparse=False)

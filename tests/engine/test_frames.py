"""How much local memory chains of calls need."""

from pathlib import Path

import numpy as np
import pytest

from ptxsim import Module
from tests.helpers import ENGINES

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def function(name: str, size: int, *calls: str) -> str:
    """A function with a local variable, which calls others."""
    text = "".join(
        f"    {{ .param .b32 passed; st.param.b32 [passed], 1; call {each}, (passed); }}\n" for each in calls
    )
    return f".func {name}(.param .b32 given)\n{{\n    .local .align 16 .b8 own[{size}];\n{text}    ret;\n}}\n"


def stack(*functions: str) -> int:
    """Bytes of the stack of a kernel that calls `a`."""
    kernel = (
        ".visible .entry k()\n{\n    { .param .b32 passed; st.param.b32 [passed], 1; call a, (passed); }\n    ret;\n}\n"
    )
    whole = "".join(functions)
    declared = "".join(f".func {name}(.param .b32 given);\n" for name in "abcd" if f".func {name}(" in whole)
    return Module.from_text(HEAD + declared + whole + kernel).kernel().code().decoded.program.stack_bytes


def test_the_deepest_chain_counts():
    chain = function("a", 100, "b", "c", "b", "b"), function("b", 1000, "d"), function("c", 1030), function("d", 32)
    assert stack(*chain) == 16 + 112 + 1008 + 48  # what is given and passed takes a word each


def test_parameters_of_calls_share_their_place():
    one, many = function("a", 64, "b"), function("a", 64, *"bbbbbbbbbbbb")
    assert stack(one, function("b", 16)) == stack(many, function("b", 16))


def test_what_calls_itself_has_room():
    assert stack(function("a", 64, "b"), function("b", 16, "a")) > 60 * 64
    assert stack(function("a", 20000, "b"), function("b", 16, "a")) == 0x80000


@pytest.mark.parametrize("calls", ["", "a"])
def test_who_is_called_by_address_is_whose_address_is_known(calls):
    """Of a function whose address is in a table, and of another one that calls it back or not."""
    table = ".global .u64 table[1] = {b};\n"
    body = """.func a(.param .b32 given)
{
    .reg .b64 %d; .local .align 16 .b8 own[64];
    ld.global.u64 %d, [table];
    kind: .callprototype _ (.param .b32 _);
    { .param .b32 passed; st.param.b32 [passed], 1; call %d, (passed), kind; }
    ret;
}
"""
    assert (stack(table, body, function("b", 16, *calls)) > 60 * 64) == bool(calls)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_address_from_outside_may_not_call_what_runs(engine):
    """Its registers are not saved."""
    module, address = Module.from_file(Path(__file__).with_name("address_from_outside.ptx")), np.zeros(1, np.uint64)
    module.kernel("tell").launch(1, 1, [address], engine=engine)
    run = module.kernel("use").launch(1, 1, [int(address[0])], engine=engine, on_error="report")
    assert [finding.name for finding in run.findings] == ["not-modeled"]

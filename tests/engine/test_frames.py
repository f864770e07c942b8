"""How much local memory chains of calls need."""

from ptxsim import Module

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


def test_calls_by_address_have_room():
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
    assert stack(table, body, function("b", 16)) > 60 * 64

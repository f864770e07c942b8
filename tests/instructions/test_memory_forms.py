"""Memory, warp, barrier, fence and tcgen05 statements are taken and refused as the assembler does (tests/data/memory_forms.tsv)."""

import pytest

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.instructions import load_families
from ptxsim.isa.bind import Binder
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target, parse_version
from tests.helpers import DATA

JUDGED = DATA / "memory_forms.tsv"
_, HEADER, *ROWS = JUDGED.read_text().splitlines()
COLUMNS = [column.split("@") for column in HEADER.split("\t")]

REGISTERS = {
    "p": "pred", "h": "b16", "uh": "u16", "sh": "s16", "x": "f16", "xx": "f16x2", "r": "b32", "u": "u32", "s": "s32",
    "f": "f32", "rd": "b64", "ud": "u64", "sd": "s64", "d": "f64", "q": "b128",
}  # fmt: skip
VARIABLES = {
    "gbuf": "global", "cbuf": "const", "sbuf": "shared", "sbar": "shared", "lbuf": "local", "kp": "param", "kt": "param",
    "ki": "param", "fn": "func", "pfn": "func", "L0": "label", "k": "func",
}  # fmt: skip


class Names:
    """The registers and variables that the statements speak of."""

    def register_type(self, name):
        return REGISTERS.get(name.rstrip("0123456789")) if name[-1].isdigit() and name not in VARIABLES else None

    def variable_space(self, name):
        return VARIABLES.get(name)

    def parameter_role(self, name: str) -> str | None:
        return None


def takes(binder, text):
    try:
        statements = parse_body(text)
    except PtxError:
        return False
    return not any(isinstance(binder.bind(statement, Names()), Finding) for statement in statements)


@pytest.mark.thin(6)
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=["@".join(column) for column in COLUMNS])
def test_as_the_assembler(column):
    load_families()
    target, version = COLUMNS[column]
    binder = Binder(parse_target(target), parse_version(version))
    wrong = []
    for row in ROWS:
        answers, text = row.split("\t")
        if takes(binder, text) != (answers[column] == "y"):
            wrong.append(f"{'takes' if answers[column] == 'y' else 'refuses'} {text}")
    assert not wrong

"""Matrix instructions are taken and refused as the assembler does (tests/data/matrix_forms.tsv, a thinned table)."""

import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.session import check
from ptxsim.syntax.parser import parse_body
from tests.helpers import DATA

JUDGED = DATA / "matrix_forms.tsv"
_, HEADER, *ROWS = JUDGED.read_text().splitlines()
COLUMNS = [column.split("@") for column in HEADER.split("\t")]

PRELUDE = """\
.version {version}
.target {target}
.address_size 64
.global .align 128 .b8 gbuf[4096];
.const .align 128 .b8 cbuf[4096];
.visible .entry k(.param .u64 kp, .param .align 64 .b8 kt[128], .param .b32 ki) {{
.shared .align 128 .b8 sbuf[4096];
.local .align 16 .b8 lbuf[256];
.reg .pred p<16>; .reg .b16 h<64>; .reg .u16 uh<8>; .reg .s16 sh<8>; .reg .f16 x<64>; .reg .f16x2 xx<64>;
.reg .b32 r<320>; .reg .u32 u<64>; .reg .s32 s<64>; .reg .f32 f<320>;
.reg .b64 rd<64>; .reg .u64 ud<64>; .reg .s64 sd<64>; .reg .f64 d<64>;
"""


def parses(text: str) -> bool:
    try:
        parse_body(text)
    except PtxError:
        return False
    return True


def refused(texts: list[str], target: str, version: str) -> set[str]:
    """The statements refused in one module; checked again without them, for some mistakes hide others."""
    found = {text for text in texts if not parses(text)}
    prelude = PRELUDE.format(version=version, target=target)
    while True:
        rest = [text for text in texts if text not in found]
        findings = check(f"{prelude}{chr(10).join(rest)}\nret;\n}}\n")
        wrong = {rest[finding.line - 1 - prelude.count("\n")] for finding in findings if finding.level == "error"}
        if not wrong:
            return found
        found |= wrong


@pytest.mark.thin(3)
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=["@".join(column) for column in COLUMNS])
def test_as_the_assembler(column):
    answers = {text: row[column] for row, text in (line.split("\t") for line in ROWS)}
    wrong = refused(list(answers), *COLUMNS[column])
    assert not [text for text, answer in answers.items() if (answer == "n") != (text in wrong)]

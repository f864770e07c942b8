"""What the language server says about a text, asked without the protocol."""

import re

import pytest

from ptxsim.editor import names
from ptxsim.editor.completion import complete
from ptxsim.editor.document import Document
from ptxsim.editor.hover import hover
from ptxsim.editor.quick import QuickCheck, judge
from ptxsim.editor.worker import Worker
from ptxsim.edits import changed
from tests.helpers import SAMPLES, text_of

TEXT = text_of("editor/loop.ptx")


def labels(text, piece):
    """What may stand in place of `^` in an edited text."""
    offset = text.index(piece) + piece.index("^")
    return {one.text for one in complete(Document(text.replace("^", "")), offset)}


@pytest.mark.parametrize(
    ("right", "wrong", "title"),
    [
        ("ldmatrix.sync", "ldmatrx.sync", "Change ldmatrx"),
        ("setp.lt.u32", "setp.ltt.u32", "Change setp.ltt.u32 to setp.lt"),
        ("bra loop", "bra lopo", "Change lopo to loop"),
        ("%p1, %r1, 8", "%p1, %r1x, 8", "Declare it: .reg .b32 %r1x;"),
        (".reg .b32 %r<8>;", ".reg .b32 %r<6>;", "Declare %r<7>"),
        (".reg .b32 %r<8>;", ".rge .b32 %r<8>;", "Change .rge to .reg"),
        (".target sm_90a", ".target sm_60", "Change .target to sm_75"),
        (".version 8.0", ".version 6.4", "Change .version to"),
    ],
)
def test_a_mistake_is_put_right(right, wrong, title):
    document = Document(TEXT.replace("%r6}", "%r6}").replace(right, wrong))
    offered = [(finding, fix) for finding in document.check() for fix in finding.fixes]
    fitting = [finding.fixed(document.text, fix) for finding, fix in offered if title in fix.title]
    assert fitting, [fix.title for _, fix in offered]
    again = Document(fitting[0])
    assert len(again.check()) < len(document.findings)


def test_an_undeclared_register_is_declared():
    document = Document(TEXT.replace("mov.u32 %r2, tile;", "mov.u32 sum, tile;"))
    (finding,) = document.check()
    (fix,) = finding.fixes
    assert Document(finding.fixed(document.text, fix)).check() == []


def test_a_register_of_a_family_gets_a_name_of_its_own():
    document = Document(TEXT)
    new = changed(TEXT, names.rename(document, TEXT.index("%r2]"), "%row"))
    assert ".reg .b32 %row;" in new and "mov.u32 %row, tile" in new and new.count("%r2") == 0
    assert Document(new).check() == []
    new = changed(TEXT, names.rename(document, TEXT.index("%r<8>"), "%word"))
    assert "%word<8>" in new and "%word1, %word1, 1" in new and "%rd1" in new and Document(new).check() == []
    new = changed(TEXT, names.rename(document, TEXT.index("bra loop") + 5, "again"))
    assert new == TEXT.replace("loop", "again")


@pytest.mark.parametrize(("piece", "new"), [("%r2]", "%r4"), ("%r2]", "2x"), ("%r2]", "%tid"), ("%laneid", "lane"), ("tile;", "out")])  # fmt: skip
def test_a_new_name_is_refused(piece, new):
    with pytest.raises(names.CannotRename):
        names.rename(Document(TEXT), TEXT.index(piece), new)


def test_inner_scopes_hide_names():
    text = ".version 8.0\n.target sm_90\n.entry k()\n{\n.reg .b32 x;\nmov.u32 x, 1;\n{\n.reg .b32 x;\nmov.u32 x, 2;\n}\nmov.u32 x, 3;\n}\n"
    new = changed(text, names.rename(Document(text), text.index("x, 1"), "y"))
    assert new == text.replace("x;", "y;", 1).replace("x, 1", "y, 1").replace("x, 3", "y, 3")
    with pytest.raises(names.CannotRename):
        names.rename(Document(new), new.index("y, 1"), "tid.x")


def test_hover_names_form_operand_and_elements():
    document = Document(TEXT)

    def told(piece, inside=1):
        return hover(document, TEXT.index(piece) + inside)

    opcode = told("ldmatrix")
    assert "ldmatrix.sync.aligned" in opcode and "sm_75" in opcode
    register = told("%r5")
    assert "operand `d` of `ldmatrix`, 3 of 4" in register and "lane  1  (2,0,2) (2,0,3)" in register
    assert "lane of the thread" in told("%laneid")
    assert "declared at line 10" in told("tile;")
    assert told("\n\n", 1) is None


def test_hover_names_the_form_that_is_executed():
    file = SAMPLES / "wgmma_m64n64k16.ptx"
    text = file.read_text()
    at = next(
        match.start()
        for match in re.finditer(r"wgmma\.mma_async", text)
        if not text[: match.start()].split("\n")[-1].strip().startswith("//")
    )
    told = hover(Document(text), at + 1)
    assert "wgmma.mma_async" in told and "not modeled" not in told


def test_completion_offers_what_keeps_the_opcode_legal():
    assert {"u32", "s32", "f32", "sat"} <= labels(TEXT.replace("add.u32", "add.^"), "add.^")
    words = labels(TEXT.replace("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.^"), "x4.^")
    assert {"trans", "shared", "b16"} <= words and "x2" not in words and "f32" not in words
    assert "m16n16" not in labels(TEXT.replace("aligned.m8n8", "aligned.^"), "aligned.^")  # for newer targets
    assert {"mma_async", "fence"} <= labels(
        TEXT.replace("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "wgmma.^"), "wgmma.^"
    )
    assert labels(TEXT.replace("bra loop", "bra l^"), "bra l^") == {"loop"}
    assert {"%r7", "%laneid", "tile"} <= labels(TEXT.replace("mov.u32 %r2, tile", "mov.u32 %r2, %^"), "%r2, %^")
    assert labels("// mov.^", "mov.^") == set()


BODY = "\tadd.u32 %r1, %r1, 1;\n\tmad.lo.s32 %r6, %r7, 4, %r5;\n" * 8
LONG = TEXT.replace("loop:\n", BODY + "loop:\n").replace("\tst.global", BODY + "\tst.global")
EDITS = [
    ("setp.lt.u32 %p1", "setp.ltt.u32 %p1"), ("setp.lt.u32 %p1", "\nsetp.ltt.u32 %p1"), ("mov.u32 %r2, tile;", "mov.u32 %r2, "),
    ("mov.u32 %r2, tile;", "mov.u32 %r2, tile"), ("loop:", "lop:"), ("loop:", "loop"), ("loop:", "loop:\nagain:"), ("loop:\n", ""),
    ("loop:", "loop:\nloop:"), ("<8>", "<7>"), ("<8>", "<9>"), ("<8>", "<2>"), ("<8>", "<>"), (".reg .b32 %r<8>;\n", ""),
    (".reg .b32 %r<8>;", ".reg .b64 %r<8>;"), (".reg .pred", ".reg .b32"), ("%r<8>;", "%r<8>;\n.reg .b32 %q;"), ("sm_90a", "sm_60"),
    ("8.0", "6.0"), ("8.0", "8."), ("tile[512]", "tiles[512]"), ("ret;", "ret;\n}"), ("loop:", "{\nloop:"), ("loop:", "/*\nloop:"),
    ("loop:", '"\nloop:'), ("bra loop", "bra lopo"), (BODY, ""), (BODY, BODY * 3), ("out)", ")"), (".visible .entry k", ".visible .entry"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EDITS)))
def test_what_an_edit_changes_is_said_at_once_as_of_the_whole_text(monkeypatch, number):
    """There and back, alone and beside an undeclared name: while there is one, of the whole text no more than names is judged."""
    monkeypatch.setattr("ptxsim.editor.quick.SHORT", 0)
    right, wrong = EDITS[number]
    first = LONG.replace("add.u32 %r1, %r1, 1;", "add.u32 %r1, %x1, 1;", 1) if number % 2 else LONG
    broken = first.replace(right, wrong, 1)
    assert broken != first
    check = QuickCheck()
    check.whole(Document(first))
    for text in (broken, first, broken):
        quick, whole = (
            {(f.line, f.column, f.name, f.message) for f in judged(Document(text)) or ()}
            for judged in (check.quick, check.whole)
        )
        assert quick == whole or (number % 2 and quick > whole)


def test_a_text_that_parses_again_is_judged_whole(monkeypatch):
    monkeypatch.setattr("ptxsim.editor.quick.SHORT", 0)
    check = QuickCheck()
    assert check.quick(Document(LONG)) is None
    check.whole(Document(LONG + "}"))
    assert check.quick(Document(LONG)) is None


@pytest.mark.slow
def test_whole_texts_are_judged_by_a_process_that_may_die():
    worker, broken = Worker(), TEXT.replace("add.u32", "addd.u32")
    try:
        told = [worker.judge(broken, "k.ptx") for _ in range(2)]
        worker.process.kill()
        told.append(worker.judge(broken, "k.ptx"))
        assert told == [judge(broken, "k.ptx")] * 3 and told[0][0][0].name == "unknown-instruction"
    finally:
        worker.close()

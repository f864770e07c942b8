"""The offline page: everything inside, nothing from elsewhere, nothing unescaped."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ptxsim import snippet
from ptxsim.diagnostic import Finding
from ptxsim.layout.banks import KINDS
from ptxsim.report.heat import bank_maps
from ptxsim.report.html import page
from ptxsim.session.ptxfile.file import FileRun, run_file
from ptxsim.session.run import BankRow, BankTable, Run
from ptxsim.source import Source
from tests.helpers import SAMPLES

TEXT = """.visible .entry <k>()
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a}, {b}, {c}, {d};
st.shared.u32 [%r1], %r2; // </script><b>
"""


class Balance(HTMLParser):
    """Counts elements that are opened and closed."""

    VOID = ("meta", "br", "link", "img", "rect", "line", "path")

    def __init__(self):
        super().__init__()
        self.open = []
        self.links = []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def result():
    source = Source(TEXT, "a<b>.ptx")
    findings = [Finding("race-shared", "lanes <0> & 1", 3).of(source)]
    banks = BankTable(
        [BankRow(3, "st.shared.u32", 1, 32, 1, 32, "32 lanes, 128 B apart", ["row pitch 132 B -> 1"], "st")]
    )
    return FileRun(
        source, Run("a", "k", "sm_90a", "interpreter", 0, findings, banks, fidelity={"st": "exact"}), findings
    )


def test_the_page_is_whole_and_offline(result):
    text = page(result, "1.0")
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    assert all(link.startswith("#") for link in balance.links)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "<b>.ptx" not in text and "lanes &lt;0&gt; &amp; 1" in text


def test_the_page_shows_findings_costs_and_fragments(result):
    text = page(result, "1.0")
    assert 'class="finding error"' in text and '<span class="error">error[PTX421]</span>' in text
    assert 'id="line-3" class="marked"' in text and "32 <span" in text
    assert text.count("<svg") == 3 and "operand A" in text
    record = json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', text, re.S)[1])
    assert record["banks"]["worst"] == 32


def test_a_file_that_did_not_run_has_a_page_too(result):
    result.run = None
    assert "nothing ran" in page(result, "1.0")


LANE = np.arange(32)
FILES = sorted(SAMPLES.rglob("*.ptx"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sample_has_a_page(path):
    result = run_file(Source(path.read_text(), path.name))
    assert page(result, "1").count("<h2>Shared memory</h2>") <= 1
    assert result.run is None or all(bank_maps(row) for row in result.run.banks.rows if row.kind in KINDS and row.mask)


ACCESSES = """
atom.shared.add.f32 f, [a], f;
atom.shared.add.f64 d, [b], d;
atom.shared.add.noftz.f16 h, [a], h;
atom.shared.cas.b16 h, [a], h, h;
atom.shared.cas.b64 r, [b], r, r;
red.shared.add.u32 [a], 1;
cp.async.ca.shared.global [a], [p], 4;
cp.async.cg.shared.global [c], [p], 16;
cp.async.cg.shared.global [c], [p], 16, 0;
cp.async.wait_all;
"""


def test_every_kind_of_access_has_its_picture():
    registers = {"a": 0x400 + LANE * 64, "b": 0x400 + LANE * 64, "c": 0x400 + LANE * 64}
    registers |= {"f": 1.0, "d": 1.0, "h": np.full(32, 1, np.float16), "r": np.arange(32, dtype=np.uint64)}
    run = snippet(ACCESSES, registers=registers, shared=np.zeros(4096, np.uint8), buffers={"p": np.zeros(64, np.uint8)})
    kinds = [row.kind for row in run.banks.rows]
    assert kinds == ["spin", "spin", "half", "swap", "cas", "count", "copy", "bypass", "bypass"]
    for row in run.banks.rows:
        assert row.why or row.excess == 0
        assert all(len(line) <= 100 for drawing in bank_maps(row) for line in drawing.text().split("\n"))

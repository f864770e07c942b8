"""The offline page: everything inside, nothing from elsewhere, nothing unescaped."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from ptxsim import snippet
from ptxsim.diagnostic import Finding
from ptxsim.layout.banks import KINDS
from ptxsim.report.against import document
from ptxsim.report.heat import bank_maps
from ptxsim.report.page.document import page
from ptxsim.report.page.listing import listing
from ptxsim.report.page.timeline import MOST, timeline_data
from ptxsim.report.records import run_record
from ptxsim.session.ptxfile.file import FileRun, Options, run_file
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


def unpacked(text):
    """What the page's script draws."""
    packed = re.search(r'<script type="application/json">(.*?)</script>', text, re.S)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


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
    assert all(link.startswith(("#", "data:")) for link in balance.links)
    own = re.sub(r'<script id="d3">.*?</script>', "", text, flags=re.S)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|fetch\(|import\(", own)
    assert "<b>.ptx" not in text and "lanes &lt;0&gt; &amp; 1" in text


def test_the_page_shows_findings_costs_and_fragments(result):
    text = page(result, "1.0")
    assert 'class="finding error"' in text and '<span class="error">error[PTX421]</span>' in text
    data = unpacked(text)
    assert data["lines"]["3"] == {"w": 32, "i": 1}
    assert data["found"][0] == {"line": 3, "level": "error", "name": "race-shared", "message": "lanes <0> & 1"}
    assert 'id="line-3"' in text and 'id="finding-0"' in text
    assert text.count("<svg") == 3 and "operand A" in text
    kept = re.search(
        r'<script type="application/json" id="run" data-encoding="base64 deflate">(.*?)</script>', text, re.S
    )
    record = json.loads(zlib.decompress(base64.b64decode(kept[1])))
    assert record["banks"]["worst"] == 32


def test_a_file_that_did_not_run_has_a_page_too(result):
    result.run = None
    assert "nothing ran" in page(result, "1.0")


LANE = np.arange(32)
FILES = sorted(SAMPLES.rglob("*.ptx"))


@pytest.mark.thin(5)
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


def test_a_profiled_run_has_a_timeline_in_columns():
    result = run_file(SAMPLES / "mma_gemm_conflicts.ptx", options=Options(profile=1, banks=True))
    data = unpacked(page(result, "1"))
    timeline, tracks = data["timeline"], len(data["timeline"]["tracks"])
    for kind, width in (("blocks", 6), ("waits", 6), ("work", 3)):
        columns = timeline[kind]
        assert len(columns) == width and len({len(column) for column in columns}) == 1 and columns[0]
        assert all(0 <= track < tracks for track in columns[0]) and min(columns[1]) >= 0 and min(columns[2]) >= 0
        ends = np.cumsum(columns[1]) + columns[2]
        assert ends.max() <= 1.2 * data["profile"]["cycles"] + 100
    assert timeline["left_out"] == {}
    by_line = sum(sum(row.get("r", {}).values()) for row in data["lines"].values())
    assert by_line == pytest.approx(sum(data["profile"]["stalls"].values()), rel=0.02)
    assert sum(timeline["waits"][2]) <= by_line + len(timeline["waits"][2])
    assert data["profile"]["roofline"]["operations"] == {"tensor f16": 2 * 64**3}


@pytest.mark.slow
def test_the_shortest_spans_of_a_long_timeline_are_left_out_and_that_is_said():
    result = run_file(SAMPLES / "mma_gemm_conflicts.ptx", options=Options(profile=1))
    timeline = result.run.cycles.timeline
    timeline.waits = np.repeat(timeline.waits, MOST // len(timeline.waits) + 2, axis=0)
    data = timeline_data(timeline)
    assert 0 < len(data["waits"][0]) <= MOST and min(data["waits"][2]) > data["left_out"]["waits"] > 0


def test_lines_of_ptx_name_those_that_they_were_made_from(tmp_path):
    (tmp_path / "k.cu").write_text("__global__ void k() {\n  __syncthreads();\n}\n")
    text = f'.version 8.0\n.target sm_80\n.file 1 "{tmp_path}/k.cu"\n.visible .entry k()\n{{\n.loc 1 2 3\nbar.sync 0;\nret;\n}}\n'
    found = listing(Source(text, "k.ptx"), "x-")
    assert 'id="x-line-7" data-o="0:2"' in found and 'id="x-file-0-2"' in found and "__syncthreads();" in found


@pytest.mark.slow
def test_two_runs_stand_side_by_side():
    old, new = (
        run_file(SAMPLES / f"mma_gemm_{name}.ptx", options=Options(profile=1, banks=True))
        for name in ("conflicts", "swizzled")
    )
    changed = document(run_record(old, "1"), run_record(new, "1"))
    text = page(new, "1", ("before.json", changed))
    assert "Against an earlier run" in text and "Before: before.json" in text
    assert re.search(
        r"<td class=\"\">shared-memory wavefronts</td><td class=\"number\">2,688</td><td class=\"number\">448</td>",
        text,
    )
    assert "Instructions whose waiting changed most" in text and 'data-chart="against"' in text

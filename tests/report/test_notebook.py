"""What `print` and notebooks show of results."""

import re
import sys
import types
from html.parser import HTMLParser

import pytest

import ptxsim
from ptxsim.cli import main
from ptxsim.report import notebook
from tests.helpers import SAMPLES


class Nesting(HTMLParser):
    """Tags that are open, of those that must be closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("br", "rect", "path", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in ("rect", "path", "line"):
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def run():
    a, b = ptxsim.ints((64, 64), "f16", seed=1), ptxsim.ints((64, 64), "f16", seed=2)
    d = ptxsim.zeros((64, 64), "f32")
    kernel = ptxsim.Module.from_file(SAMPLES / "mma_gemm_conflicts.ptx").kernel()
    return kernel.launch(grid=1, block=128, args=[a, b, d], banks=True)


def test_print_shows_what_the_command_line_shows(run, capsys):
    main(["run", str(SAMPLES / "broken" / "misaligned_ldmatrix.ptx"), "--checks", "memory", "--block", "32"])
    shown = capsys.readouterr().out
    kernel = ptxsim.Module.from_file(SAMPLES / "broken" / "misaligned_ldmatrix.ptx").kernel()
    wrong = kernel.launch(1, 32, [ptxsim.zeros((64,), "u32")] * len(kernel.parameters), on_error="report")
    finding = str(wrong).split("\n\n")[0]
    assert "misaligned-address" in finding and "^" in finding and finding in shown
    assert str(wrong.findings[0]).startswith(str(SAMPLES / "broken" / "misaligned_ldmatrix.ptx") + ":")
    assert "no findings" in str(run) and "warp instructions" in str(run)
    assert "ldmatrix" in str(run.banks) and "wavefronts" in str(run.banks)


def test_notebooks_show_html(run):
    kernel = ptxsim.Module.from_file(SAMPLES / "mma_gemm_conflicts.ptx").kernel()
    bad = ptxsim.Finding("out-of-bounds", "<b>&", 3)
    fragment = ptxsim.fragment("mma.m16n8k16.f16", "A")
    for value, words in [
        (run, "ldmatrix"), (run.banks, "wavefronts"), (kernel, ".u64"), (kernel.module, "gemm"), (bad, "&lt;b&gt;&amp;"),
        (fragment, "<svg"),
    ]:  # fmt: skip
        html = value._repr_html_()
        assert words in html and "\ue000" not in html
        assert not re.search(r"(?:src|href)=['\"]?http", html)
        nesting = Nesting()
        nesting.feed(html)
        assert nesting.open == []
    assert repr(fragment) == "Fragment(A of mma.m16n8k16, 16x16 .f16: 8 elements in 4 registers of each of 32 lanes)"
    assert "gemm" in repr(kernel) and "sm_" in repr(kernel.module)


def test_a_bank_table_becomes_a_frame(run, monkeypatch):
    made = []
    frames = types.ModuleType("pandas")
    frames.DataFrame = lambda columns: made.append(columns) or columns
    monkeypatch.setitem(sys.modules, "pandas", frames)
    columns = run.banks.to_frame()
    assert columns["wavefronts"] == [row.wavefronts for row in run.banks.rows] and "why" in columns
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match="pandas or polars"):
        run.banks.to_frame()


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_the_frame_is_a_real_one(run, name, monkeypatch):
    pytest.importorskip(name)
    if name == "polars":
        monkeypatch.setitem(sys.modules, "pandas", None)
    frame = run.banks.to_frame()
    assert type(frame).__module__.startswith(name) and len(frame) == len(run.banks.rows)


def test_a_short_run_shows_its_wavefronts_and_a_long_one_is_not_repeated(monkeypatch):
    kernel = ptxsim.Module.from_file(SAMPLES / "mma_gemm_conflicts.ptx").kernel()
    args = [ptxsim.zeros((64, 64), kind) for kind in ("f16", "f16", "f32")]
    assert "2 688 shared-memory wavefronts (ideal 448)" in str(kernel.launch(grid=1, block=128, args=args))
    monkeypatch.setattr(notebook, "SHORT", 0)
    assert "wavefront" not in str(kernel.launch(grid=1, block=128, args=args))

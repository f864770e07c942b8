"""The bank table, the summary, lanes and descriptors."""

import io
from dataclasses import replace

import pytest

import ptxsim
from ptxsim.cli import main
from ptxsim.diagnostic import Finding
from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.fragments import fragment_layout
from ptxsim.programs.collector import Collector
from ptxsim.report import banks, layouts, summary
from ptxsim.report.progress import Progress
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.file import FileRun
from ptxsim.session.run import BankRow, BankTable, GlobalRow, Run
from ptxsim.source import Source
from tests.helpers import CASES

ROWS = [
    BankRow(
        57,
        "ldmatrix.x4.m8n8.shared.b16",
        16,
        512,
        64,
        8,
        "8 rows, 128 B apart: all on the same 4 banks",
        ["with swizzle 128B -> 64 wavefronts"],
        "ldmatrix",
    ),
    BankRow(63, "ldmatrix.x4.trans.m8n8.shared.b16", 16, 64, 64, 1, "", [], "ldmatrix"),
]


def file_run(rows, findings=(), **facts):
    run = Run(
        "k.ptx",
        "attn",
        "sm_90a",
        "interpreter",
        0,
        list(findings),
        BankTable(rows),
        warp_instructions=12345,
        block=(128, 1, 1),
        **facts,
    )
    return FileRun(Source("", "k.ptx"), run, list(findings))


def test_the_table_has_a_row_per_instruction_a_total_and_advice():
    title, _, heads, first, more, second, total, _, help, fix = banks.table(file_run(ROWS)).split("\n")
    assert title == "attn: sm_90a, 1 CTA, 4 warps each"
    assert heads.split() == ["line", "instruction", "runs", "wavefronts", "ideal", "excess", "worst", "why"]
    assert first.startswith(
        "    57  ldmatrix.x4.m8n8.b16          16         512     64     448  8-way  8 rows, 128 B apart"
    )
    assert more.index("on the same") == first.index("8 rows") and len(first) <= 100
    assert second.split() == ["63", "ldmatrix.x4.trans.m8n8.b16", "16", "64", "64", "0", "1-way"]
    assert total.split() == ["total", "576", "128", "448"] and total.index("128") + 3 == first.index(" 64 ") + 3
    assert help == " help: line 57 causes 100 % of the 448 wavefronts too many"
    assert fix.strip() == "with swizzle 128B -> 64 wavefronts"


def test_no_conflict_is_said_plainly():
    text = banks.table(file_run(ROWS[1:]))
    assert "0 address conflicts here" in text and "not this address pattern" in text.replace("\n", "")
    assert banks.table(file_run([])).endswith("no instruction touched shared memory")


def test_where_an_address_comes_from_stands_below_the_table():
    why = f"{ROWS[0].why}; row = %lane, pitch 128: the address is tile + 128 * %lane (line 33)"
    text = banks.table(file_run([replace(ROWS[0], why=why)]))
    table, _, advice = text.partition(" help: ")
    assert "pitch" not in table
    assert advice.endswith("line 57: row = %lane, pitch 128: the address is tile + 128 * %lane (line 33)")


def unrolled(count, first=10, why=ROWS[0].why, name="tile"):
    return [
        BankRow(
            line, "ld.shared.f32", 1, 32, 1, 32, f"{why}; the address is {name} + 128 * %lane{f' + {4 * i}' * (i > 0)} (line 9)",
            ["row pitch 132 B -> 1 wavefront instead of 32"],
        )
        for i, line in enumerate(range(first, first + 2 * count, 2))
    ]  # fmt: skip


def test_unrolled_loops_are_reported_once():
    text = banks.table(file_run(unrolled(16)))
    assert "and 15 more like it, to line 40" in text and text.count("ld.shared.f32") == 1
    assert "help: 16 lines from 10 to 40 cause 100 % of the 496 wavefronts too many" in text
    assert text.count("the address is") == 1 and text.endswith("and 15 lines more like it")
    assert text.count("row pitch 132 B") == 1
    assert banks.table(file_run(unrolled(2))).count("ld.shared.f32") == 2


def test_what_differs_is_told_apart():
    rows = [*unrolled(4), *unrolled(4, 50, "16 lanes: other"), *unrolled(4, 70)]
    text = banks.table(file_run(rows))
    assert [line.split()[0] for line in text.split("\n") if "ld.shared" in line] == ["10", "50", "70"]
    assert text.count("and 3 more like it") == 3


def test_long_names_and_long_fixes_fit():
    row = unrolled(1, name="_ZZN" + 40 * "5outer" + "E4tile")[0]
    row.fixes = ["row pitch 132 B -> 1 wavefront instead of 32" + "; line 1234 then takes 2 instead of 1" * 3]
    text = banks.table(file_run([row]))
    assert all(len(line) <= 100 for line in text.split("\n")) and "..." in text and "E4tile" in text


def test_global_memory_has_its_own_table():
    row = GlobalRow(9, "ld.global.f32", 2, 64, 8, 64, "lanes are 128 B apart: 32 sectors in one request")
    text = banks.global_table(BankTable([], [row]))
    _, _, heads, first, *_, total = text.split("\n")
    assert heads.split() == ["line", "instruction", "requests", "sectors", "ideal", "excess", "lines", "why"]
    assert first.split()[:7] == ["9", "ld.global.f32", "2", "64", "8", "56", "64"]
    assert total.split() == ["total", "2", "64", "8", "56", "64"]
    assert all(len(line) <= 100 for line in text.split("\n"))


def test_the_summary_says_what_ran_and_how_far_to_trust_it():
    text = summary.summary(
        file_run(ROWS, [Finding("trap", "x")], fidelity={"add": "exact", "ld": "exact", "ex2.approx": "bounded"})
    )
    first, second, third = text.split("\n")
    assert first == "attn on sm_90a: 1 error"
    assert second == "12 345 warp instructions; 576 shared-memory wavefronts (ideal 128)"
    assert third == "fidelity: 2 kinds of instruction exact; bounded: ex2.approx"


def test_what_one_lane_holds():
    fragment = fragment_layout("mma", "m16n8k16", "A", "f16")
    assert (
        layouts.lane_line(fragment, 5)
        == " lane 5:  a0 (1,2)   a1 (1,3)   a2 (9,2)   a3 (9,3)   a4 (1,10)  a5 (1,11)  a6 (9,10)  a7 (9,11)"
    )
    assert layouts.lane_table(fragment).count("lane") == 32


def test_a_descriptor_field_by_field():
    text = layouts.descriptor_table(Descriptor.decode(0x4000004000010040))
    assert "0x0400" in text and "16 B    not used: K-major, swizzled" in text
    assert "1024 B  from one group of 8 rows to the next" in text and "multiple of 1024, right" in text
    assert layouts.problems(Descriptor.decode(0x4000004000010040)) == ""


@pytest.mark.parametrize("major", ["K", "MN"])
def test_a_misplaced_pattern_is_reported(major):
    descriptor = Descriptor(start=0x480, stride=256, swizzle="32B")
    assert "wrong" in layouts.descriptor_table(descriptor, major) and "swizzle-start" in layouts.problems(descriptor)


def test_progress_is_for_terminals_only():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    with Progress(io.StringIO()) as progress:
        assert progress is None
    now = [0.0]
    stream = Terminal()
    with Progress(stream, lambda: now[0]) as progress:
        for done, now[0] in ((1, 0.5), (2, 1.4), (3, 1.5)):
            progress(done, 4)
    assert stream.getvalue().count("of 4 CTAs") == 1 and stream.getvalue().endswith("\r")


def test_work_in_which_no_cta_runs_is_shown_after_two_seconds():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    now = [0.0]
    stream = Terminal()
    progress = Progress(stream, lambda: now[0], doing="writing the page")
    progress.beat()
    now[0] = 1.9
    progress.beat()
    assert stream.getvalue() == ""
    now[0] = 3.2
    progress.beat()
    assert stream.getvalue().endswith("writing the page, 3 s")
    progress(1, 4)
    assert "1 of 4 CTAs" in stream.getvalue()
    now[0] = 4.0
    progress.beat()
    assert stream.getvalue().rstrip().endswith("1 of 4 CTAs, 3 s")  # news are recent
    now[0] = 6.0
    progress.beat()
    assert stream.getvalue().rstrip().endswith("finishing, 6 s")
    progress.__exit__()
    assert stream.getvalue().endswith("\r")


def test_all_that_may_take_long_says_what_it_is_doing(monkeypatch, tmp_path, capsys):
    said = []

    class Told(Progress):
        def __enter__(self):
            said.append(self.doing if isinstance(self.doing, str) else self.doing())

    for module in ("ptxsim.report.progress", "ptxsim.debugger.terminal", "ptxsim.programs.collector"):
        monkeypatch.setattr(f"{module}.Progress", Told)
    file = str(CASES / "barriers" / "count_differs.ptx")
    monkeypatch.chdir(tmp_path)
    main(["profile", file, "--format", "json"])
    (tmp_path / "old.json").write_text(capsys.readouterr().out)
    main(["profile", file, "--trace", "trace.json", "--against", "old.json"])
    assert {"reading, compiling", "writing the trace", "counting, comparing"} <= set(said)
    main(["debug", file, "-x", "step", "-x", "findings"])
    assert {"instruction 1", "running with all checks"} <= set(said)
    kernel = ptxsim.Module.from_file(file).kernel()
    Collector().launch(kernel, [], LaunchOptions(grid=(1, 1, 1), block=(32, 1, 1)))
    assert said[-1] == f"{kernel.name}, launch 0"

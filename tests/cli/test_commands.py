"""The command line: exit codes, suggestions, formats, and no traceback for anything."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import click
import pytest

import ptxsim
from ptxsim.cli import explain, main, running
from ptxsim.diagnostic import KINDS
from ptxsim.report.pages import page
from ptxsim.source import Source
from tests.helpers import ROOT, SAMPLES


@pytest.fixture
def kernel(tmp_path):
    def write(name, good=False):
        file = tmp_path / f"{name}{'.good' * good}.ptx"
        file.write_text(page(name).instead if good else page(name).example)
        return str(file)

    return write


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_exit_codes(kernel, tmp_path):
    assert run("run", kernel("out-of-bounds", good=True)) == 0
    assert run("run", kernel("out-of-bounds")) == 1
    assert run("run", kernel("expectation-failed")) == 1
    assert run("run", tmp_path / "none.ptx") == 2
    assert run("run", tmp_path) == 2
    assert run("run", kernel("bad-directive")) == 2
    assert run("profile", kernel("race-warp", good=True)) in (0, 3)
    assert run("check", kernel("illegal-form")) == 1
    assert run("check", kernel("illegal-form", good=True), kernel("out-of-bounds")) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", str(SAMPLES / "mma_gemm_swizzled.ptx"), "--json"], "--format json"),
        (["rnu", "x"], "did you mean run?"),
        (["run", "--gird", "1", "x"], "--grid"),
        (["run", "x", "--format", "jsn"], "json"),
        (["run", "x", "--target", "sm_90b"], "sm_90"),
        (["run", "x", "--grid", "0"], "sizes of 1 or more"),
        (["run", "x.cu", "--compiler-flags", "-DA='1"], "cannot be split into words"),
        (["run", "x", "--arg", "n="], "NAME=VALUE"),
        (["run", "x", "--max-steps", "0"], "1 or more"),
        (["run", "x", "--schedules", "0"], "1 or more"),
        (["explain", "misalined-address"], "did you mean misaligned-address?"),
        (["explain", "mbarrier-parity"], "did you mean mbarrier-phase?"),
        (["explain", "race"], "these begin so: race-warp, race-shared, race-global"),
        (["explain", "PTX43"], "PTX430"),
        (["explain", "ld.shared"], "forms of an instruction: ptxsim isa ld.shared"),
        (["desc", "strt=1"], "did you mean start?"),
        (["desc", "zebra"], "no 64-bit number"),
        (["desc", "0x1ffffffffffffffff"], "no 64-bit number"),
        (["run"], "Missing argument"),
        (["run", "x", "--ignore", "rase-warp"], "did you mean race-warp?"),
    ],
)
def test_bad_usage_is_answered_with_the_nearest_word(arguments, words, capsys):
    assert run(*arguments) == 2
    assert words in capsys.readouterr().err


def test_no_arguments_and_help_list_the_commands(capsys):
    run("--help")
    text = capsys.readouterr().out
    for name in ("run", "check", "banks", "profile", "layout", "desc", "explain", "isa"):
        assert f"\n  {name} " in text
    assert run() == 2


def test_every_command_has_help(capsys):
    for name in ("run", "check", "banks", "profile", "layout", "desc", "explain", "isa"):
        assert run(name, "--help") == 0
        assert "Usage: ptxsim " + name in capsys.readouterr().out


@pytest.mark.parametrize("typed, offered", [("race-s", ["race-shared"]), ("ptx42", ["PTX420", "PTX421", "PTX422"])])
def test_a_shell_completes_what_is_explained(typed, offered):
    command = explain.command
    items = command.params[0].type.shell_complete(click.Context(command), command.params[0], typed)
    assert [item.value for item in items] == offered and all(item.help for item in items)


def test_explain_knows_every_finding_by_name_and_code(capsys):
    for kind in KINDS.values():
        assert run("explain", kind.name) == 0 and run("explain", kind.code.lower()) == 0
    text = capsys.readouterr().out
    assert "Why it matters" in text and "```" not in text
    assert run("explain") == 0
    assert capsys.readouterr().out.count("\n") == len(KINDS)


def test_json_is_one_document(kernel, capsys):
    assert run("run", kernel("out-of-bounds"), "--format", "json") == 1
    record = json.loads(capsys.readouterr().out)
    assert record["findings"][0]["name"] == "out-of-bounds" and record["entry"] == "example"
    assert run("check", kernel("illegal-form"), "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["name"] == "illegal-form"


@pytest.mark.parametrize(
    ("format", "start"), [("github", "::error"), ("sanitizer", "========="), ("sarif", "{"), ("concise", "/")]
)
def test_the_other_formats(kernel, capsys, format, start):
    assert run("run", kernel("out-of-bounds"), "--format", format) == 1
    assert capsys.readouterr().out.startswith(start)


def test_select_and_ignore(kernel):
    assert run("run", kernel("out-of-bounds"), "--ignore", "PTX201") == 0
    assert run("run", kernel("out-of-bounds"), "--select", "race-warp") == 0


def test_outputs_fail_on_and_against(kernel, tmp_path, capsys):
    file = kernel("bank-conflict")
    assert run("banks", file, "--out", f"out={tmp_path / 'out.npy'}") == 0
    assert (tmp_path / "out.npy").exists()
    assert run("run", file, "--fail-on", "banks.worst > 1") == 1
    assert run("run", file, "--fail-on", "banks.worst > 32") == 0
    capsys.readouterr()
    assert run("banks", kernel("bank-conflict", good=True), "--format", "json") == 0
    (tmp_path / "old.json").write_text(capsys.readouterr().out)
    assert run("banks", file, "--against", tmp_path / "old.json") == 1
    text = capsys.readouterr().out
    assert "wavefronts: 1 -> 32" in text and "global-memory sectors" in text
    assert run("run", file, "--out", "nothing=x.npy") == 2


def test_against_another_kernel(kernel, tmp_path, capsys):
    """It is run in the same way, before anything else, and must run."""
    bad, good = kernel("bank-conflict"), kernel("bank-conflict", good=True)
    assert run("profile", bad, "--against", good) == 1
    text = capsys.readouterr().out
    assert f"against {good}:" in text and "wavefronts: 1 -> 32" in text and "cycles: " in text
    assert run("banks", good, "--against", bad, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["against"]["counts"]["shared-memory wavefronts"] == [32, 1]
    sample, other = SAMPLES / "mma_gemm_swizzled.ptx", SAMPLES / "wgmma_m64n64k16.ptx"  # which has no line 152
    assert run("run", sample, "--against", other, "--print", "152:a") == 1  # more wavefronts
    assert f"against {other}:" in capsys.readouterr().out
    (tmp_path / "none.ptx").write_text(".version 8.0")
    for name, code in (("none.ptx", 1), ("nothing.ptx", 2), ("old.json", 2)):
        assert run("run", bad, "--against", tmp_path / name) == code
        out = capsys.readouterr()
        assert name in out.err + out.out and "bank-conflict" not in out.out


def test_desc_builds_and_decodes(capsys):
    assert run("desc", "start=0x400", "stride=1024", "swizzle=128B") == 0
    assert "0x4000004000010040" in capsys.readouterr().out
    assert run("desc", "0x4000004000010040", "--reads") == 0
    assert "r0 k0" in capsys.readouterr().out
    assert run("desc", "start=0x480", "stride=1024", "swizzle=128B") == 1


def test_layout_of_a_short_form(capsys):
    assert run("layout", "mma.m16n8k16.f16", "--operand", "A", "--lane", 5) == 0
    assert capsys.readouterr().out == (
        " lane 5:  a0 (1,2)   a1 (1,3)   a2 (9,2)   a3 (9,3)   a4 (1,10)  a5 (1,11)  a6 (9,10)  a7 (9,11)\n"
    )
    assert run("layout", "mma.m16n8k16.f16", "--format", "svg") == 0
    assert capsys.readouterr().out.startswith("<svg")
    assert run("layout", "mma.m16n8k17.f16") != 0
    assert run("layout", "swizzle.128B") == 0


def test_layout_of_tensor_memory(capsys):
    assert run("layout", "tcgen05.ld.16x64b.x2", "--lane", 5) == 0
    assert capsys.readouterr().out == " lane 5:  r0 (9,0)  r1 (9,2)\n"
    assert run("layout", "tcgen05.st.32x32b.x1.unpack::16b", "--lane", 31) == 0
    assert capsys.readouterr().out == " lane 31:  r0 (31,0) (31,1)\n"
    assert run("layout", "tcgen05.ld.16x64b.x2", "--list") == 0
    assert len(capsys.readouterr().out.splitlines()) == 32
    assert run("layout", "tcgen05.ld.16x64b.x2", "--lane", 32) != 0
    assert run("layout", "tcgen05.mma.m64n32", "--lane", 1) != 0
    capsys.readouterr()
    for form in ("tcgen05.ld.16x64b.x2", "tcgen05.mma.m64n32", "tcgen05.scales.m128.4X"):
        assert run("layout", form, "--format", "json") == 0
        assert json.loads(capsys.readouterr().out)["panels"]


def test_broken_files_give_findings_not_tracebacks(tmp_path, capsys):
    whole = page("misaligned-address").instead.encode()
    broken = [
        b"",
        b"\x00\xff\xfe",
        b"\x7fELF",
        whole[: len(whole) // 2],
        whole.replace(b"}", b""),
        b"// ptxsim: launch block=" + b"9" * 5000,
        b"{" * 3000,
        whole * 2,
    ]
    for number, text in enumerate(broken):
        file = tmp_path / f"{number}.ptx"
        file.write_bytes(text)
        assert run("run", file) in (1, 2, 3), text[:20]
        assert run("check", file) in (0, 1, 2, 3), text[:20]
    assert "Traceback" not in capsys.readouterr().err


def test_an_internal_error_is_one_line(monkeypatch, kernel, capsys):
    monkeypatch.delenv("PTXSIM_DEBUG", raising=False)
    monkeypatch.setattr("ptxsim.cli.running.run_file", lambda *_: 1 / 0)
    assert run("run", kernel("trap")) == 4
    text = capsys.readouterr().err
    assert "internal error: ZeroDivisionError" in text and "PTXSIM_DEBUG" in text and "Traceback" not in text


def test_ctrl_c_is_quiet(monkeypatch, kernel, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ptxsim.cli.running.run_file", interrupt)
    assert run("run", kernel("trap")) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_colours_only_where_wanted(kernel, capsys):
    run("run", kernel("out-of-bounds"))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--help"], ["explain", "trap"], ["desc", "0x40"], ["layout", "mma.m16n8k16.f16"]]
)
def test_small_commands_load_nothing_slow(arguments):
    code = f"import sys\nfrom ptxsim.cli import main\nmain({arguments!r})\nslow = {{'numba', 'llvmlite', 'lark', 'rich', 'hypothesis'}} & set(sys.modules)\nassert not slow, slow\n"
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 5  # 0.1 to 0.3 s alone; other tests share the machine


def test_layout_loads_only_the_family_that_is_asked_for():
    code = "import sys\nfrom ptxsim.cli import main\nmain(['layout', 'mma.m16n8k16.f16', '--lane', '5'])\n"
    code += "assert not {'ptxsim.instructions.integer', 'ptxsim.machine.port', 'ptxsim.engine'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_notes_on_accesses_appear_when_selected(kernel, capsys):
    assert run("banks", kernel("bank-conflict"), "--select", "bank-conflict") == 0
    assert "note[PTX501] bank-conflict: " in capsys.readouterr().out
    assert run("run", kernel("uncoalesced"), "--select", "uncoalesced", "--format", "concise") == 0
    assert "note[PTX502] uncoalesced: " in capsys.readouterr().out
    assert run("run", kernel("uncoalesced"), "--format", "concise") == 0
    assert "uncoalesced" not in capsys.readouterr().out


def test_layout_draws_everything_in_every_format(capsys):
    import json

    for form in ("mma.m16n8k16.f16", "ldmatrix.m8n8.x4", "swizzle.64B", "tile.K.128B.tf32", "rows.x2"):
        for format in ("text", "svg", "latex", "json"):
            assert run("layout", form, "--format", format) == 0
            text = capsys.readouterr().out
            starts = {"svg": "<svg", "latex": "\\documentclass", "json": "{"}
            assert text.startswith(starts.get(format, "")) and (format != "json" or json.loads(text))
            assert format != "text" or max(map(len, text.split("\n"))) <= 100
    assert run("layout", "mma.m16n8k16.f32.f16", "--operand", "D", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["lanes"]["5"] == [[1, 2], [1, 3], [9, 2], [9, 3]]
    assert run("layout") == 2 and run("layout", "tile.K.128B.f17") != 0


def test_layout_decodes_metadata(capsys):
    assert run("layout", "mma.sp.m16n8k32.f16", "--metadata", "0x4444eeee") == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[3].split() == ["0:", "eeeeeeee", *(f"a{i}" for i in range(8))]
    assert run("layout", "mma.sp.m16n8k32.f16", "--metadata", "0x0") == 0
    assert "0x0 is not allowed" in capsys.readouterr().out
    assert run("layout", "mma.sp.m16n8k32.f16", "--metadata", "0x4444", "--selector", 7) != 0
    assert run("layout", "mma.sp.m16n8k32.f16", "--metadata", "x") == 2


def test_desc_of_sm_100(capsys):
    assert run("desc", "--tcgen05", "start=0x800", "stride=1024", "swizzle=128B") == 0
    out = capsys.readouterr().out
    assert "0x4000404000010080" in out and "version" in out
    assert run("desc", "--tcgen05", "0x6000404000010080") == 1  # number 3 is no swizzle
    assert "no swizzle" in capsys.readouterr().out


def test_desc_of_instructions(capsys):
    assert run("desc", "--kind", "f16", "m=128", "n=64", "d=f32") == 0
    assert "0x08100010" in capsys.readouterr().out
    assert run("desc", "--kind", "f16", "0x08100010") == 0
    assert "f32" in capsys.readouterr().out
    assert run("desc", "--kind", "f16", "m=96") == 1
    assert "no product of M = 96" in capsys.readouterr().out
    assert run("desc", "--kind", "f16", "mm=96") == 2


def test_desc_in_every_format(capsys):
    import json

    assert run("desc", "0x4000004000010040", "--format", "json", "--rows", 8) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["swizzle"] == "128B" and found["addresses"][1][0] == 0x490 and found["problems"] == []
    assert run("desc", "start=0x400", "stride=1024", "swizzle=128B", "--format", "svg") == 0
    assert capsys.readouterr().out.startswith("<svg")
    assert run("desc", "0x4000004000010040", "--format", "latex") == 0
    assert capsys.readouterr().out.startswith("\\documentclass")


def test_the_limit_names_its_option_and_its_number(kernel, capsys):
    assert run("run", kernel("limit-reached"), "--max-steps", "5000") == 1
    text = capsys.readouterr().out
    assert "the limit is 5000" in text and "--max-steps" in text


def test_help_shows_how_a_tolerance_is_written(capsys):
    run("run", "--help")
    assert "rtol=1e-3 atol=0" in capsys.readouterr().out


def test_the_summary_counts_the_schedules(kernel, capsys):
    file = kernel("race-shared", good=True)
    assert run("run", file, "--schedules", "3", "--seed", "5") == 0
    assert "3 schedules tried (seeds 5 to 7" in capsys.readouterr().out
    run("run", file)
    assert "schedules" not in capsys.readouterr().out


def test_fixes_that_help_little_beside_others_are_left_out(kernel, capsys):
    assert run("banks", SAMPLES / "mma_gemm_conflicts.ptx") == 0
    text = capsys.readouterr().out
    assert "swizzle 128B -> 4 wavefronts" in text and "both" not in text


def test_there_is_one_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ptxsim {ptxsim.__version__}\n"
    main(["check", str(SAMPLES / "wmma_gemm.ptx"), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["version"] == ptxsim.__version__


@pytest.mark.slow
def test_fixes_of_a_compilers_text_are_tried_and_told_in_its_words(capsys, monkeypatch):
    """A loop that was unrolled is one place: the barrier goes wherever the line comes again."""
    for name, told in (
        ("next_copy_too_soon", "Put __syncthreads() before line 14"),
        ("copy_not_waited", 'Put asm volatile("cp.async.wait_all;" ::: "memory") before line 14'),
    ):
        file = ROOT / "tests" / "cuda" / "broken" / f"{name}.ptx"
        made = replace(Source.from_file(file), made_from=Source.from_file(file.with_suffix(".cu")))
        monkeypatch.setattr(running, "read", lambda *_: made)  # noqa: B023
        assert main(["run", "kernel.cu", "--try-fixes"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"= tried: {told} (PTX: " in said and "no finding is left" in said, said


def test_words_behind_a_double_colon_are_found(capsys):
    for word in ("gather4", "mxf8f6f4", "tcgen05.mxf4nvf4"):
        assert run("isa", "--target", "sm_100a", word) == 0
        assert word.rpartition(".")[2] in capsys.readouterr().out


def test_a_picture_of_tensor_memory_that_there_is_not_is_said(capsys):
    assert run("layout", "tcgen05.mma.m256n64") == 1
    assert ".cta_group::2 for M = 256" in capsys.readouterr().err

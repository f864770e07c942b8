"""A file with directives is a whole test."""

import numpy as np
import pytest

from ptxsim.arrays import save
from ptxsim.diagnostic import PtxError
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import names, run_text, text_of

KERNEL = text_of("session/twice.ptx")
LAUNCH = "// ptxsim: launch grid=1 block=32\n"
ARGUMENTS = "// ptxsim: arg out = zeros(32):s32  in = ints(32):s32  n = 32\n"


def test_a_file_that_keeps_its_word_has_no_findings():
    result = run_text(LAUNCH + ARGUMENTS + "// ptxsim: expect out == in * 2\n// ptxsim: expect in == in_in\n" + KERNEL)
    assert result.passed and result.findings == [] and result.checked == 2
    assert np.array_equal(result.values["out"], 2 * result.values["in"])
    assert not result.values["out_in"].any()


def test_a_failed_expectation_is_at_its_own_line():
    result = run_text(LAUNCH + ARGUMENTS + "// ptxsim: expect out == in * 3\n" + KERNEL)
    (finding,) = result.findings
    assert (finding.name, finding.line, finding.column, finding.file) == ("expectation-failed", 3, 19, "k.ptx")
    assert not result.passed


def test_data_differ_between_arguments_and_follow_the_seed():
    text = LAUNCH + "// ptxsim: arg out = ints(32):s32 in = ints(32):s32 n = 0\n" + KERNEL
    first, again, other = run_text(text), run_text(text), run_text("// ptxsim: seed 5\n" + text)
    assert not np.array_equal(first.values["out"], first.values["in"])
    assert np.array_equal(first.values["in"], again.values["in"])
    assert not np.array_equal(first.values["in"], other.values["in"])


def test_options_win_over_directives():
    result = run_text(LAUNCH + ARGUMENTS + KERNEL, arguments={"n": "4"}, block=(8, 1, 1), seed=3)
    assert np.count_nonzero(result.values["out"]) <= 4 and result.run.seed == 3 and result.run.block == (8, 1, 1)


def test_an_option_may_name_the_parameter_instead_of_the_argument():
    text = LAUNCH + "// ptxsim: arg D = zeros(32):s32  A = ramp(32):s32  count = 32\n" + KERNEL
    assert not run_text(text, arguments={"n": "0"}).values["D"].any()


def test_a_file_argument_is_found_beside_the_kernel(tmp_path):
    save(tmp_path / "in.npy", np.arange(32, dtype=np.int32))
    file = tmp_path / "k.ptx"
    file.write_text(
        LAUNCH
        + "// ptxsim: arg out = zeros(32):s32 in = in.npy:s32 n = 32\n// ptxsim: expect out == arange(32)*2\n"
        + KERNEL
    )
    assert run_file(file).findings == []


@pytest.mark.parametrize("which", ["in", "1"])
def test_a_file_that_the_caller_gives_is_found_where_the_caller_stands(which, tmp_path, monkeypatch):
    save(tmp_path / "in.npy", np.arange(32, dtype=np.int32))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels").mkdir()
    file = tmp_path / "kernels" / "k.ptx"
    given = "// ptxsim: arg out = zeros(32):s32 in = zeros(32):s32 n = 32\n// ptxsim: expect out == arange(32)*2\n"
    file.write_text(LAUNCH + given + KERNEL)
    assert run_file(file, options=Options(arguments={which: "in.npy:s32"})).findings == []


def test_without_directives_it_says_what_to_add():
    (finding,) = run_text(KERNEL).findings
    assert finding.name == "bad-directive" and finding.line == 4
    assert "// ptxsim: arg out = zeros(1024):f32" in finding.notes and "// ptxsim: arg n = 1" in finding.notes
    note, *_ = run_text(ARGUMENTS + KERNEL).findings
    assert note.level == "note" and "launch grid=1 block=32" in note.help


def test_the_default_block_is_the_kernels_own():
    text = ARGUMENTS + KERNEL.replace("\n{", "\n.reqntid 16, 2, 1\n{")
    assert run_text(text).run.block == (16, 2, 1)


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        ("// ptxsim: arg extra = 1", "one too many"),
        ("// ptxsim: expect out == Q", "no argument is called 'Q'"),
        ("// ptxsim: expect out == in[9999]", "out of bounds"),
        ("// ptxsim: expect out == in @ out_in.reshape(3, 3)", "cannot reshape"),
    ],
)
def test_what_is_wrong_with_the_words_of_a_file(directive, message):
    result = run_text(LAUNCH + ARGUMENTS + directive + "\n" + KERNEL)
    assert [finding.line for finding in result.findings] == [3]
    assert message in result.findings[0].message and result.findings[0].name == "bad-directive"


def test_an_unknown_argument_of_an_option():
    (finding,) = run_text(LAUNCH + ARGUMENTS + KERNEL, arguments={"outt": "1"}).findings
    assert finding.help == "did you mean out?"


def test_an_argument_in_the_place_of_another_is_refused():
    order = "// ptxsim: arg n = 32  in = ints(32):s32  out = zeros(32):s32\n"
    (finding,) = run_text(LAUNCH + order + KERNEL).findings
    assert finding.message == "n stands where out belongs: arguments bind by position"
    assert (finding.line, finding.help) == (2, "give them in the order of the parameters: out, in, n")


def test_a_parameter_that_is_none_names_those_that_are():
    (finding,) = run_text(LAUNCH + ARGUMENTS + KERNEL.replace("[n]", "[zzz]")).findings
    assert finding.help is not None and finding.help.startswith("known: out, in, n, twice; else declare it")


def test_a_value_of_an_option_has_no_place_in_the_file():
    (finding,) = run_text(LAUNCH + ARGUMENTS + KERNEL, arguments={"in": "nowhere.npy:s32"}).findings
    assert finding.line == 0 and "nowhere.npy" in finding.message


SHORT = LAUNCH + ARGUMENTS.replace("zeros(32)", "zeros(31)") + KERNEL


def test_an_expected_finding_is_no_failure():
    line = SHORT.split("\n").index("    st.global.u32 [%rd1], %r4;") + 2
    result = run_text(f"// ptxsim: expect out-of-bounds at {line}\n" + SHORT)
    assert result.passed and names(result.expected) == ["out-of-bounds"]
    assert run_text("// ptxsim: expect PTX201\n" + SHORT).passed


def test_an_expected_finding_that_is_missing_or_elsewhere_is_a_failure():
    result = run_text("// ptxsim: expect out-of-bounds at 3\n" + SHORT)
    assert {finding.name for finding in result.findings} == {"out-of-bounds", "expectation-failed"}
    missing = next(finding for finding in result.findings if finding.name == "expectation-failed")
    assert missing.line == 1 and "instead" in missing.notes[0]
    assert names(run_text("// ptxsim: expect trap\n" + LAUNCH + ARGUMENTS + KERNEL).findings) == ["expectation-failed"]


def test_errors_of_the_text_may_be_expected_too():
    broken = KERNEL.replace("add.s32", "addd.s32")
    assert names(run_text(LAUNCH + ARGUMENTS + broken).findings) == ["unknown-instruction"]
    result = run_text("// ptxsim: expect unknown-instruction\n" + LAUNCH + ARGUMENTS + broken)
    assert result.passed and result.run is None


def test_several_schedules_merge_their_findings():
    result = run_text(SHORT, schedules=3)
    assert names(result.findings) == ["out-of-bounds"]


LAST_ONE = text_of("session/last_warp.ptx")


def test_what_another_schedule_changes_is_an_error():
    varies = run_text(LAST_ONE, schedules=8)
    (finding,) = varies.findings
    assert (finding.name, finding.line) == ("schedule-dependent", 2)
    seed = int(finding.message.split("--seed ")[-1])
    first, other = varies.values["D"][0], run_text(LAST_ONE, seed=seed).values["D"][0]
    assert finding.message == f"D[0] is {first} with --seed 0 and {other} with --seed {seed}"
    assert "stored at line 13" in finding.notes[0]
    # Where the file says what is right, that is what counts.
    assert run_text("// ptxsim: expect D < 4\n" + LAST_ONE, schedules=8).passed


def test_expectations_are_judged_on_every_schedule():
    first = run_text(LAST_ONE).values["D"][0]
    result = run_text(f"// ptxsim: expect D == {first}\n" + LAST_ONE, schedules=8)
    (finding,) = result.findings
    assert finding.name == "expectation-failed" and finding.notes[0].startswith("seen with --seed ")
    seed = int(finding.notes[0].split()[-1])
    other = run_text(LAST_ONE, seed=seed).values["D"][0]
    assert f"D[0] is {other}" in finding.message and result.values["D"][0] == first
    assert run_text(f"// ptxsim: expect D == {first}\n" + LAST_ONE, schedules=seed).passed
    assert f"seen with --seed {seed}" not in finding.notes[1:]


def test_bad_directives_are_raised():
    with pytest.raises(PtxError):
        run_text("// ptxsim: lunch\n" + KERNEL)
    with pytest.raises(OSError):
        run_file("/no/such/file.ptx")


TENSOR_COPY = text_of("session/swizzled_tile.ptx")


def test_a_tensor_map_is_an_argument_and_its_name_the_array():
    result = run_text(TENSOR_COPY)
    assert result.findings == [] and result.values["A"].shape == (8, 64)


def test_a_tensor_map_may_name_an_earlier_argument():
    lines = [
        LAUNCH.strip(),
        "// ptxsim: arg T = ramp(8,64):f16 A = tensormap(T, box=64x8)",
        "// ptxsim: expect T == T_in",
        *TENSOR_COPY.split("\n")[4:],
    ]
    text = "\n".join(lines).replace(
        "k(.param .align 64 .b8 A[128], .param .u64 out)", "k(.param .u64 out, .param .align 64 .b8 A[128])"
    )
    # The copy arrives unswizzled and is stored where it came from.
    assert run_text(text).findings == []
    (finding,) = run_text(text.replace("tensormap(T,", "tensormap(U,")).findings
    assert "no earlier argument 'U'" in finding.message and finding.line == 2


def test_a_tensor_map_is_passed_by_value_and_the_refusal_says_how():
    (finding,) = run_text(TENSOR_COPY.replace(".param .align 64 .b8 A[128]", ".param .u64 A")).findings
    assert "A has 8 bytes; a tensor map has 128" in finding.message
    assert finding.help is not None and ".param .align 64 .b8 A[128]" in finding.help


def test_a_tensor_map_at_an_odd_address_says_how_it_is_declared():
    params = "k(.param .u64 out, .param .align 8 .b8 A[128])"
    text = TENSOR_COPY.replace("k(.param .align 64 .b8 A[128], .param .u64 out)", params)
    arguments = "// ptxsim: arg out = zeros(8,64):f16  A = tensormap(ramp(8,64):f16, box=64x8, swizzle=128B)"
    (finding, *_) = run_text("\n".join([LAUNCH.strip(), arguments, *text.split("\n")[4:]])).findings
    assert finding.name == "misaligned-address" and finding.help is not None
    assert ".param .align 64 .b8 map[128]" in finding.help and "narrower" not in finding.help


def test_past_an_array_of_a_known_size_the_array_is_to_grow():
    text = TENSOR_COPY.replace("tile[1024]", "tile[512]")
    finding = next(finding for finding in run_text(text).findings if finding.name == "out-of-bounds")
    assert "1024 bytes at 0x800, in tile, which is 0x800..0xa00 (512 bytes)" in finding.message
    assert finding.help == "check the index, or declare tile larger"


def test_a_swizzle_that_is_none_and_a_box_that_is_too_wide_for_one():
    (finding,) = run_text(TENSOR_COPY.replace("swizzle=128B", "swizzle=128")).findings
    assert finding.help == "did you mean 128B?"
    (finding,) = run_text(TENSOR_COPY.replace("swizzle=128B", "swizzle=64B")).findings
    assert "no more than 64: 32 elements" in finding.message


def test_sizes_of_a_tensor_map_that_have_a_comma_between_them():
    with pytest.raises(PtxError) as caught:
        run_text(TENSOR_COPY.replace("box=64x8", "box=64,8"))
    assert caught.value.findings[0].help == "write box=64x8, innermost first"


def test_a_tensor_map_that_the_driver_would_refuse_is_a_finding():
    (finding,) = run_text(TENSOR_COPY.replace("box=64x8", "box=128x8")).findings
    assert finding.line == 2 and finding.level == "error"


@pytest.mark.parametrize(("entry", "help"), [(None, "launch entry=twice"), ("twise", "did you mean twice?")])
def test_an_entry_that_is_none_or_not_clear(entry, help):
    (finding,) = run_text(LAUNCH + KERNEL + ".visible .entry other() { ret; }\n", entry=entry).findings
    assert finding.name == "bad-directive" and help in finding.help


def test_an_entry_by_name_or_by_directive():
    text = LAUNCH + KERNEL + ".visible .entry other() { ret; }\n"
    assert run_text(text, entry="other").run.entry == run_text(text, entry="oth").run.entry == "other"
    assert "2 entries match 't'" in run_text(text, entry="t").findings[0].message
    assert run_text(text.replace("block=32", "block=32 entry=other")).run.entry == "other"
    assert "no .entry" in run_text(".version 8.0\n.target sm_90\n").findings[0].message

"""Findings stand at the line of CUDA that the PTX was made from, with the line of PTX after it."""

import json

import pytest

from ptxsim.demangle import demangle, is_named, is_part, local_name, short_name
from ptxsim.diagnostic import Finding
from ptxsim.report import banks
from ptxsim.report.formats import to_github, to_sarif
from ptxsim.report.page.document import page
from ptxsim.report.profile import profile_text
from ptxsim.report.text import render, render_concise
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from ptxsim.source_lines import SourceLine, line_table
from tests.helpers import ROOT, text_of

REV = ROOT / "tests" / "report" / "rev.ptx"  # beside rev.cu, as which it stands


@pytest.fixture
def finding():
    (found,) = run_file(REV, options=Options(checks="all")).expected
    return found


def test_a_finding_knows_its_line_of_cuda(finding):
    assert finding.name == "race-shared" and finding.line == 24
    assert (finding.source_file, finding.source_line) == ("somewhere/rev.cu", 1)
    assert finding.inlined_at == (SourceLine("somewhere/rev.cu", 6, 3),)
    record = finding.to_dict()
    assert (record["source_line"], record["inlined_at"]) == (1, ["somewhere/rev.cu:6"])


def test_the_report_begins_with_the_line_of_cuda(finding):
    lines = render(finding).split("\n")
    assert lines[0].endswith("at s+128 (0x480), which warp 1 writes without order between the two")
    assert lines[1].endswith(f"--> {REV.with_suffix('.cu')}:1:41")
    assert lines[3].strip() == "1 | __device__ int swapped(int* s, int t) { return s[63 - t]; }"
    assert any(line.strip() == "5 |   s[t] = d[t];" for line in lines)
    assert "    ... inlined at somewhere/rev.cu:6" in [line.replace("   ...", "    ...") for line in lines]
    assert any(line.endswith(f"--> {REV}:24:5") for line in lines)


def test_other_formats_point_at_it_too(finding):
    assert render_concise([finding]).startswith(f"{REV.with_suffix('.cu')}:1:41: error[PTX421]")
    assert f"file={REV.with_suffix('.cu')},line=1,col=41" in to_github([finding])
    assert "between line 5 (PTX: 21) and line 1 (PTX: 24)" in to_github([finding])
    assert f"{REV}:24: ld.shared.u32 %25r2, [%25r3];" in to_github([finding])
    result = json.loads(to_sarif([finding], "1"))["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("rev.cu")
    assert result["relatedLocations"][-1]["physicalLocation"]["region"]["startLine"] == 24


def test_without_the_file_the_line_is_named():
    found = Finding("trap", "stopped", 24).of(Source(text_of("report/rev.ptx"), "k.ptx"))
    assert "--> somewhere/rev.cu:1:41" in render(found)
    assert "file=k.ptx,line=24" in to_github([found])


def test_lines_of_headers_are_shown_where_they_are_called():
    text = """.file 1 "/usr/include/cuda/barrier"\n.file 2 "k.cu"\n.entry k() {
        .loc 2 9 1\n.loc 1 50 3, function_name $f, inlined_at 2 9 1\nret;\n}\n.entry l() {\nret;\n}"""
    source = Source(text)
    assert source.origin(6) == SourceLine("k.cu", 9, 1)
    assert source.origin(9) is None
    assert not line_table("// .loc in a comment\n.entry k() { ret; }")


def test_a_function_that_is_inlined_twice_belongs_to_the_call_that_was_named_last():
    """LLVM writes out where it was inlined the first time only; the fourth and fifth pieces here are of lines 9 and 12 again."""
    call = ".loc 2 {} 1\n.loc 1 50 3, function_name $f, inlined_at 2 {} 1\n"
    inner = ".loc 1 60 3, function_name $g, inlined_at 1 50 3\nret;\n"
    text = '.file 1 "/usr/include/cuda/barrier"\n.file 2 "k.cu"\n.entry k() {\n'
    text += (
        call.format(9, 9)
        + inner
        + call.format(12, 12)
        + inner
        + ".loc 2 9 1\n"
        + inner
        + ".loc 2 12 1\n"
        + inner
        + ".loc 2 10 1\n"
        + inner
    )
    source = Source(text)
    lines = [number for number, line in enumerate(source.lines, 1) if line == "ret;"]
    assert [source.origin(line).line for line in lines] == [9, 12, 9, 12, 12]


def test_no_file_is_read_that_is_none(tmp_path):
    for name in ("/dev/zero", str(tmp_path), "a\0b", "/no/such"):
        assert Source("").original(name) is None


def test_readable_names():
    assert demangle("_Z5scaleIfEvPT_S0_i") == "scale<float>(float*, float, int)"
    assert demangle("kernel") == "kernel" and demangle("_Znonsense") == "_Znonsense"
    assert demangle("__nv_static_10__ab_4_a_cu__Z3revPi") == "rev(int*)"  # static, of nvcc -rdc=true
    assert local_name("_ZZ3revPiE1s") == "s"
    assert is_named("_Z5scaleIfEvPT_S0_i", "scale") and is_named("_Z5scaleIfEvPT_S0_i", "scale<float>")
    assert is_part("_Z5scaleIfEvPT_S0_i", "float *, float") and not is_part("_Z3revPi", "scale")


AGENT = (
    "_ZN6thrust23THRUST_300001_SM_900_NS8cuda_cub4core6detail13_kernel_agentINS1_8__unique9InitAgentIN3cub17CUB_300001_SM_90013"
    "ScanTileStateIiLb1EEEPiiEEJSA_mSB_EEEvDpT0_"
)


def test_names_of_templates_fit_into_a_line():
    assert short_name("_Z5scaleIfEvPT_S0_i") == "scale<float>(float*, float, int)"
    assert short_name("_Z5scaleIfEvPT_S0_i", 15) == "scale<float>"
    assert short_name("k" * 120) == "k" * 120
    assert short_name("_ZN7cutlass6kernelIN4cute1aEXnoneEEvv") == "cutlass::kernel<…>"  # no demangler reads it
    assert short_name("_Znone") == "_Znone"
    name = "thrust::cuda_cub::core::detail::_kernel_agent<thrust::cuda_cub::__unique::InitAgent<…>, "
    assert short_name(AGENT).startswith(name) and len(short_name(AGENT)) <= 100
    assert short_name(AGENT, 60).endswith("…") and len(short_name(AGENT, 60)) == 60


def test_tables_show_the_line_of_cuda_above_its_rows():
    result = run_file(Source.from_file(REV), options=Options(profile=1))
    shared, outer = banks.table(result, width=120).split("global memory")
    lines = [line.strip() for line in shared.splitlines()]
    above = lines.index("rev.cu:5  s[t] = d[t];")
    assert lines[above + 1].startswith("21  st.shared.u32")
    assert lines[above + 2].startswith("rev.cu:1  __device__ int swapped") and lines[above + 3].startswith(
        "24  ld.shared"
    )
    assert "rev.cu:6  d[t] = swapped(s, t);" in outer
    assert "rev.cu:5  s[t] = d[t];" in profile_text(result)
    (row, _) = result.run.to_dict()["banks"]["rows"]
    assert (row["source_file"], row["source_line"]) == ("somewhere/rev.cu", 5)
    shown = page(result, "1")
    assert 'aria-label="CUDA or Python"' in shown and 'id="file-0-5"' in shown and "rev.cu:5  s[t] = d[t];" in shown


def test_the_innermost_line_that_is_nearest_to_the_user():
    def chosen(*files):
        line = None
        for number, file in enumerate(reversed(files)):
            line = SourceLine(file, number, 1, line)
        return line.of_the_user().file

    toolkit, library = "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/mma.h", "cutlass/include/cute/gemm.hpp"
    assert chosen(toolkit, library, "gemm.cu") == "gemm.cu"
    assert chosen(toolkit, library, "cutlass/include/cutlass/device_kernel.h") == library
    assert (
        chosen("/x/site-packages/triton/language/standard.py", "/x/site-packages/liger/norm.py")
        == "/x/site-packages/liger/norm.py"
    )
    assert chosen("/usr/include/crt/device.h", toolkit) == toolkit

"""`ptxsim run --why`: what `ptxsim exec --why` says, of the launch that a file describes."""

import json

import pytest

from ptxsim.cli import main
from tests.helpers import ROOT, text_of

FILE = str(ROOT / "tests" / "cli" / "shifted_rows.ptx")


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_elements_by_the_names_and_shapes_of_the_file(engine, capsys):
    assert main(["run", FILE, "--engine", engine, "--why", "out[1,5]", "--why", "out[3,0]", "--why", "out[37]"]) == 0
    said = capsys.readouterr().out
    assert "out[1,5] is 69 after k, launch 0; it was 0 before" in said
    assert "stored at line 22 of the PTX by block (1,0,0) thread (5,0,0)" in said
    assert "depends on left[2,5], 1 of the 32 elements that the block loads at line 21 of the PTX" in said
    assert "out[3,0] is 0" in said and "no thread of this launch stores to it; stored is out[0:2,:]" in said
    assert said.count("out[1,5] is 69") == 2
    assert "arguments: n = 3" in said


def test_json_keeps_standard_output_to_itself(capsys):
    assert main(["run", FILE, "--format", "json", "--why", "out[1,5]"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["findings"] == [] and "out[1,5] is 69" in output.err


def test_questions_that_name_no_element(capsys):
    assert main(["run", FILE, "--why", "out"]) == 2
    assert "names no element" in capsys.readouterr().err
    assert main(["run", FILE, "--why", "outt[1]"]) == 2
    error = capsys.readouterr().err
    assert "no array argument is called 'outt'" in error and "out" in error
    assert main(["run", FILE, "--why", "out[9,9]"]) == 2
    assert "--why out[9,9]: it has the shape (4, 32)" in capsys.readouterr().err


def test_a_launch_that_an_error_ends_is_not_told_of(tmp_path, capsys):
    wrong = tmp_path / "wrong.ptx"
    wrong.write_text(text_of("cli/shifted_rows.ptx").replace("%a+128", "%a+1280000"))
    assert main(["run", str(wrong), "--why", "out[0]"]) == 1
    assert "--why: the launch did not come to its end" in capsys.readouterr().out


def test_arrays_that_tensor_maps_describe(capsys):
    file = ROOT / "tests" / "cases" / "tensor_copy" / "gathered_rows.ptx"
    assert main(["run", str(file), "--why", "B[3,1]"]) == 0
    said = capsys.readouterr().out
    assert "B[3,1] is " in said and "depends on A[40,17], 1 of the 32 elements" in said

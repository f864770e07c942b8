"""`ptxsim isa`: what the registry holds, as text and as plain values."""

import json

from click.testing import CliRunner

from ptxsim.cli.isa import command
from ptxsim.isa import registry
from ptxsim.isa.facts import IMAGES, NOTHING, SEVERAL_GPUS
from ptxsim.isa.operand import Reg
from ptxsim.session.listing import WIDTH, entries, paragraph


def test_every_line_fits():
    assert all(len(line) <= WIDTH for entry in entries(None) for line in paragraph(entry).splitlines())


def test_a_target_has_fewer_forms_and_words():
    everywhere, old = list(entries("mma")), list(entries("mma", "sm_75"))
    assert 0 < len(old) < len(everywhere)
    assert not any("bf16" in words for entry in old for words in entry["words"].values())


def test_dotted_words_find_a_form():
    found = list(entries("mma.m16n8k16.f16", "sm_90a"))
    assert found and all("m16n8k16" in entry["words"].get("shape", entry["notation"]) for entry in found)


def test_missing_is_what_is_not_modeled():
    found = list(entries(None, missing=True))
    assert found and all(entry["missing"] and not entry["modeled"] for entry in found)
    assert not any(entry["missing"] for entry in entries(None) if entry["modeled"])
    assert not any(entry["name"] == "xor" for entry in entries(None, missing=True))


def test_reasons_are_of_the_few_kinds_that_there_are():
    """Images and memory of several GPUs by decision; the rest because nothing public says what it does, or it does nothing."""
    for target in ("sm_90a", "sm_100a", "sm_103a", "sm_120a"):
        reasons = {entry["missing"] for entry in entries(None, target, missing=True)}
        assert {reason for reason in reasons if "no public" not in reason} == {IMAGES, NOTHING, SEVERAL_GPUS}


def test_a_form_that_is_not_executed_is_not_hidden_by_one_that_is(monkeypatch):
    """Two rows of one notation with other words: `im2col::w` once was missing beside `im2col`, and not listed."""
    monkeypatch.setitem(registry._DECLARED, "trial", [])
    monkeypatch.delitem(registry._FORMS, "trial", raising=False)
    registry.instruction("trial.mode d, a", mode="one", operands={"d": Reg("u32"), "a": Reg("u32")})(lambda a: a)
    registry.declare("trial.mode d, a", missing="a trial", mode="two", operands={"d": Reg("u32"), "a": Reg("u32")})
    assert [entry["words"] for entry in entries("trial", missing=True)] == [{"mode": {"two": ""}}]


def test_json_is_read_back():
    result = CliRunner().invoke(command, ["ldmatrix", "--format", "json"], standalone_mode=False)
    assert json.loads(result.output) == list(entries("ldmatrix"))


def test_a_pipe_gets_a_line_for_each_form():
    result = CliRunner().invoke(command, ["mma"], standalone_mode=False)
    assert len(result.stdout.splitlines()) == len(list(entries("mma")))
    assert all(entry["notation"] in result.stdout for entry in entries("mma"))


def test_a_pattern_that_nothing_matches_names_what_was_meant():
    result = CliRunner().invoke(command, ["ldmatrx"], standalone_mode=False)
    assert "did you mean ldmatrix?" in result.stderr
    assert "did you mean" not in CliRunner().invoke(command, ["ldmatrix", "--target", "sm_70"]).stderr

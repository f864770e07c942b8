"""The formats of other tools, and the JSON of a run."""

import json

import numpy as np
import pytest

from ptxsim.diagnostic import Finding, Label, PtxError
from ptxsim.report import against, formats, records, selection
from ptxsim.session.ptxfile.file import FileRun
from ptxsim.session.run import BankRow, BankTable, Run
from ptxsim.source import Source

SOURCE = Source("a\nb\nc", "k,1.ptx")
ERROR = Finding(
    "race-shared", "100 % wrong\nindeed", 2, 3, help="sync", labels=(Label(1, "first"),), count=3, cta=(0, 0, 0), warp=1
).of(SOURCE)
NOTE = Finding("bank-conflict", "8-way", 3).of(SOURCE)


def file_run(findings=(), **facts):
    rows = [
        BankRow(57, "ldmatrix.x4", 16, 512, 64, 8, "8 rows, 128 B apart", ["swizzle 128B -> 64"], "ldmatrix"),
        BankRow(88, "st.shared.v4.b32", 8, 64, 32, 2, "", [], "st", conflicts=32),
        BankRow(90, "atom.shared.cas.b32", 1, 4, 2, 2, "", [], "cas", conflicts=1),
    ]
    run = Run(
        "k.ptx", "gemm", "sm_90a", "interpreter", 0, list(findings), BankTable(rows), warp_instructions=1234, **facts
    )
    return FileRun(SOURCE, run, list(findings))


def test_github_commands_are_escaped():
    first, second = formats.to_github([ERROR, NOTE]).split("\n")
    assert (
        first
        == "::error file=k%2C1.ptx,line=2,col=3,title=PTX420 race-shared::".replace("PTX420", ERROR.code)
        + "100 %25 wrong%0Aindeed%0Ahelp: sync"
    )
    assert second.startswith("::notice ")


def test_sarif_has_rules_places_and_help():
    document = json.loads(formats.to_sarif([ERROR, NOTE, ERROR], "1.2"))
    run = document["runs"][0]
    assert document["version"] == "2.1.0" and run["tool"]["driver"]["version"] == "1.2"
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [ERROR.code, NOTE.code, ERROR.code]
    assert "## Why it matters" in rules[run["results"][0]["ruleIndex"]]["help"]["markdown"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 2 and place["artifactLocation"]["uri"] == "k,1.ptx"
    assert run["results"][0]["relatedLocations"][0]["message"]["text"] == "first"


def test_sanitizer_lines_all_have_the_prefix():
    lines = formats.to_sanitizer([ERROR], "1.2", "gemm").split("\n")
    assert all(line.startswith("=========") for line in lines)
    assert lines[-1] == "========= ERROR SUMMARY: 1 error"


def test_the_json_has_the_contracts_keys():
    record = json.loads(records.to_json(records.run_record(file_run([ERROR]), "1.2")))
    assert set(records.TOP_LEVEL) <= set(record)
    assert record["findings"][0]["cta"] == [0, 0, 0] and record["findings"][0]["labels"][0]["line"] == 1
    assert record["banks"]["rows"][0]["why"] == "8 rows, 128 B apart"


def test_a_file_that_did_not_run_has_the_same_keys():
    record = records.run_record(FileRun(SOURCE, None, [ERROR]), "1.2")
    assert set(records.TOP_LEVEL) <= set(record) and record["banks"] is None


def test_profiler_names():
    metrics = records.profiler_metrics(file_run().run)
    assert metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] == 512
    assert metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"] == 32
    # Half the excess of a compare-and-swap.
    assert metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum"] == 1
    rows = file_run().run.banks.rows
    assert metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"] == sum(row.wavefronts for row in rows)
    assert metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] == sum(row.conflicts for row in rows)
    empty = file_run().run
    empty.bank_source = BankTable()
    always = records.profiler_metrics(empty)
    assert set(always.values()) == {0} and len(always) == 10 and always.keys() <= metrics.keys()


def test_numpy_values_become_json():
    assert json.loads(records.to_json({"a": np.arange(3), "b": np.float32(1.5), "c": np.int64(7)})) == {
        "a": [0, 1, 2],
        "b": 1.5,
        "c": 7,
    }


def test_selection_by_name_code_and_family():
    assert selection.parse_names("race-shared,PTX5") == ("race-shared", "bank-conflict", "uncoalesced")
    with pytest.raises(PtxError):
        selection.parse_names("race-sharde")
    assert selection.chosen([ERROR, NOTE], ("bank-conflict",), ()) == [NOTE]
    assert selection.chosen([ERROR, NOTE], (), ("bank-conflict",)) == [ERROR]


def test_a_failed_expectation_cannot_be_deselected():
    failed = Finding("expectation-failed", "x")
    assert selection.chosen([failed], ("trap",), ("expectation-failed",)) == [failed]


def test_fail_on():
    counts = {"banks": {"worst": 8}, "cycles": None}
    assert "banks.worst is 8" in selection.fails_on("banks.worst > 1", counts)
    assert selection.fails_on("banks.worst > 8", counts) is None
    for text in ("bank.worst > 1", "banks.wrst > 1", "banks.worst", "cycles > 1"):
        with pytest.raises(PtxError):
            selection.fails_on(text, counts)
    with pytest.raises(PtxError) as raised:
        selection.fails_on("banks.worst > 1 or cycles > 5", counts)
    (finding,) = raised.value.findings
    assert finding.message.startswith("--fail-on cannot be read") and "--fail-on 'banks.worst > 1'" in finding.help


def test_against_tells_better_from_worse(tmp_path):
    new = records.run_record(file_run([ERROR]), "1")
    old = json.loads(records.to_json(records.run_record(file_run([]), "1")))
    old["banks"]["wavefronts"] = 290
    changed = against.document(old, new)
    lines = against.lines(changed)
    assert changed["worse"] and "shared-memory wavefronts: 290 -> 580 (+100.0 %)" in lines
    assert any(line.startswith("new: race-shared") for line in lines)
    assert "worse: shared-memory wavefronts" in lines
    assert not against.document(new, new)["worse"]
    more = new | {"warp_instructions": new["warp_instructions"] + 100}
    assert not against.document(new, more)["worse"]  # wavefronts say what they cost
    bare = {key: value for key, value in new.items() if key not in ("banks", "cycles")}
    assert against.document(bare, bare | {"warp_instructions": new["warp_instructions"] + 1})["worse"]
    file = tmp_path / "old.json"
    file.write_text("[]")
    for name in ("old.json", "none.json"):
        with pytest.raises(PtxError):
            against.load(tmp_path / name)

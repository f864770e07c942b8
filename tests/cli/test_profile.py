"""`ptxsim profile`: text, JSON, traces, listings."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ptxsim.cli import ptxsim
from tests.helpers import SAMPLES


def profile(*arguments: str):
    return CliRunner().invoke(
        ptxsim, ["profile", str(SAMPLES / "mma_gemm_swizzled.ptx"), *arguments], standalone_mode=False
    )


def test_text_names_cycles_stalls_pipes_and_what_limits():
    found = profile("--target", "sm_90a")
    assert found.exit_code == 0, found.output
    for word in ("cycles on H200", "occupancy", "limited by", "stalls", "pipes", "help:"):
        assert word in found.output


def test_json_has_the_number_and_its_story(tmp_path):
    trace = tmp_path / "out.pftrace"
    found = profile("--target", "sm_90a", "--format", "json", "--trace", str(trace))
    document = json.loads(found.stdout)
    assert document["cycles"] == document["profile"]["cycles"] > 0
    assert set(document["profile"]) >= {
        "error",
        "time_us",
        "stalls",
        "pipes",
        "occupancy",
        "lines",
        "suggestions",
        "memory",
    }
    assert {event["ph"] for event in json.loads(trace.read_text())["traceEvents"]} == {"M", "X"}


def test_another_machine_of_the_target_can_be_asked_for():
    found = profile("--target", "sm_90a", "--gpu", "h100", "--explain-model")
    assert found.exit_code == 0 and "cycles on H100" in found.output and "machine: H100" in found.output


@pytest.mark.parametrize(
    ("gpu", "said"),
    [
        ("A100", "gpu='A100' runs sm_80, and the launch is for sm_90a"),
        ("H10O", "gpu='H10O': there are no figures of such a machine"),
        ("", "gpu='': there are no figures of such a machine"),
    ],
)
def test_a_machine_of_another_target_is_refused(gpu, said):
    found = profile("--target", "sm_90a", "--gpu", gpu)
    assert found.return_value == 2 and said in found.output


def test_listing_and_model_are_explained():
    found = profile("--sass", "--explain-model")
    assert "machine instructions" in found.output
    assert "not modeled" in found.output and "public" in found.output  # the sample is for sm_80


def test_conflicts_cost_cycles():
    def cycles(name: str) -> int:
        found = CliRunner().invoke(ptxsim, ["profile", str(SAMPLES / name), "--format", "json"], standalone_mode=False)
        return json.loads(found.stdout)["cycles"]

    assert cycles("mma_gemm_conflicts.ptx") > 1.5 * cycles("mma_gemm_swizzled.ptx")


@pytest.mark.parametrize("value", ["0", "many", "-1"])
def test_sms_wants_a_count(value):
    import click

    with pytest.raises(click.ClickException):
        CliRunner().invoke(
            ptxsim, ["profile", "x.ptx", "--sms", value], standalone_mode=False, catch_exceptions=False
        )  # fmt: skip

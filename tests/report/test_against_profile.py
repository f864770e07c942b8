"""Two profiles against each other."""

from __future__ import annotations

import numpy as np

from ptxsim.report import against, against_profile
from tests.profile.kernels import kernel

BODY = (
    ".shared .align 16 .b8 cells[32768];\nld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r3, cells; mov.f32 %f0, 0f00000000;"
    "{extra} mad.lo.u32 %r4, %r0, {step}, %r3;\nst.shared.f32 [%r4], %f0;\n"
    + "ld.volatile.shared.f32 %f2, [%r4]; add.f32 %f0, %f0, %f2;\n" * 8
    + "st.global.f32 [%d0], %f0;"
)


def document(step: int, extra: str = "") -> dict:
    run = kernel(BODY.format(step=step, extra=extra)).launch(
        1, 64, [np.zeros(64, np.uint32), 0], profile=True, engine="interpreter"
    )
    return run.to_dict() | {"findings": []}


def test_conflicts_show_where_they_cost():
    found = against_profile.changes(document(128), document(4, extra="\n"))
    assert found["cycles"][1] < found["cycles"][0]
    assert found["memory"]["shared_wavefronts"][1] < found["memory"]["shared_wavefronts"][0]
    row = found["lines"][0]
    assert row["line"][1] == row["line"][0] + 1  # the file has a line more, the instruction is known again
    text = "\n".join(against_profile.text(found))
    assert "stalls (warp cycles):" in text and "issue:" in text


def test_equal_profiles_have_nothing_to_say():
    one = document(4)
    assert against_profile.text(against_profile.changes(one, one))[1:] == []
    assert against.document(one, one)["worse"] is False


def test_code_of_another_source_is_named():
    one = document(4)
    other = one | {"profile": one["profile"] | {"no_assembly": "" if one["profile"]["no_assembly"] else "not found"}}
    said = [line for line in against_profile.text(against_profile.changes(one, other)) if line.startswith("code: ")]
    assert len(said) == 1 and "estimated" in said[0] and "assembler" in said[0]


def test_a_run_without_profile_is_no_comparison():
    assert against_profile.changes({"findings": []}, document(4)) == {}
    assert against_profile.text({}) == []

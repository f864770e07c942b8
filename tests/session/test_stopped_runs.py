"""Expectations of a run that an error stopped."""

import pytest

from ptxsim.session.inspect.writers import Writers
from tests.helpers import launch, run_text, text_of

KERNEL = """// ptxsim: launch grid=1 block=32
// ptxsim: arg D = zeros(32):u32
// ptxsim: expect D == arange(32)
// ptxsim: expect D != 1
// ptxsim: expect banks.worst == 7
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 D)
{
    .shared .align 4 .b32 s;
    .reg .b64 %D, %p;
    .reg .b32 %t;
    ld.param.u64 %D, [D];
    mov.u32 %t, %tid.x;
    STORE
    mul.wide.u32 %p, %t, 4;
    add.u64 %p, %D, %p;
    st.global.u32 [%p], %t;
    ret;
}
"""


def test_expectations_that_fail_after_a_stop_say_only_that(engine):
    result = run_text(KERNEL.replace("STORE", "st.shared.u32 [s+4096], %t;"), engine=engine)
    assert not result.passed
    failed = [f for f in result.findings if f.name == "expectation-failed"]
    assert [(f.line, f.message, f.notes) for f in failed] == [
        (3, "D == arange(32) is not judged: the run stopped at line 16", ()),
        (5, "banks.worst == 7 is not judged: the run stopped at line 16", ()),
    ]


def test_nobody_asks_who_stored_what_is_not_judged(engine, monkeypatch):
    """A run that waits for ever was run again for that, up to --max-seconds."""
    monkeypatch.setattr(Writers, "_watch", lambda *asked: pytest.fail("the launch is run again"))
    wait = "AGAIN: ld.volatile.global.u32 %t, [%D]; setp.eq.u32 %q, %t, 0; @%q bra AGAIN;"
    text = KERNEL.replace("STORE", wait).replace(".reg .b32 %t;", ".reg .b32 %t; .reg .pred %q;")
    found = run_text(text, engine=engine).findings
    assert found[0].name == "deadlock" and "is not judged" in found[1].message


def test_expectations_of_a_whole_run_are_judged():
    result = run_text(KERNEL.replace("STORE", ""))
    assert all("not judged" not in f.message for f in result.findings)
    assert [f.line for f in result.findings] == [4, 5]


ENDLESS = text_of("session/endless.ptx")


@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_that_does_not_end_names_its_loop(engine, seed):
    run = launch(ENDLESS, block=64, engine=engine, seed=seed, max_steps=5000)
    (finding,) = run.findings
    assert (finding.name, finding.line, run.stopped_at) == ("limit-reached", 12, 12)
    assert "loop of lines 10 to 12" in finding.message

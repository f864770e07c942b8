"""Warps that miss each other with turns of one length are no deadlock: before one is told, chance decides who goes on how far."""

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import ROOT


def test_who_misses_a_lock_gets_it_in_the_end():
    # One engine: it is long until the machine comes back to a state of before.
    run = run_file(
        ROOT / "tests/engine/long/lock_missed_in_turn.ptx", options=Options(engine="compiled", checks="none")
    )
    assert not run.findings


def test_who_gets_a_lock_late_and_works_for_long_is_not_stopped():
    run = run_file(
        ROOT / "tests/engine/long/lock_missed_before_long_work.ptx", options=Options(engine="compiled", checks="none")
    )
    assert not run.findings


def test_who_holds_a_lock_for_ever_is_told_soon(engine):
    run = run_file(ROOT / "tests/cases/control/lock_never_freed.ptx", options=Options(engine=engine))
    assert [each.name for each in run.expected] == ["deadlock"]
    assert run.run.warp_instructions < 20_000


def test_ctas_that_have_no_room_on_the_gpu_are_waited_for_in_vain():
    fits, waits = (
        run_file(ROOT / f"tests/engine/long/grid_barrier_{name}.ptx", options=Options(engine="compiled"))
        for name in ("that_fits", "without_room")
    )
    assert fits.passed and not fits.findings
    assert [each.name for each in waits.expected] == ["deadlock"]
    assert "no room for 1 of 17 CTAs: sm_72 with 8 SMs holds 16 of them at once" in waits.expected[0].notes

"""Which launches are run again on other schedules: what they count for."""

from ptxsim import Module
from ptxsim.session.inspect.schedules.interleaved import has_others
from ptxsim.session.inspect.schedules.schedule import POLLED, work_of
from ptxsim.session.ptxfile.file import run_file
from ptxsim.session.ptxfile.launch import Options
from ptxsim.session.run import Run
from tests.helpers import CASES


def of(name, engine):
    return run_file(CASES / name, None, Options(engine=engine, checks="none")).run


def test_what_ctas_only_ask_each_other_is_counted_alike_by_both_engines():
    """The waits of `for_later_ctas`: 5550 of 12675 warp instructions, in rounds after which the cluster only polls."""
    compiled, interpreted = (of("waiting/for_later_ctas.ptx", engine) for engine in ("compiled", "interpreter"))
    assert 0 < compiled.polled == interpreted.polled < compiled.warp_instructions == interpreted.warp_instructions


def test_who_waits_for_nobody_polls_nothing(engine):
    assert of("programs/histogram.ptx", engine).polled == 0


def test_a_launch_that_mostly_waits_is_small():
    """Whether other schedules are tried depends on what is done, not on how long others ask for it."""
    program = Module.from_file(CASES / "waiting/for_later_ctas.ptx").kernel().program("sm_90a")
    busy, waiting = (Run("", "", "", "", 0, warp_instructions=100_000, polled=polled) for polled in (0, 95_000))
    assert work_of(busy) == 100_000 and work_of(waiting) == 5_000 + 95_000 // POLLED
    assert has_others(program, 0, waiting) and not has_others(program, 0, busy)

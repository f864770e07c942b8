"""A deadlock's finding begins with the wait that the others follow from, tells who has not come, and says once what many warps do."""

import re

import pytest

from tests.helpers import CASES, run_text

RING = (CASES / "mbarrier" / "consumers_never_arrive.ptx").read_text()
ARRIVAL = "mbarrier.arrive.shared.b64 _, [%bar];"


def found(engine, *pairs, text=RING):
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    text = re.sub("// ptxsim: expect .*", "//", text)  # what is expected is no finding
    [finding] = [each for each in run_text(text, engine=engine).findings if each.name == "deadlock"]
    return finding


def line_of(words, text=RING):
    return next(number for number, line in enumerate(text.split("\n"), 1) if words in line)


def test_it_begins_where_no_thread_has_arrived(engine):
    finding = found(engine)
    wait, arrival = line_of("[%free], %parity"), line_of(ARRIVAL)
    assert finding.line == wait and finding.warp == 2
    assert finding.message.endswith("the first one for the mbarrier empty (0x510), on which no thread has arrived")
    assert finding.help == (
        f"no thread has arrived on empty (0x510) since its initialisation; arrivals on mbarriers stand at line {arrival} alone; "
        "full (0x500) has completed 1 phase: do the threads that have waited for it arrive on empty when they are done?"
    )


def test_those_that_wait_alike_are_one_note(engine):
    first, second = found(engine).notes
    assert first.startswith(f"CTA (0, 0, 0) warp 2 and those of 1 more CTA, line {line_of('[%free], %parity')}: waits")
    assert second.startswith("CTA (0, 0, 0) warps 0, 1 and those of 1 more CTA, line")
    assert second.endswith(f"last arrival CTA 0 warp 2, line {line_of(ARRIVAL)}, and that warp waits itself")
    [_, second] = found(engine, ("grid=2 block=96", "grid=1 block=96")).notes
    assert second.startswith("CTA (0, 0, 0) warps 0, 1, line")


def test_it_is_told_where_the_consumers_have_ended(engine):
    """They go through the ring twice, and the producer wants to go on."""
    finding = found(engine, ("setp.lt.u32 %p, %i, 4;", "setp.lt.u32 %p, %i, 2; setp.ge.or.u32 %p, %t, 64, %p;"))
    assert len(finding.notes) == 1 and "full (0x500) has completed 1 phase" in finding.help


def test_a_producer_that_does_not_come_is_the_beginning(engine):
    """The consumers' wait is where nobody has arrived; the producer has ended."""
    finding = found(engine, ("produce:\n", "produce:\n    ret;\n"))
    assert finding.line == line_of("[%bar], %parity") and "no thread has arrived on full (0x500)" in finding.help
    assert "has completed" not in finding.help
    finding = found(engine, ("produce:\n", "produce:\n    ret;\n"), (ARRIVAL, ""))
    assert finding.help.endswith("and no instruction of the program arrives on mbarriers")


def test_a_ring_that_begins_with_parity_0_is_told_so_in_every_cta(engine):
    finding = found(engine, ("xor.b32 %parity, %parity, 1;", ""))
    assert "waits for parity 1 first" in finding.help
    finding = found(engine, ("produce:\n", "produce:\n    ret;\n"))
    assert "parity 1" not in finding.help


@pytest.mark.parametrize("grid", [1, 3])
def test_a_count_that_is_too_large_is_told_in_every_cta(engine, grid):
    text = (CASES / "mbarrier" / "arrival_missing.ptx").read_text()
    finding = found(engine, ("grid=1", f"grid={grid}"), text=text)
    assert finding.help.startswith("the 32 threads that wait have arrived, and line 27 initialised it to wait for")

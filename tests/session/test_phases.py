"""Accesses after waits for phases that were over are told with the wait that is their cause, and no others are."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import CASES, ROOT, SAMPLES, run_text

OVER = "returned at once"


def told(run):
    return [finding for finding in run.findings if OVER in finding.message]


def changed(path, *pairs):
    text = (CASES / path).read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    "path", [CASES / "mbarrier" / "parity_not_turned.ptx", SAMPLES / "broken" / "parity_not_turned.ptx"]
)
def test_a_parity_that_is_not_turned_is_told_with_the_wait(path, engine):
    run = run_file(Source.from_file(path), options=Options(engine=engine))
    [finding] = [finding for finding in run.expected if OVER in finding.message]
    text = path.read_text().split("\n")
    wait = next(number for number, line in enumerate(text, 1) if "try_wait" in line)
    assert f"for parity 0 at line {wait} {OVER}, as phase 0 was over before" in finding.message
    assert finding.message.endswith("what it needs is over with phase 1") and "full" in finding.message
    assert finding.labels[0].line == wait and "turn the parity" in finding.help and not finding.fixes


def test_a_consumer_that_begins_with_parity_1_is_told_to_begin_with_0(engine):
    text = changed("mbarrier/parity_turned.ptx", ("mov.u32 %parity, 0;", "mov.u32 %parity, 1;"))
    [finding] = told(run_text(text, engine=engine))
    assert "parity 1" in finding.message and "over from the start" in finding.message
    assert "the first wait be for parity 0" in finding.help


def test_a_producer_that_runs_ahead_is_told_with_its_own_wait(engine):
    text = changed("mbarrier/ring.ptx", ("and.b32 %bar, %bar, 1;\nfree", "mov.b32 %bar, 1;\nfree"))
    [finding] = told(run_text(text, engine=engine))
    assert finding.message.startswith("st.shared.u32 has not waited for its turn: the wait on empty")
    assert finding.name == "race-shared" and "turn the parity" in finding.help


@pytest.mark.slow
@pytest.mark.parametrize(
    "path, wait",
    [
        (
            "mbarrier/ring.ptx",
            "filled:\n    mbarrier.try_wait.parity.shared.b64 %p, [full], %bar;\n    @!%p bra filled;\n",
        ),
        ("programs/noinc.ptx", "mbarrier.try_wait.parity.shared.b64 %p1, [%r7], %r12;"),
    ],
)
def test_a_wait_that_is_missing_is_no_wait_that_returned_at_once(path, wait, engine):
    """The producer's first wait returns at once, as it should; it is not to blame."""
    run = run_text(changed(path, (wait, "setp.eq.u32 %p1, 0, 0;" if "%p1" in wait else "")), engine=engine)
    assert any(finding.level == "error" for finding in run.findings) and not told(run)


@pytest.mark.slow
def test_copies_of_an_unrolled_loop_are_one_place(engine):
    path = ROOT / "tests" / "cuda" / "broken" / "parity_not_turned.ptx"
    source = Source(path.read_text(), path.name, path, Source.from_file(path.with_suffix(".cu")))
    run = run_file(source, options=Options(engine=engine))
    [finding] = [finding for finding in run.expected if OVER in finding.message]
    assert finding.source_line == 29 and source.origin(finding.labels[0].line).line == 27
    assert not run.findings and finding.notes[-1].startswith("mbarrier-overflow at line 368 comes of it, too: ")


def test_an_overflow_after_a_copy_that_was_not_waited_for_is_a_note(engine):
    wait = "mbarrier.try_wait.parity.shared.b64 %q, [full], %parity;"
    run = run_text(changed("bulk/parity_turned.ptx", (wait, "setp.eq.u32 %q, 0, 0;")), engine=engine)
    [finding] = [finding for finding in run.findings if finding.name != "expectation-failed"]
    assert finding.name == "missing-wait" and finding.line == 41 and "mbarrier-overflow" in finding.notes[-1]


def test_a_producer_that_begins_with_parity_0_is_told_to_begin_with_1(engine):
    text = changed("mbarrier/ring.ptx", ("xor.b32 %bar, %n, 1;", "mov.b32 %bar, %n;"))
    [finding] = [finding for finding in run_text(text, engine=engine).findings if finding.name == "deadlock"]
    assert (
        finding.help.startswith("no thread has arrived at any of these mbarriers") and "parity 1 first" in finding.help
    )
    text = changed("mbarrier/ring.ptx", ("mbarrier.arrive.shared.b64 %st, [empty];", ""))
    [finding] = [finding for finding in run_text(text, engine=engine).findings if finding.name == "deadlock"]
    assert "parity 1" not in finding.help


def test_a_count_that_is_too_large_is_told_where_all_wait(engine):
    text = changed(
        "mbarrier/phases.ptx", ("mbarrier.init.shared.b64 [full], 64;", "mbarrier.init.shared.b64 [full], 65;")
    )
    [finding] = [finding for finding in run_text(text, engine=engine).findings if finding.name == "deadlock"]
    assert finding.help.startswith("the 64 threads that wait have arrived, and line 29 initialised it to wait for 65")

"""The debugger: stops, ways back, conditions, and what it shows of a stopped machine."""

import io

import numpy as np
import pytest

from ptxsim.cli import main
from ptxsim.debugger import state
from ptxsim.debugger.expression import Expression, ExpressionError
from ptxsim.debugger.session import Session
from ptxsim.debugger.terminal import Terminal
from ptxsim.source import Source
from tests.helpers import CASES, SAMPLES, text_of

GEMM = SAMPLES / "mma_gemm_conflicts.ptx"
LOOP = text_of("debugger/sums.ptx")


@pytest.fixture
def session():
    made = []

    def make(source):
        source = Source(source, "k.ptx") if isinstance(source, str) else Source.from_file(source)
        made.append(Session(source))
        return made[-1]

    yield make
    for one in made:
        one.close()


def registers(session):
    """Everything the focused warp holds."""
    warp = session.focus
    return [np.copy(warp.registers[slot]) for slot in range(len(session.execution.program.slots))]


def test_steps_go_forwards_and_back_to_the_same_machine(session):
    debugged = session(LOOP)
    lines, held = [], []
    for _ in range(20):
        lines.append(debugged.here.op.line)
        held.append(registers(debugged))
        debugged.step()
    assert lines[:9] == [11, 12, 13, 15, 16, 17, 18, 15, 16]
    assert len({debugged.here.warp.index}) == 1
    for line, before in zip(reversed(lines), reversed(held)):
        debugged.step_back()
        assert debugged.here.op.line == line
        assert all((one == other).all() for one, other in zip(registers(debugged), before))
    debugged.step_back()
    assert debugged.execution.position == 1


def test_blocks_lines_and_the_end(session):
    debugged = session(LOOP)
    debugged.block()
    assert debugged.here.op.line == 15
    debugged.advance("21")
    assert debugged.here.op.line == 21
    debugged.go()
    assert debugged.here is None and debugged.why == "end"
    debugged.step_back()
    assert debugged.here.op.line == 22


def test_conditions_choose_the_lane(session):
    debugged = session(LOOP)
    debugged.set_breakpoint("15", "lane == 3 && %r2 > 5")
    debugged.go()
    value = state.register(debugged.execution, debugged.focus, "%r2")[3]
    assert debugged.here.op.line == 15 and debugged.lane == 3 and value == 6
    first = debugged.execution.position
    debugged.go()
    second = debugged.execution.position
    assert second > first
    debugged.go_back()
    assert debugged.execution.position == first and debugged.why == "breakpoint"
    debugged.go_back()
    assert debugged.execution.position == 1
    with pytest.raises(ExpressionError, match="did you mean %r2"):
        debugged.set_breakpoint("15", "%r22 > 5")


@pytest.mark.parametrize(
    ("text", "lane5"),
    [("lane * 4 + 1", 21), ("!(lane < 5)", 1), ("lane == 5 || lane == 6", 1), ("0x10 | lane", 21), ("-lane", -5),
     ("1 < lane <= 5", 1), ("tid.x", 5), ("%r1:s32 - 6", -1), ("r1 - 6", -1)],
)  # fmt: skip
def test_expressions(session, text, lane5):
    debugged = session(LOOP)
    debugged.advance("13")
    assert state.evaluate(debugged.execution, debugged.here, Expression(text))[5] == lane5


@pytest.mark.parametrize(
    "text", ["", "1 +", "open('x')", "%r1.real", "[1]", "%r1 << 'a'", "lambda: 1", "%none", "1 / 'x'", "(" * 300]
)
def test_what_is_no_expression_is_said(session, text):
    debugged = session(LOOP)
    with pytest.raises(ExpressionError):
        state.evaluate(debugged.execution, debugged.here, Expression(text))


@pytest.mark.slow
def test_it_stops_before_what_causes_a_finding(session):
    debugged = session(SAMPLES / "broken" / "misaligned_ldmatrix.ptx")
    debugged.go()
    assert debugged.why == "finding" and debugged.finding.name == "misaligned-address"
    assert debugged.here.op.line == debugged.finding.line
    found = session(SAMPLES / "broken" / "missing_proxy_fence.ptx")
    (finding, *_) = [finding for finding in found.findings if finding.level == "error"]
    assert found.go_to_finding(finding) and found.here.op.line == finding.line


def test_a_deadlock_shows_who_waits(session):
    debugged = session(SAMPLES / "broken" / "barrier_deadlock.ptx")
    debugged.go()
    assert debugged.why == "finding" and debugged.finding.name == "deadlock"
    assert "waits: barrier" in state.warps_text(debugged.execution, debugged.here)


def talk(file, *commands):
    """What the terminal says to commands."""
    said = io.StringIO()
    debugged = Session(Source.from_file(file))
    terminal = Terminal(debugged, stdin=io.StringIO("\n".join(commands) + "\n"), stdout=said)
    terminal.prompt = ""
    terminal.cmdloop()
    debugged.close()
    return said.getvalue()


def test_the_terminal_shows_fragments_and_shared_memory():
    line = next(n for n, text in enumerate(GEMM.read_text().split("\n"), 1) if text.strip().startswith("ldmatrix"))
    said = talk(
        GEMM,
        f"until {line}",
        "step",
        "back",
        "operands",
        "warps",
        "shared tile_a f16 4x8 pitch=128",
        "block",
        "watch lane + 1",
    )
    assert "x8x8 uint16" in said
    assert "4x8 .f16, pitch 128 B" in said and "CTA 0 warp  3" in said
    assert "lane + 1:" in said


def test_a_tile_past_shared_memory_is_no_matrix():
    said = talk(SAMPLES / "broken" / "descriptor_out_of_bounds.ptx", "continue", "operands")
    assert "does not lie in the CTA's shared memory" in said


def test_the_terminal_shows_barriers_and_work_in_flight():
    wgmma = SAMPLES / "wgmma_m64n64k16.ptx"
    line = next(n for n, text in enumerate(wgmma.read_text().split("\n"), 1) if "wgmma.wait_group" in text)
    said = talk(wgmma, f"until {line}", "flight", "registers", "mbarriers")
    assert "owns" in said and "the product of line" in said
    ring = next(path for path in sorted((CASES / "mbarrier").glob("*.ptx")) if "try_wait" in path.read_text())
    waits = next(n for n, text in enumerate(ring.read_text().split("\n"), 1) if "try_wait" in text and ";" in text)
    assert "mbarrier full" in talk(ring, f"until {waits}", "mbarriers")


def test_a_warp_that_the_launch_does_not_have():
    said = talk(GEMM, "warp 99", "warp 1 0", "warp 3")
    assert "there is no CTA 0 warp 99: CTAs are 0 to 0, warps 0 to 3" in said
    assert "there is no CTA 1 warp 0" in said and "CTA 0 warp 3\n" in said


def test_lines_after_the_last_instruction():
    said = talk(GEMM, "break 99999", "break", "until 99999")
    assert "line 99999 stands after the last instruction of the kernel, at line 1" in said
    assert "there are: none" in said and "has ended" not in said


@pytest.mark.slow
def test_no_command_ends_in_a_traceback():
    words = ["step x", "back", "back 5", "goto 0", "goto 99999999", "back", "print", "print %", "shared", "shared zzz", "shared 0 f16 9x9999999",
             "shared 0 xx", "shared 0 swizzle=7", "lane 99", "warp 9 9", "warp", "break", "break 1", "break x if", "break 5 if (", "delete 7", "delete",
             "findings", "findings 9", "list 9999", "nosuch", "l", "w", "registers", "operands q", "watch", "reverse", "until 99999", "help", "s"]  # fmt: skip
    said = talk(SAMPLES / "broken" / "barrier_deadlock.ptx", *words)
    assert "Traceback" not in said and "no command nosuch" in said and "deadlock" in said


def test_places_are_lines_of_cuda_where_the_kernel_was_compiled_from_it(session):
    path = CASES.parent / "cuda" / "broken" / "missing_barrier.ptx"
    source = Source(path.read_text(), path.name, path, Source.from_file(path.with_suffix(".cu")))
    debugged = Session(source)
    written = io.StringIO()
    terminal = Terminal(debugged, stdout=written)

    def said(command):
        written.truncate(written.seek(0))
        terminal.onecmd(command)
        return written.getvalue()

    assert said("break 9") == "stops at line 9\n"
    assert "missing_barrier.cu:9  data[i] = tile[127 - i];" in said("continue")
    first = debugged.here.op.line
    assert source.origin(first).line == 9 and first in debugged.breakpoints
    assert said("break") == "break PLACE [if CONDITION]; there are: 9\n"
    said("delete missing_barrier.cu:9")
    assert not debugged.breakpoints
    assert "missing_barrier.cu:8" in said("goto 1") + said("until 8")
    assert "missing_barrier.cu:9" in said("line")
    assert debugged.lines_of(f"ptx:{first}") == ([first], f"ptx:{first}")
    assert "no instruction is known to come from other.cu" in said("break other.cu:3")
    assert "is no line" in said("until here")
    assert "line 99 stands after the last instruction of missing_barrier.cu, at line " in said("break 99")
    assert not debugged.breakpoints
    debugged.close()


def test_the_command_takes_commands(capsys):
    assert main(["debug", str(GEMM), "-x", "step 2", "-x", "print lane"]) == 0
    assert "instruction 3" in capsys.readouterr().out
    assert main(["debug", "/none.ptx"]) == 2

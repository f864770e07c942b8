"""Executions without native code are counted: instruction, line, count, why. Two CTAs of two warps run each text."""

import pytest

from ptxsim.engine.compiled.codegen.kernel import KernelWriter
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.ir.value import CannotEmit
from ptxsim.engine.compiled.library import Library
from ptxsim.engine.compiled.run import engine as compiled
from ptxsim.engine.compiled.run.cta_runner import NativeCluster
from ptxsim.engine.interpreter import Interpreter
from ptxsim.jit.compiler import Jit
from ptxsim.report.summary import slow_path
from ptxsim.session.run import SlowPath
from tests.engine.programs import body, compare, run

pytestmark = pytest.mark.usefixtures("slow_isspacep")

MISSING, UNUSUAL = "no native lowering", "a fault or a case that native code leaves"


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "text, expected",
    [
        ("add.u32 %r4, %r4, 1;", []),
        ("bar.sync 0; shfl.sync.idx.b32 %r4, %r5, 0, 31, 0xffffffff;", []),
        (
            "isspacep.shared %p2, %d0; add.u32 %r4, %r4, 1; isspacep.global %p2, %d0;",
            [("isspacep.shared", 4, MISSING), ("isspacep.global", 4, MISSING)],
        ),
        (
            "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; isspacep.shared %p2, %d0; setp.lt.u32 %p2, %r4, 10; @%p2 bra L;",
            [("isspacep.shared", 40, MISSING)],
        ),
        ("setp.lt.u32 %p2, %r0, 5; @%p2 bra L; isspacep.shared %p2, %d0; L: mov.u32 %r5, 1;", [("isspacep.shared", 4, MISSING)]),
        ("setp.ne.u32 %p2, %r0, %r0; @%p2 isspacep.shared %p2, %d0;", []),
        ("setp.lt.u32 %p2, %r0, 5; @%p2 isspacep.shared %p2, %d0; selp.b32 %r4, 1, 2, %p2;", [("isspacep.shared", 2, MISSING)]),
        ("ld.global.u32 %r4, [%d0+3];", [("ld.global.u32", 1, UNUSUAL)]),
        ("mov.u64 %d3, own; cvta.local.u64 %d3, %d3; st.u32 [%d3+4], %r0; ld.u32 %r4, [%d3+4];", []),
        ("bar.sync 1, 64;", []),
        ("mov.u32 %r4, 1; bar.sync %r4;", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_counted(text, expected, jobs):
    found = run(body(text), "compiled", jobs=jobs)[1]
    assert [(row.instruction, row.count, row.why) for row in found.slow_path] == expected
    assert [row["count"] for row in found.to_dict()["slow_path"]] == [count for _, count, _ in expected]


@pytest.mark.parametrize(
    "first, expected",
    [
        ("setp.ne.u32 %p2, %r0, %r0; @%p2 isspacep.shared %p2, %d0;", []),
        ("isspacep.shared %p2, %d0;", [("isspacep.shared", 4, MISSING)]),
    ],
)
def test_where_the_interpreter_begins_the_same_is_counted(native, monkeypatch, first, expected):
    """Whether a guard holds for any lane native code knows: such a block is not the interpreter's."""
    monkeypatch.setattr("ptxsim.engine.compiled.library.LONG", 1)
    found = run(body(first + "bra L; L:" + "add.u32 %r4, %r4, 1;" * 400), None)[1]
    assert [(row.instruction, row.count, row.why) for row in found.slow_path] == expected
    assert native._waits  # it was asked whether it begins


def test_what_blocks_leave_to_the_interpreter_is_known_to_the_next_process(native, monkeypatch):
    monkeypatch.setattr("ptxsim.engine.compiled.library.LONG", 1)
    left_out = "add.u32 %r4, %r4, 2;" * 100  # else there would be code for the next process
    text = body(f"isspacep.shared %p2, %d0; @!%p2 bra L; {left_out} L:" + "add.u32 %r4, %r4, 1;" * 400)
    expected = run(text, None, grid=1, block=32)[1].slow_path
    other = Library(Jit(store=native.jit.store))
    monkeypatch.setattr(compiled, "library", lambda: other)
    monkeypatch.setattr(KernelWriter, "print_block", lambda self, number: pytest.fail("it has been printed before"))
    assert run(text, None, grid=1, block=32)[1].slow_path == expected
    assert expected and not other._kernels


def test_the_slow_path_knows_what_the_block_has_written(native, monkeypatch):
    """What was to be stored before an operation gave up its native form is stored before the slow path."""

    def give_up(self, space, address, *_):
        self._access(address)
        raise CannotEmit("an update that is not known")

    monkeypatch.setattr(EmitPort, "atomic", give_up)
    text = body("add.u64 %d3, %d0, 4; atom.add.f32 %f0, [%d3], %f1; mov.b32 %r4, %f0;")
    assert run(text, "compiled")[1].slow_path[0].instruction == "atom.add.f32"
    compare(text)


def test_the_interpreter_has_no_slow_path():
    assert run(body("isspacep.shared %p2, %d0;"), "interpreter")[1].to_dict()["slow_path"] == []


def test_a_cluster_comes_back_to_native_code(monkeypatch):
    """Lanes that wait for others of their warp in the middle of a block are Python's, for a round or two of the hundreds."""
    rounds, in_python = [], NativeCluster._round_of_python
    monkeypatch.setattr(
        NativeCluster,
        "_round_of_python",
        lambda self, *how: rounds.append(self.standing.rounds) or in_python(self, *how),
    )
    apart = "bra TEST; SYNC: mov.u32 %r5, 0; bar.warp.sync -1; bra ON; TEST: @%p0 bra SYNC; add.u32 %r4, %r4, 1; bra SYNC; ON:"
    loop = "mov.u32 %r5, 0; L: bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 300; @%p2 bra L;"
    text = body("and.b32 %r4, %r0, 1; setp.eq.u32 %p0, %r4, 0;" + loop + apart + loop.replace("L", "M"))
    found, expected = (run(text, engine) for engine in ("compiled", "interpreter"))
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].warp_instructions == expected[1].warp_instructions
    assert 0 < len(rounds) < 10


def test_lanes_that_spin_beside_those_that_wait_for_them_stay_native(monkeypatch):
    """Where the others wait in the middle of a block Python looks once a turn, and where those that spin stand elsewhere, not before every block."""
    looks, choose = [], Interpreter.choose
    monkeypatch.setattr(Interpreter, "choose", lambda self, warp: looks.append(0) or choose(self, warp))
    spin = "bra TEST; SYNC: mov.u32 %r6, 0; bar.sync 0; bra ON; TEST: mov.u32 %r5, 0; @%p0 bra SYNC;"
    spin += "L: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2000; @%p2 bra L; bra SYNC; ON:"
    text = body("setp.ne.u32 %p0, %r0, 0;" + spin)
    found = run(text, "compiled")
    count = len(looks)
    expected = run(text, "interpreter")
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].warp_instructions == expected[1].warp_instructions > 2000
    assert 0 < count < 400


def test_the_summary_says_what_is_most_frequent():
    rows = [SlowPath("trap", 3, 2, MISSING), SlowPath("mbarrier.init.b64", 9, 40, MISSING)]
    assert slow_path(rows, 200) == (
        "slow path: 42 executions; most often mbarrier.init.b64 at line 9 (no native lowering)"
    )


def test_calls_that_the_driver_answers_leave_the_rest_native():
    declared = (
        ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
    )
    call = "setp.eq.u64 %p2, %d0, 0; @!%p2 bra L; call.uni __assertfail, (%d0, %d0, %r4, %d0, %d0); L: add.u32 %r4, %r4, 1;"
    text = body(call)
    assert run(text.replace(".visible", declared + ".visible", 1), "compiled")[1].slow_path == []

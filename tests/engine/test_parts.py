"""Code of a long program is made in parts: first of the blocks that have run, then, if others are wanted for long, of all others."""

import pytest

from ptxsim.engine.compiled.library import Library
from ptxsim.engine.compiled.run import engine as compiled
from ptxsim.jit.compiler import Jit
from tests.engine.programs import body, outcome, run
from tests.helpers import plain

pytestmark = pytest.mark.usefixtures("slow_isspacep")

LOOP = "W{0}: add.u32 %r4, %r4, 3; isspacep.shared %p2, %d0; setp.lt.u32 %p2, %r4, 1500; @%p2 bra W{0}; bra END;"
# A way for each number of warps in a CTA; where there are five lanes go apart. What never runs makes it long.
WAYS = body(
    "mov.u32 %r4, 0; mov.u32 %r5, %ntid.x; shr.u32 %r5, %r5, 5;"
    + "".join(f"setp.eq.u32 %p0, %r5, {warps}; @%p0 bra W{warps};" for warps in (1, 2, 3, 4))
    + "setp.gt.u32 %p0, %r0, 9; @%p0 bra END;"
    + "".join(LOOP.format(warps) for warps in (5, 1, 2, 3, 4))
    + "add.u32 %r4, %r4, 1;" * 300
    + "END: add.u32 %r5, %r4, 2;"
)
ALL = [{"grid": 3, "block": 32 * warps} for warps in (1, 2, 3, 4, 5)]


@pytest.fixture(autouse=True)
def long(native, monkeypatch):
    """All programs are."""
    monkeypatch.setattr("ptxsim.engine.compiled.library.LONG", 1)


@pytest.fixture
def next_process(native, monkeypatch):
    """The library of one, which has the same store; nothing is to be made there."""
    other = Library(Jit(store=native.jit.store))
    monkeypatch.setattr(compiled, "library", lambda: other)
    return other


@pytest.mark.parametrize("jobs", [1, 2])
def test_first_of_what_has_run_then_of_the_rest(native, jobs):
    found = []
    for ways in ALL:
        assert plain(outcome(WAYS, None, jobs=jobs, **ways)) == plain(outcome(WAYS, "interpreter", **ways))
        codes = native._kernels.values()
        assert all(code.places for code in codes)
        found.append(sorted(code.is_whole for code in codes))
    # Threads that are asked for begin at once, and leave nothing to the interpreter.
    assert found[0] == [jobs == 2] and found[-2:] == [[True], [False, True] if jobs == 1 else [True, True]]


def test_what_is_counted_is_what_code_of_all_blocks_counts():
    for ways in [*ALL, ALL[0]]:
        in_parts = run(WAYS, None, **ways)[1].slow_path
        assert in_parts and in_parts == run(WAYS, "compiled", **ways)[1].slow_path


def test_the_next_process_has_the_parts(native, next_process):
    first, last = ALL[0], ALL[-1]
    expected = outcome(WAYS, "interpreter", **first)
    compiled.library = lambda: native
    run(WAYS, None, **first)
    compiled.library = lambda: next_process
    assert plain(outcome(WAYS, None, **first)) == plain(expected)
    assert next_process.jit.compiled == 0 and [code.is_whole for code in next_process._kernels.values()] == [False]
    assert plain(outcome(WAYS, None, **last)) == plain(outcome(WAYS, "interpreter", **last))

"""Every register of every warp at the end of random kernels, lane by lane, on both engines, and after faults."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.session.execution import execute
from tests.engine.programs import Writer, words
from tests.helpers import facts, prepare, same_on_both


def registers(text: str, engine: str, block: int, seed: int) -> tuple:
    """Registers by CTA, warp and name; and what the Run says."""
    launch = prepare(text, [words(2 * block), 2 * block], 2, block, engine=engine, seed=seed)
    names, found = launch.program.slot_names, {}

    def stop(warp, machine) -> None:
        values = [np.array(machine.read_register(warp, slot)).tolist() for slot in range(len(names))]
        found[warp.cta.linear, warp.index] = dict(zip(names, values))

    run = execute(launch, stop=stop)
    return found, facts(run)


def compare(text: str, block: int, seed: int = 0) -> None:
    found, (_, findings, _) = same_on_both(lambda engine: registers(text, engine, block, seed))
    assert len(found) == 2 * -(-block // 32) or findings


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from((32, 64, 40)))
def test_registers(seed, block):
    compare(Writer(seed).text(), block)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from((32, 64, 40)), order=st.sampled_from((0, 5)))
def test_registers_of_many_kernels(seed, block, order):
    compare(Writer(seed).text(), block, order)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    ["ld.global.u32 %r4, [%d0+3];", "@%p0 trap;", "setp.lt.u32 %p2, %r0, 5; @%p2 bra W; bar.sync 0; W: bar.sync 0;"],
)
def test_registers_after_a_fault(fault):
    for seed in range(3):
        head, _, tail = Writer(seed).text().rpartition("    st.global.v4")
        compare(f"{head}    {fault}\n    st.global.v4{tail}", 64)

"""Both engines say alike which lanes of a division, a reciprocal or a root take the long way."""

import numpy as np
import pytest

from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Observer
from tests.engine.programs import body
from tests.helpers import prepare, same_on_both

FAR = (
    "mov.f32 %f3, 0f00000001; setp.lt.u32 %p2, %r0, 9; @%p2 mov.f32 %f3, 0f40000000; "
    "and.b32 %r9, %r0, 1; setp.ne.u32 %p1, %r9, 0; "
)


class Detours(Observer):
    events = frozenset({Event.DETOUR})

    def __init__(self):
        self.seen = []

    def consume(self, records):
        for r in records:
            fields = (int(r[name]) for name in ("mask", "site", "space", "width", "flags"))
            self.seen.append((*fields, r["addresses"][word_mask(int(r["mask"]))].tolist()))

    def findings(self, program):
        return []


@pytest.mark.thin(3)
@pytest.mark.parametrize("guard", ["", "@%p1 ", "@!%p1 "])
@pytest.mark.parametrize("text", ["div.rn.f32 %f4, %f3, %f3;", "rcp.rn.f32 %f4, %f3;", "sqrt.rn.f32 %f4, %f3;"])
@pytest.mark.parametrize("diverged", [False, True])
def test_lanes_that_take_the_long_way(text, guard, diverged):
    branch = "setp.gt.u32 %p3, %r0, 20; @%p3 bra OVER; {} OVER:" if diverged else "{}"

    def outcome(engine: str) -> list:
        observer = Detours()
        data = np.arange(128, dtype=np.uint32) * 5
        prepare(body(FAR + branch.format(guard + text)), [data, 0], engine=engine).run_grid([observer])
        return observer.seen

    seen = same_on_both(outcome)
    assert len(seen) == 1 and 0 < len(set(seen[0][-1])) <= 2
    assert (seen[0][0] == 0xFFFFFFFF) == (not guard and not diverged)

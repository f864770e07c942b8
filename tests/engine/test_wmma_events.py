"""Both engines record the accesses of wmma loads and stores alike, and native code does not leave for that."""

import numpy as np
import pytest

from ptxsim.machine.event import RECORD, Event, Observer
from tests.helpers import launch, prepare, same_on_both

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data)
{{
.reg .b32 %r<16>, %t; .reg .b64 %p, %a;
.shared .align 32 .b8 tile[4096];
ld.param.u64 %p, [data];
mov.u32 %t, tile;
cvt.u64.u32 %a, %t;
{generic}
wmma.load.{operand}.sync.aligned.{layout}.m16n16k16{space}.{type} {{{registers}}}, [{base}], {stride};
{store}
ret;
}}
"""
REGISTERS = {"f16": 8, "u8": 2, "f32": 8}


class Accesses(Observer):
    events = frozenset(event for event in Event if event <= Event.ASYNC_WAIT)

    def __init__(self):
        self.seen = [np.zeros(0, RECORD)]

    def consume(self, records):
        self.seen.append(records[records["event"] <= Event.ASYNC_WAIT].copy())

    def findings(self, program):
        return []


@pytest.mark.thin(7)
@pytest.mark.parametrize("space", [".global", ".shared", "", "generic shared"])
@pytest.mark.parametrize("layout, stride", [("row", 16), ("col", 32)])
@pytest.mark.parametrize("operand, kind", [("a", "f16"), ("b", "f16"), ("a", "u8"), ("c", "f32")])
def test_accesses_are_recorded_alike(space, layout, stride, operand, kind):
    stride *= 1 + (kind == "u8")
    registers = ", ".join(f"%r{i}" for i in range(REGISTERS[kind]))
    inside = "shared" in space
    text = TEXT.format(
        operand=operand, layout=layout, type=kind, space=space if "generic" not in space else "", registers=registers, stride=stride,
        generic="cvta.shared.u64 %a, %a;" if "generic" in space else "", base="%a" if inside else "%p",
        store=f"wmma.store.d.sync.aligned.{layout}.m16n16k16.global.{kind} [%p], {{{registers}}}, {stride};" * (operand == "c"),
    )  # fmt: skip

    def outcome(engine: str) -> np.ndarray:
        observer = Accesses()
        prepare(text, [np.arange(1024, dtype=np.float32)], engine=engine).run_grid([observer])
        found = np.concatenate(observer.seen)
        found["gap"] = 0
        found["addresses"][~(found["mask"][:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(bool)] = 0
        return found.view(np.uint8)

    assert len(same_on_both(outcome))
    assert not launch(text, [np.arange(1024, dtype=np.float32)], engine="compiled", checks="all").slow_path


def test_rows_that_suit_the_fragment_and_not_ldmatrix_fault():
    """Fragments of bytes are aligned to 8, the ldmatrix that loads them from shared memory takes rows of 16."""
    text = TEXT.format(
        operand="a", layout="row", type="u8", space=".shared", registers="%r0, %r1", stride=24, generic="", base="%a", store=""
    )  # fmt: skip

    def outcome(engine: str) -> list[tuple[str, str]]:
        run = launch(text, [np.zeros(1024, np.float32)], engine=engine, on_error="report")
        return [(finding.name, finding.message) for finding in run.findings]

    assert [name for name, _ in same_on_both(outcome)] == ["misaligned-address"]

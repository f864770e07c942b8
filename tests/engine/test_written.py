"""Operations that have been written down are the ones that were decoded, whatever there is in them."""

import io
from dataclasses import fields
from pathlib import Path

import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.engine.analysis.reordering import exchanged, exchanges
from ptxsim.engine.decoding.written import blocks_of, rows_of
from ptxsim.engine.program.identity import program_text
from ptxsim.engine.program.operation import Program
from ptxsim.isa import registry
from ptxsim.session import cache
from ptxsim.session.module import Module

CASES = Path(__file__).parents[1] / "cases"


def again(program: Program) -> cache.Remembered:
    file = io.BytesIO()
    cache._Pickler(file, 5).dump(rows_of(program))
    file.seek(0)
    parts = {each.name: getattr(program, each.name) for each in fields(program) if each.name not in ("blocks", "ops")}
    parts["facts"] = {}
    return cache.Remembered(parts, lambda: blocks_of(cache._Unpickler(file).load()))


@pytest.mark.thin(4)
@pytest.mark.parametrize("folder", sorted(path.name for path in CASES.iterdir() if any(path.glob("*.ptx"))))
def test_operations_are_the_same(folder):
    known = 0
    for path in (CASES / folder).glob("*.ptx"):
        try:
            module = Module.from_file(path)
            programs = [module.kernel(name).program() for name in module.entries]
        except PtxError:  # which the case is about
            continue
        for program in programs:
            read = again(program)
            assert program_text(read) == program_text(program)
            for one, other in zip(read.ops, program.ops, strict=True):
                assert one.definition is other.definition
                assert one.bound.form is other.bound.form
                assert repr((one.bound, one.wants, one.call)) == repr((other.bound, other.wants, other.call))
            known += 1
    assert known


def test_accesses_come_the_other_way_round():
    program = Module.from_file(CASES / "programs" / "racy_hazard_pointers.ptx").kernel().program()
    read = again(program)
    (pair, *_) = exchanges(read)
    assert exchanges(read) == exchanges(program)
    assert program_text(exchanged(read, pair)[0]) == program_text(exchanged(program, pair)[0])


def test_what_a_run_adds_is_not_written():
    program = Module.from_text(
        ".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { .reg .b32 %r<2>; .reg .f32 %f<2>; "
        "mov.u32 %r0, 7; mov.f32 %f0, 0f3F800000; ret; }"
    ).kernel()
    program.launch(1, 32, [], engine="interpreter")
    before, read = program.program(), again(program.program())
    assert before.ops[0].sources[0]._lanes
    assert not read.ops[0].sources[0]._lanes
    assert read.ops[0].sources[0].lanes.tolist() == before.ops[0].sources[0].lanes.tolist()


@pytest.mark.parametrize("last_first", [False, True])
def test_forms_are_found_whichever_family_was_read_first(last_first, monkeypatch):
    program = Module.from_text(
        ".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { .reg .b32 %r<4>; mad.lo.u32 %r0, %r1, %r2, %r3; "
        "mad.lo.cc.u32 %r0, %r1, %r2, %r3; ret; }"
    ).kernel().program()  # fmt: skip
    rows = rows_of(program)
    forms = sorted(registry.forms("mad.lo"), key=lambda form: form.definition.identity, reverse=last_first)
    monkeypatch.setitem(registry._FORMS, "mad.lo", forms)
    read = [op.definition for block in blocks_of(rows) for op in block]
    assert read == [op.definition for op in program.ops]

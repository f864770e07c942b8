"""When code of a body is made, and when it is made better: where that pays."""

from __future__ import annotations

import pytest

from ptxsim.jit import compiler, native
from ptxsim.jit.body import Body, body
from ptxsim.jit.compiler import shared
from ptxsim.jit.store import ObjectStore


def double(a: int) -> int:
    return a + a


@pytest.mark.parametrize("patience", ["PATIENCE", "KEPT_PATIENCE"])
def test_code_made_in_haste_is_replaced_where_that_pays(monkeypatch, patience):
    if patience == "KEPT_PATIENCE":  # another process has made it before
        assert body(double).compiled(1) == 2
    monkeypatch.setattr(native, patience, 1e-15)
    twice = body(double)
    assert twice.compiled(21) == 42
    (entry,) = twice.compiled.entries.values()
    made = shared().compiled
    assert not entry.left and twice.compiled(-4) == -8
    monkeypatch.undo()
    again = body(double)
    assert again.compiled(1) == 2
    (entry,) = again.compiled.entries.values()
    assert not entry.left and shared().compiled == made  # what the store has is taken


def test_code_is_made_where_it_pays(tmp_path, monkeypatch):
    """In the first process from `worth` steps on, later from `enough` on."""
    fresh = compiler.Jit(store=ObjectStore(tmp_path))
    monkeypatch.setattr(native, "shared", lambda: fresh)
    first, second, third = (Body(double, 10, False, 30) for _ in range(3))
    assert first.form(9) is first.function  # too little to be noted
    assert [second.form(10) is second.function for _ in range(4)] == [True, True, False, False]
    assert third.form(9) is third.function
    assert third.form(1) is third.compiled

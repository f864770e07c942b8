"""mbarrier: arrival and transaction barriers in shared memory. PTX ISA, "mbarrier".

The effects say what lanes do. The objects are records (machine.barriers.mbarrier_state) that both engines work on: the interpreter
through machine.barriers.mbarrier, native code through engine.compiled.codegen.mbarrier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.isa.facts import Facts, Mechanism, Role, Synchronisation, Word, Words
from ptxsim.isa.operand import Addr, Either, Imm, Nowhere, Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LANES, LaneValue, cast
from ptxsim.machine.barriers.mbarrier import MBarriers, per_lane
from ptxsim.machine.barriers.mbarrier_state import DROP, MAX_COUNT, NO_COMPLETE
from ptxsim.machine.fault import AtMBarriers
from ptxsim.machine.port import Port

SHARED = "shared shared::cta@7.8"
CLUSTER = "shared shared::cta shared::cluster"
RELEASE = "release@8.0 relaxed@8.6:sm_90"
ACQUIRE = "acquire@8.0 relaxed@8.6:sm_90"
SCOPE = "cta@8.0 cluster@8.0:sm_90"
LAYOUTS = "layout::v0 layout::v1"

INIT, END, ARRIVES, COUNTS, WAITS = (
    Facts(family="mbarrier", synchronises=Synchronisation(Mechanism.MBARRIER, role))
    for role in (Role.INIT, Role.END, Role.ARRIVE, Role.COUNT, Role.WAIT)
)

_object: Kinds = {"a": Addr("shared")}
_state = Either((Reg("u64"), Imm()))
_parity = Either((Reg("u32"), Imm(0, 1)))


def order_with_scope(modifiers: Words) -> str | None:
    """.release, .acquire and .relaxed stand with a scope, a scope stands with one of them."""
    if (modifiers.get("sem") is None) != (modifiers.get("scope") is None):
        return "the order (.release, .acquire, .relaxed) and the scope (.cta, .cluster) stand together or not at all"
    return None


def no_complete_is_local(modifiers: Words) -> str | None:
    if modifiers.get("sem") == "relaxed" or modifiers.get("scope") == "cluster":
        return ".noComplete goes with .release.cta only"
    return None


# ---- init, inval -----------------------------------------------------------------------------------------------------


_INIT: Options = {"name": "mbarrier.init", "space": SHARED, "operands": {**_object, "n": Either((Reg("u32"), Imm(1)))}}


@instruction("mbarrier.init{.space}.b64 [a], n", requires="7.0 sm_80", facts=INIT, **_INIT)
@instruction("mbarrier.init.layout{.space}.b64 [a], n", layout=LAYOUTS, requires="9.3 sm_90", facts=INIT, **_INIT)
def init(m: Port, a: LaneValue, n: LaneValue, *, space: Word, layout: Word) -> None:
    m.unit(MBarriers).init(space, a, n, int(layout == "layout::v1"))


@instruction(
    "mbarrier.check_layout.layout{.space}.b64 d, [a]", name="mbarrier.check_layout", layout=LAYOUTS, space=SHARED,
    requires="9.3 sm_90", facts=COUNTS, writes="d", operands={**_object, "d": Pred()},
)  # fmt: skip
def check_layout(m: Port, a: LaneValue, *, space: Word, layout: Word) -> LaneValue:
    return m.unit(MBarriers).has_layout(space, a, int(layout == "layout::v1"))


@instruction(
    "mbarrier.inval{.space}.b64 [a]", name="mbarrier.inval", requires="7.0 sm_80", space=SHARED, facts=END,
    operands=_object,
)  # fmt: skip
def inval(m: Port, a: LaneValue, *, space: Word) -> None:
    m.unit(MBarriers).inval(space, a)


# ---- arrive ----------------------------------------------------------------------------------------------------------

_arrivals = {**_object, "n": Either((Reg("u32"), Imm(1)))}
_transfer: Kinds = {**_object, "n": Value("u32")}


def _arrive_forms(effect: Any, name: str) -> Any:
    """Declare the notations of arrive and arrive_drop, which differ in the name alone."""
    words: Options = {"name": name, "facts": ARRIVES, "sem": RELEASE, "scope": SCOPE}
    order = "{.sem}{.scope}"
    for destination, since in ((Reg("u64"), "7.0 sm_80"), (Nowhere(), "7.1 sm_80")):
        local: Options = dict(words, writes="d", space=SHARED, operands={"d": destination, **_arrivals})
        full: Options = dict(local, rules=(order_with_scope,), implies={"noComplete": False})
        instruction(f"{name}{order}{{.space}}.b64 d, [a]", requires=since, **full)(effect)
        instruction(f"{name}{order}{{.space}}.b64 d, [a], n", requires="7.8 sm_90", **full)(effect)
        local["rules"] = (order_with_scope, no_complete_is_local)
        instruction(f"{name}.noComplete{order}{{.space}}.b64 d, [a], n", requires=since, **local)(effect)
    remote: Options = dict(words, writes="d", space="shared::cluster", operands={"d": Nowhere(), **_arrivals})
    remote.update(requires="8.0 sm_90", rules=(order_with_scope,), implies={"noComplete": False})
    instruction(f"{name}{order}.space.b64 d, [a]{{, n}}", **remote)(effect)
    return effect


def _arrive_expect_forms(effect: Any, name: str) -> Any:
    words: Options = {
        "name": name, "facts": ARRIVES, "sem": RELEASE, "scope": SCOPE, "requires": "8.0 sm_90",
        "rules": (order_with_scope,),
    }  # fmt: skip
    for destination, space, slot in (
        (Reg("u64", sink=True), SHARED, "{.space}"),
        (Nowhere(), "shared::cluster", ".space"),
    ):
        instruction(
            f"{name}{{.sem}}{{.scope}}{slot}.b64 d, [a], n",
            space=space,
            operands={"d": destination, **_transfer},
            **words,
        )(effect)
    return effect


def arrive(m: Port, a: LaneValue, n: LaneValue, *, space: Word, noComplete: Word) -> LaneValue:
    return m.unit(MBarriers).arrive(space, a, 1 if n is None else n, NO_COMPLETE if noComplete else 0)


def arrive_drop(m: Port, a: LaneValue, n: LaneValue, *, space: Word, noComplete: Word) -> LaneValue:
    return m.unit(MBarriers).arrive(space, a, 1 if n is None else n, DROP | NO_COMPLETE if noComplete else DROP)


def arrive_expect_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> LaneValue:
    return m.unit(MBarriers).arrive_expecting(space, a, n)


def arrive_drop_expect_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> LaneValue:
    return m.unit(MBarriers).arrive_expecting(space, a, n, DROP)


_arrive_forms(arrive, "mbarrier.arrive")
_arrive_forms(arrive_drop, "mbarrier.arrive_drop")
_arrive_expect_forms(arrive_expect_tx, "mbarrier.arrive.expect_tx")
_arrive_expect_forms(arrive_drop_expect_tx, "mbarrier.arrive_drop.expect_tx")

_transfer_form: Options = {
    "requires": "8.0 sm_90", "sem": "relaxed", "scope": "cta cluster", "space": CLUSTER, "operands": _transfer,
    "rules": (order_with_scope,),
}  # fmt: skip


@instruction(
    "mbarrier.expect_tx{.sem}{.scope}{.space}.b64 [a], n", name="mbarrier.expect_tx", facts=COUNTS, **_transfer_form
)
def expect_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> None:
    m.unit(MBarriers).expect(space, a, n)


@instruction(
    "mbarrier.complete_tx{.sem}{.scope}{.space}.b64 [a], n",
    name="mbarrier.complete_tx",
    facts=ARRIVES,
    **_transfer_form,
)
def complete_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> None:
    m.unit(MBarriers).complete(space, a, n)


_COUNT: Options = {"name": "mbarrier.pending_count", "facts": COUNTS, "operands": {"d": Reg("u32"), "state": _state}}


@instruction("mbarrier.pending_count.b64 d, state", requires="7.0 sm_80", **_COUNT)
@instruction("mbarrier.pending_count.layout::v0.b64 d, state", requires="9.3 sm_90", **_COUNT)
def pending_count(m: Port, state: LaneValue) -> LaneValue:
    return per_lane(np.uint32(state & MAX_COUNT)) if isinstance(state, int) else cast(state & MAX_COUNT, "u32")


# ---- waits -----------------------------------------------------------------------------------------------------------

# Objects of layout 1 have a second phase, the conditional one, which does not advance where an asynchronous operation reports that it
# has failed. Only operations of the fabric between GPUs and copies of targets after sm_120 report, and these are not modeled: the phases
# go on together, and reports are zero.


def _wait_forms(effect: Any, name: str, parity: bool, requires: str, hint: str) -> None:
    words: Options = {
        "name": name, "facts": WAITS, "sem": ACQUIRE, "scope": SCOPE, "space": SHARED, "rules": (order_with_scope,),
        "operands": {
            **_object, "d": Pred(), "p": Pred(sink=True), "report": Reg("b8"), "wanted": _parity if parity else _state,
            "limit": Value("u32"),
        },
    }  # fmt: skip
    phases = "phase_type::primary phase_type::conditional" if parity else "phase_type::primary"
    order, operands = "{.sem}{.scope}{.space}.b64", f"[a], wanted{hint}"
    instruction(f"{name}{order} d, {operands}", requires=requires, writes="d", **words)(effect)
    instruction(f"{name}.phase{order} d, {operands}", phase=phases, requires="9.3 sm_90", writes="d", **words)(effect)
    for report, written in (("", "d p"), (", report", "d p report")):
        instruction(
            f"{name}.phase_type::primary{order} d|p{report}, {operands}", requires="9.3 sm_90", writes=written, **words
        )(_reporting(effect))


def _reporting(effect: Any) -> Any:
    """The effect of a wait that asks whether something has been reported, too, and what: nothing."""

    def wait(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> Any:
        passed = effect(m, a, wanted, space=space)
        return passed if isinstance(passed, AtMBarriers) else (passed, passed ^ passed, np.zeros(LANES, np.uint8))

    return wait


def test_wait(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return m.unit(MBarriers).test(space, a, wanted, False)


def test_wait_parity(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return m.unit(MBarriers).test(space, a, wanted, True)


def try_wait(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return m.unit(MBarriers).try_wait(space, a, wanted, False)


def try_wait_parity(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return m.unit(MBarriers).try_wait(space, a, wanted, True)


_wait_forms(test_wait, "mbarrier.test_wait", False, "7.0 sm_80", "")
_wait_forms(test_wait_parity, "mbarrier.test_wait.parity", True, "7.1 sm_80", "")
_wait_forms(try_wait, "mbarrier.try_wait", False, "7.8 sm_90", "{, limit}")
_wait_forms(try_wait_parity, "mbarrier.try_wait.parity", True, "7.8 sm_90", "{, limit}")

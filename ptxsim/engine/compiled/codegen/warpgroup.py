"""Asynchronous products of a warpgroup, their fence and groups (engine.compiled.runtime.warpgroups)."""

from __future__ import annotations

from typing import Any

from ptxsim.engine.analysis import product_hazards
from ptxsim.engine.compiled.codegen.function import FunctionWriter, Typed
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.tensor.arithmetic import constant_table
from ptxsim.engine.compiled.tensor.panels import meaningless
from ptxsim.engine.compiled.tensor.warpgroup_product import ROWS, Form
from ptxsim.engine.program.operation import Op
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event
from ptxsim.machine.warpgroup import STARTED, WAITS


def _begin(w: FunctionWriter, op: Op) -> list[Any]:
    """The sources of an operation that may take the slow path at run time."""
    w.need_whole_warp(op)
    if not w.options.target:
        raise CannotEmit("a machine that is not known")
    if not product_hazards.keeps_rules(w.program):
        raise CannotEmit("a program that may break the rules of wgmma, or mix fragments")
    sources = w.sources(op)
    w.save_before_bail()
    return sources


def _call(w: FunctionWriter, result: str, name: str, *arguments: Typed) -> str:
    return w.call(result, w.helper(name, ("warpgroups",)), ("ptr", "%context"), *arguments)


def _tells(w: FunctionWriter) -> Typed:
    """Whether what products read is recorded."""
    return "i32", str(int(w.options.wanted.has(Event.ASYNC_READ)))


@lowers("warpgroup_fence")
def fence(w: FunctionWriter, op: Op) -> None:
    """Nothing: the program keeps the rules, and memory has all that it wrote."""
    _begin(w, op)


@lowers("warpgroup_commit")
def commit(w: FunctionWriter, op: Op) -> None:
    _begin(w, op)
    w.bail_unless(_call(w, "i1", "commit_products", ("ptr", "%warp")))


@lowers("warpgroup_wait")
def wait(w: FunctionWriter, op: Op) -> None:
    sources = _begin(w, op)
    w.bail_unless(
        _call(
            w, "i1", "wait_for_products", ("ptr", "%warp"), ("i32", str(op.site)), ("i64", str(sources[0])), _tells(w)
        )
    )


@lowers("wgmma")
def product(w: FunctionWriter, op: Op) -> None:
    """A product starts when the last of the four warps arrives; the others wait."""
    given = dict(zip(op.definition.sources, _begin(w, op), strict=True))
    e = w.emitter
    form = Form(op, w.options.target, w.options.numerics)
    registers = form.registers(w.program)
    if registers is None:
        raise CannotEmit("a product without a native form, or odd registers")
    d, a = registers
    w.flush({*d, *a})
    if form.sparse:
        _keep_metadata(w, form, given["e"])
    keep = _uniform(w, given["p"])
    descriptors = ["0" if form.from_registers else _uniform(w, given["a"]), _uniform(w, given["b"])]
    for which in (0, 1):
        if which or not form.from_registers:
            pieces = _call(
                w,
                "i64",
                "tile",
                ("ptr", "%warp"),
                ("i32", str(op.site)),
                ("i32", str(which)),
                ("i64", descriptors[which]),
            )
            w.bail_unless(e.let(f"icmp ne i64 {pieces}, 0"))
    run = w.product_helper(f"warpgroup_{form.product.form}", form.describe())
    w.declare(run, "void", *["ptr"] * 5)
    table = constant_table(w.module, form.table(w.places, d, a))
    addresses = [("i64", f"ptrtoint (ptr {symbol} to i64)") for symbol in (f"@{run}", table)]
    outcome = _call(
        w, "i32", "arrive_at_product", ("ptr", "%warp"), ("i32", str(op.site)), ("i32", str(op.line)), ("i32", keep),
        ("i64", descriptors[0]), ("i64", descriptors[1]), *addresses, ("i64", str(form.steps)), _tells(w),
    )  # fmt: skip
    started = e.let(f"icmp eq i32 {outcome}, {STARTED}")
    w.bail_unless(e.let(f"or i1 {started}, {e.let(f'icmp eq i32 {outcome}, {WAITS}')}"))
    w.wait_unless(started, abi.WARPGROUP)


def _keep_metadata(w: FunctionWriter, form: Form, given: Value) -> None:
    """Remember the metadata of a sparse product. The slow path reports what means nothing."""
    assert form.metadata is not None
    slot, words = w.stack_slot("product.metadata", "[32 x i32]"), w.raw(given)
    w.emitter.line(f"  store {words.type} {words.text}, ptr {slot}, align 4")
    for rows in ROWS:
        w.bail_unless(w.none_of(meaningless(w.emitter, form.metadata, rows, words)))
    w.bail_unless(_call(w, "i1", "keep_metadata", ("ptr", "%warp"), ("ptr", slot)))


def _uniform(w: FunctionWriter, value: Any) -> str:
    """What all lanes must agree on, as a scalar: a descriptor, or scale-d as 0 or -1."""
    e = w.emitter
    if not isinstance(value, Value):
        return str(-1 if value else 0)
    if value.kind == "pred":
        word = w.word(value)
        w.bail_unless(e.let(f"icmp ult i32 {e.let(f'add i32 {word}, 1')}, 2"))
        return word
    w.bail_unless(w.all_of(value == e.permute(value, [0] * LANES)))
    return e.let(f"extractelement {value.type} {value.text}, i64 0")

"""A program as one LLVM function: a switch on the block to run, and straight-line code for every block.

Registers are SSA values inside a block. They are written back to the warp's memory before anything that may leave the
instruction to the interpreter, and at the end of the block, so that memory is exact whenever Python looks; only those somebody
still wants are written. The function returns what to do next (abi.NEXT and so on).
"""

from __future__ import annotations

import hashlib
import json

from ptxsim.engine.analysis.forward_progress import impatience
from ptxsim.engine.analysis.liveness import live_before, live_out, seen_by_others
from ptxsim.engine.compiled.codegen import warp_matrix
from ptxsim.engine.compiled.codegen.operands import OperandWriter, Options
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.ir.outline import compute
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.compiled.runtime import abi, cp_async_state
from ptxsim.engine.compiled.runtime.abi import CONTEXT, WARP, WarpLayout
from ptxsim.engine.compiled.tensor import wgmma_product
from ptxsim.engine.program.operand import Constant, Literal
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.jit.compiler import ATTRIBUTES
from ptxsim.machine.event import Event

# Families whose machine effects have native forms; all others are services of the interpreter.
NATIVE = frozenset(
    {
        "load",
        "store",
        "atomic",
        "shuffle",
        "vote",
        "match",
        "redux",
        "elect",
        "activemask",
        "fence",
        "createpolicy",
        "warp_barrier",
    }
)
WHOLE = Synchronisation(Mechanism.BARRIER, Role.SYNC)


class KernelWriter(OperandWriter):
    """Writes the function of one program. `services` collects the operations left to the interpreter, with the reason."""

    def __init__(
        self, program: Program, places: WarpLayout, prefix: str, options: Options, half_conversion: bool = True
    ):
        super().__init__(program, places, options, half_conversion)
        self.prefix = prefix
        self.helpers: dict[str, tuple] = {}
        self.services: dict[int, str] = {}
        self.calls = any(op.control == "call" for op in program.ops)
        self.impatience = impatience(program)
        self.matrix = warp_matrix.MatrixWriter(self)
        self.warpgroup = wgmma_product.WarpgroupWriter(self)
        self.lane_copies = cp_async_state.LaneCopyWriter(self)
        self._scratch: dict[str, str] = {}
        self._edges = 0

    # ---- the whole ----

    def text(self, name: str) -> str:
        """The IR of the program as function `name`."""
        e, blocks = self.emitter, self.program.blocks
        keep = None if self.options.keep else live_out(self.program)
        always = seen_by_others(self.program)
        everything = set(range(len(self.program.slots)))
        for number, block in enumerate(blocks):
            out = everything if keep is None else keep[number]
            self.live = [everything] * len(block) if keep is None else live_before(block, out, always)
            self._block(number, block, out)
        body, rooms = e.lines, e.rooms
        head = [
            f"define i32 @{name}(ptr %context, ptr %warp) #0 {{",
            "entry:",
            *rooms,
            f"  %count.at = getelementptr i8, ptr %context, i64 {CONTEXT['count']}",
            f"  %left.at = getelementptr i8, ptr %warp, i64 {WARP['left']}",
            f"  %block.at = getelementptr i8, ptr %warp, i64 {WARP['block']}",
            f"  %op.at = getelementptr i8, ptr %warp, i64 {WARP['op']}",
            f"  %taken.at = getelementptr i8, ptr %warp, i64 {WARP['taken']}",
            f"  %target.at = getelementptr i8, ptr %warp, i64 {WARP['target']}",
            f"  %site.at = getelementptr i8, ptr %context, i64 {CONTEXT['site']}",
            f"  %own.site.at = getelementptr i8, ptr %warp, i64 {WARP['own_site']}",
            f"  %mask.at = getelementptr i8, ptr %warp, i64 {WARP['mask']}",
            "  %mask = load i32, ptr %mask.at",
            f"  %fence.at = getelementptr i8, ptr %warp, i64 {WARP['fence']}",
            "  %fence = load i32, ptr %fence.at",
            "  %lanes = bitcast i32 %mask to <32 x i1>",
            "  %block = load i32, ptr %block.at",
            "  switch i32 %block, label %nowhere [",
            *(f"    i32 {n}, label %b{n}" for n in range(len(blocks))),
            "  ]",
            "nowhere:",
            "  unreachable",
        ]
        self.module.functions.append("\n".join([*head, *body, "}"]))
        return self.module.text() + f"attributes #0 = {ATTRIBUTES}\n"

    def _block(self, number: int, block: list[Op], out: set[int]) -> None:
        e = self.emitter
        e.label(f"b{number}")
        self.number, self.block, self.ended = number, block, False
        self.begin_block()
        if self.options.events and block:
            self.op = block[0]
            self.event(Event.EXECUTE, 0, 0, 0, self.mask)
        for index, op in enumerate(block):
            self.op, self.index = op, index
            if op.control is not None:
                self._control(op, out)
                return
            mark = len(e.lines)
            self.begin_operation()
            try:
                self._operation(op)
            except Exception as reason:  # whatever an effect does that cannot be traced
                del e.lines[mark:]
                e._known.clear()
                self.undo()
                self._leave(op, f"{type(reason).__name__}: {reason}")
                return
            if self.ended:
                return
        self.flush(out)
        self._go(number + 1)

    @property
    def mask(self) -> str:
        return "-1" if self.options.full else "%mask"

    def _leave(self, op: Op, reason: str) -> None:
        """The interpreter goes on at this operation."""
        self.services[op.site] = reason
        self.flush(self.live[self.index])
        self.emitter.line(f"  store i32 {op.site}, ptr %site.at")
        self.emitter.line(f"  ret i32 {abi.BAIL}")

    # ---- one operation ----

    def _operation(self, op: Op) -> None:
        effect = op.definition.effect
        if effect is None:
            raise CannotEmit("not modeled")
        number = whole_barrier(op)
        if number is not None:
            self._barrier(op, number)
            return
        if op.family in warp_matrix.FAMILIES:
            result = self.matrix.write(op, [self.read(source) for source in op.sources])
            if op.destinations:
                self.write(op.destinations[0], result, None)
            return
        if Mechanism.WGMMA_GROUP in op.mechanisms:
            self.warpgroup.write(op, [self.read(source) for source in op.sources])
            return
        if op.family.startswith("cp_async"):
            self.lane_copies.write(op, [self.read(source) for source in op.sources])
            return
        if op.definition.uses_machine and op.family not in NATIVE:
            raise CannotEmit("a service")
        if op.aligned and not (self.options.full and op.guard is None):
            raise CannotEmit("aligned in a partial warp")
        guard = self.guard(op)
        sources = [self.read(source) for source in op.sources]
        if op.definition.uses_machine:
            word = self.mask
            if guard is not None:
                word = self.emitter.pure(f"bitcast <32 x i1> {guard.text} to i32", "word").text
            port = EmitPort(self, word, word == "-1")
            result = effect(port, *sources, **op.wants)
        else:
            result = compute(self.emitter, effect, sources, op.wants)
        if op.destinations:
            results = [result] if len(op.destinations) == 1 else result
            lanes_on = (
                guard if guard is not None else None if self.options.full else Value(self.emitter, "%lanes", "pred")
            )
            for destination, value in zip(op.destinations, results, strict=True):
                self.write(destination, value, lanes_on)

    def _barrier(self, op: Op, number: int) -> None:
        """A barrier of all threads ends the block: the scheduler counts the warp in, or leaves it to the interpreter."""
        e = self.emitter
        self.flush(self.live[self.index])
        e.line(f"  store i32 {number}, ptr %target.at")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        e.line(f"  store i32 {self.index + 1}, ptr %op.at")
        e.line(f"  store i32 {op.site}, ptr %site.at")
        e.line(f"  store i32 {op.site}, ptr %own.site.at")
        e.line(f"  ret i32 {abi.BARRIER}")
        self.ended = True

    # ---- helpers ----

    def helper(self, what: str, space: str, size: int, count: int, silent: bool = False) -> str:
        """The name of a memory helper, which the engine will provide."""
        records = self.options.events and not silent
        name = f"{self.prefix}{what}_{space}_{size}x{count}" + ("_events" if records else "")
        self.helpers[name] = (what, space, size, count)
        return name

    def helper_named(self, what: str) -> str:
        name = f"{self.prefix}{what}"
        self.helpers[name] = (what,)
        return name

    def helper_of(self, what: str, description: tuple) -> str:
        """The name of one of several helpers that come together."""
        name = f"{self.prefix}{what}"
        self.helpers[name] = description
        return name

    def helper_described(self, what: str, description: tuple) -> str:
        """The name of a helper that this description, with `what`, makes."""
        name = described(self.prefix, what, description)
        self.helpers[name] = description
        return name

    def declare(self, name: str, text: str) -> None:
        self.module.declarations.setdefault(f"@{name}" if name.startswith("llvm") else name, text)

    def scratch(self, t: str) -> str:
        """Room on the stack for one value of a type, used and forgotten at once."""
        return self.room(t, t)

    def room(self, name: str, t: str) -> str:
        """Room on the stack that all who give this name share."""
        if name not in self._scratch:
            self._scratch[name] = self.emitter.room(t)
        return self._scratch[name]

    def bail_unless(self, condition: str) -> None:
        """Leave the operation to the interpreter unless an i1 holds. Memory must be exact already."""
        e = self.emitter
        self._edges += 1
        n = self._edges
        e.line(f"  br i1 {condition}, label %good{n}, label %bad{n}")
        e.line(f"bad{n}:")
        e.line(f"  store i32 {self.op.site}, ptr %site.at")
        e.line(f"  ret i32 {abi.BAIL}")
        e.line(f"good{n}:")

    def wait_unless(self, condition: str, status: int) -> None:
        """Let the warp wait behind this operation, the last of its block, unless an i1 holds."""
        e = self.emitter
        self._edges += 1
        n = self._edges
        e.line(f"  br i1 {condition}, label %good{n}, label %wait{n}")
        e.line(f"wait{n}:")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        e.line(f"  store i32 {self.index + 1}, ptr %op.at")
        e.line(f"  store i32 {self.op.site}, ptr %own.site.at")
        e.line(f"  ret i32 {status}")
        e.line(f"good{n}:")

    def event(self, event: Event, space: int, size: int, flags: int, mask: str, addresses: str = "null") -> None:
        """Record an event; `addresses` is where those of the lanes are, if it has any."""
        name = f"{self.prefix}event"
        self.declare(name, f"declare void @{name}(ptr, ptr, i32, i32, i32, i32, i32, i32, ptr)")
        self.emitter.line(
            f"  call void @{name}(ptr %context, ptr %warp, i32 {self.op.site}, i32 {int(event)}, i32 {int(space)}, "
            f"i32 {size}, i32 {flags}, i32 {mask}, ptr {addresses})"
        )

    # ---- the end of a block ----

    def _done(self) -> str:
        """Count the block; returns the turns left."""
        e = self.emitter
        count = e.let("load i64, ptr %count.at")
        e.line(f"  store i64 {e.let(f'add i64 {count}, {len(self.block)}')}, ptr %count.at")
        left = e.let(f"sub i32 {e.let('load i32, ptr %left.at')}, 1")
        e.line(f"  store i32 {left}, ptr %left.at")
        return left

    def _go(self, target: int, left: str | None = None) -> None:
        """To another block, unless the turns are used up or it is another split's turn."""
        e = self.emitter
        left = left or self._done()
        self._edges += 1
        stop = f"stop{self._edges}"
        if target == len(self.program.blocks):  # behind the last block, where nobody comes
            e.line("  unreachable")
            return
        stops = e.let(f"icmp eq i32 {left}, 0")
        if not self.options.full:  # where another split stands; a block that takes patience is always chosen
            last = abi.ALONE - 1 if self.impatience[target] else target
            stops = e.let(f"or i1 {stops}, {e.let(f'icmp sle i32 %fence, {last}')}")
        e.line(f"  br i1 {stops}, label %{stop}, label %b{target}")
        e.label(stop)
        e.line(f"  store i32 {target}, ptr %block.at")
        e.line(f"  ret i32 {abi.NEXT}")

    def _control(self, op: Op, out: set[int]) -> None:
        e = self.emitter
        leaves = op.control == "exit" or (op.control == "ret" and not self.calls)
        if op.control != "bra" and not leaves:
            self._leave(op, "control")
            return
        guard = self.guard(op)
        self.flush(out)
        left = self._done()
        if guard is None:
            if leaves:
                self._exit(self.mask)
            else:
                self._go(op.targets[0], left)
            return
        taken = e.let(f"bitcast <32 x i1> {guard.text} to i32")
        self._edges += 1
        n = self._edges
        e.line(f"  br i1 {e.let(f'icmp eq i32 {taken}, {self.mask}')}, label %all{n}, label %some{n}")
        e.label(f"all{n}")
        if leaves:
            self._exit(taken)
        else:
            self._go(op.targets[0], left)
        e.label(f"some{n}")
        e.line(f"  br i1 {e.let(f'icmp eq i32 {taken}, 0')}, label %none{n}, label %split{n}")
        e.label(f"none{n}")
        self._go(self.number + 1, left)
        e.label(f"split{n}")
        e.line(f"  store i32 {taken}, ptr %taken.at")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        if leaves:
            e.line(f"  store i32 {op.site}, ptr %site.at")
            e.line(f"  ret i32 {abi.EXIT}")
        else:
            e.line(f"  store i32 {op.targets[0]}, ptr %target.at")
            e.line(f"  ret i32 {abi.DIVERGE}")

    def _exit(self, taken: str) -> None:
        e = self.emitter
        e.line(f"  store i32 {taken}, ptr %taken.at")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        e.line(f"  store i32 {self.op.site}, ptr %site.at")
        e.line(f"  ret i32 {abi.EXIT}")


def described(prefix: str, what: str, description: tuple) -> str:
    """The name of the helper that a description makes."""
    digest = hashlib.blake2b(json.dumps(description).encode(), digest_size=8).hexdigest()
    return f"{prefix}{what.split('_')[0]}_{digest}"


def whole_barrier(op: Op) -> int | None:
    """The number of a barrier that all threads of the CTA wait at (bar.sync N), or None."""
    if op.synchronises != WHOLE or op.destinations or op.guard is not None:
        return None
    number, count = op.sources
    value = number.value if isinstance(number, Literal | Constant) else None
    return value if count is None and isinstance(value, int) and value < 16 else None

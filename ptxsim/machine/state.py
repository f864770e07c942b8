"""A machine while it runs one launch: memory, grid, target, pending asynchronous work, findings."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.machine.barriers.mbarrier_state import NEVER
from ptxsim.machine.draws import Draws
from ptxsim.machine.event import EventStream
from ptxsim.machine.memory import SHARED_RESERVED, GlobalMemory
from ptxsim.machine.shared_names import Variables
from ptxsim.machine.warpgroup import ProductRecord, WarpgroupRecord
from ptxsim.types import Target

if TYPE_CHECKING:
    from ptxsim.machine.cta import Warp

Shape = tuple[int, int, int]


class Copies(Protocol):
    """Bulk copies in flight (machine.copies.bulk)."""

    @property
    def next_due(self) -> int:
        """The turn at which the next of them completes, or NEVER."""

    def land_due(self, now: int) -> None:
        """Complete what is due at a turn."""

    def end(self, warps: Iterable[Warp]) -> None:
        """The cluster of these warps has ended: what they have in flight completes."""


class Machine:
    """Everything the port reaches that is not a warp or a CTA. `steps` counts warp turns."""

    target: Target
    grid: Shape
    shared_start: int  # first usable byte of shared memory
    dynamic_shared: int

    def __init__(
        self, target: Target, grid: Shape, block: Shape, cluster: Shape, memory: GlobalMemory, *,
        stream: EventStream | None = None, seed: int = 0, local_bytes: int = 0, dynamic_shared: int = 0,
        shared_bytes: int = 0, shared_fill: int = 0, numerics: str = "target", checks: str = "all", print_to: Callable[[str], None] | None = None,
    ):  # fmt: skip
        self.target, self.grid, self.block, self.cluster = target, grid, block, cluster
        self.memory, self.stream, self.seed, self.numerics = memory, stream, seed, numerics
        self.local_bytes, self.dynamic_shared, self.shared_bytes = local_bytes, dynamic_shared, shared_bytes
        self.shared_start = shared_start(target)
        self.before: GlobalMemory | None = None  # a copy of the memory before the first CTA, where one is kept
        self.shared_fill = shared_fill  # what every byte of shared memory holds when a CTA starts
        self.checks = checks  # "none": only what stops the GPU is said
        self.print_to = print_to or functools.partial(print, end="")  # where the kernel's vprintf writes
        self.steps = 0
        self.warp_instructions = 0
        # Of them, those of rounds after which a cluster only polls; how many there were when the round that runs began.
        self.polled = self.round_began = 0
        self.slow_path: Counter[tuple[int, str]] = Counter()  # executions without native code: site and why
        self.findings: dict[tuple[str, int], Finding] = {}
        # Offsets of mbarriers that a CTA which has ended asked, and what is said of the others where no CTA did.
        self.asked: set[int] = set()
        self.unasked: list[tuple[int, Finding]] = []
        self.stopped_at: int | None = None  # line where the launch ended early, 0 for no single line
        self.shared_variables: Variables = {}
        # Whether the kernel has an array whose size is the launch's (.extern .shared).
        self.has_open_array = False
        # By site: whether a shuffle's reads from lanes that are not there have been reported.
        self.strayed = np.zeros(1, np.uint8)
        self.garbage = 0  # what such a read flips of the register
        self.grid_workspace: int = 0  # address of what barriers of the whole grid work on, in a cooperative launch
        # Gives the descriptor to read operand "A" or "B" of an asynchronous product with, in place of the kernel's.
        self.replace_descriptor: Callable[[str, int], int] | None = None
        # Whether registers can bring a fragment to a use as another one; the argument: as an opaque one of wmma.
        self.can_mix: Callable[[bool], bool] | None = None
        # By register slot of an asynchronous product, those of which it may be a copy.
        self.copied_into: Mapping[int, Collection[int]] = {}
        # Register slots of accumulators and of A that asynchronous products use, and of which these may be copies; None: any.
        self.product_slots: Collection[int] | None = None
        # Computes products of a warpgroup natively, or says that it cannot. It is there only if no way through the program
        # breaks their rules, so that nothing needs to watch for breaches.
        self.native_product: Callable[[WarpgroupRecord, ProductRecord], bool] | None = None
        # Computes products on the tensor memory of CTAs natively, or says that it cannot.
        self.native_tensor_product: Callable[[Any, Sequence[Any]], bool] | None = None
        # Tiles in whose descriptors nothing is wrong: where they begin, and why that is doubtful.
        self.right_tiles: dict[object, tuple[int, str | None]] = {}
        # Takes the next cluster that has not begun out of the launch; the index of its first CTA, or None.
        self.cancel_cluster: Callable[[], Shape | None] = lambda: None
        self.op_at: Callable[[int], Any]  # the program's operation at a site
        # With seed 0 nothing is drawn, unless warps miss each other for ever (engine.grid).
        self.draws = Draws.of_seed(seed)
        self.mixes = seed != 0  # whether chance decides who is when how far
        self.products: dict[int, Any] = {}  # what is known of the asynchronous products among them
        self.copies: Copies | None = None  # once there are some
        self._pending: list[tuple[int, int, Callable[[], None], Callable[[], bool]]] = []  # due, in the order of issue
        self._order = itertools.count()

    # ---- asynchronous work ----

    def schedule(
        self, callback: Callable[[], None], after: int = 0, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Call `callback` after that many warp turns, or earlier if nothing else can run, unless it `is_over` by then."""
        heapq.heappush(self._pending, (self.steps + after, next(self._order), callback, is_over))

    @property
    def pending(self) -> bool:
        """Whether asynchronous work is under way."""
        return bool(self._pending) or self._copies_due != NEVER

    @property
    def _copies_due(self) -> int:
        return NEVER if self.copies is None else self.copies.next_due

    @property
    def next_due(self) -> int:
        """The turn at which the next asynchronous work of Python completes."""
        while self._pending and self._pending[0][3]():
            heapq.heappop(self._pending)
        return self._pending[0][0] if self._pending else NEVER

    def complete_due(self) -> None:
        """Complete what is due by now, copies first."""
        if self.copies is not None and self.copies.next_due <= self.steps:
            self.copies.land_due(self.steps)
        while self.next_due <= self.steps:
            self._complete()

    def complete_next(self, until: int | None = None) -> bool:
        """Complete the earliest work although it is not due; False if there is none that is due by the turn `until`."""
        due = min(self._copies_due, self.next_due)
        if due == NEVER or (until is not None and due > until):
            return False
        self.steps = max(self.steps, due)
        if self.copies is not None and due == self.copies.next_due:
            self.copies.land_due(due)
        else:
            self._complete()
        return True

    def _complete(self) -> None:
        """The next asynchronous work of Python completes."""
        heapq.heappop(self._pending)[2]()

    # ---- findings ----

    def stop(self, finding: Finding) -> None:
        """The launch ends early, for the reason that a finding gives."""
        self.add_finding(finding)
        self.stopped_at = finding.line or 0

    def add_finding(self, finding: Finding) -> None:
        """Keep a finding; later ones of the same name and line only count."""
        key = (finding.name, finding.line)
        known = self.findings.get(key)
        if known is None:
            self.findings[key] = finding
        else:
            object.__setattr__(known, "count", known.count + finding.count)


# KiB of shared memory a CTA can have (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
_SHARED_KIB = {70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 120: 99, 121: 99}


def max_shared_bytes(target: Target) -> int:
    """The most shared memory a CTA of a target can have."""
    return _SHARED_KIB.get(target.number, 227) * 1024


def max_static_shared_bytes(target: Target) -> int:
    """The most the assembler takes in declarations: all on architecture-specific targets, else 48 KiB (found with ptxas)."""
    return max_shared_bytes(target) if target.suffix == "a" else 0xC000


def shared_start(target: Target) -> int:
    """First usable byte of shared memory; from sm_80 on the system keeps the first KiB."""
    return SHARED_RESERVED if target.number >= 80 else 0

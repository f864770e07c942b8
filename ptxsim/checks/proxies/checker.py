"""Rules of asynchronous memory operations: proxy fences, waits, tiles in flight, edited tensor maps, ends of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.findings.causes import by_cause, note_of_others
from ptxsim.checks.findings.changes import fences_after
from ptxsim.checks.findings.waits import missing_wait, overwritten
from ptxsim.checks.order.sites import ACQUIRES, site_bits
from ptxsim.checks.proxies.running import COUNT, FOUND, FULL, Running, drop, is_to_go
from ptxsim.checks.proxies.scan import FIELDS, GENERIC, REDUCTION, UNFENCED, UNWAITED, WARPGROUP, scan
from ptxsim.checks.proxies.state import ProxyShadow
from ptxsim.diagnostic import LEFT_OVER, Finding, Label
from ptxsim.edits import Edit, Fix
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Mechanism, Proxy, Scope
from ptxsim.jit.kinds import Alike
from ptxsim.jit.native import PreparedCall, prepared
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.shared_names import Variables, shared_name


class ProxyChecker(Observer):
    """Finds missing and needless proxy fences, tiles that are overwritten while they are read, and missing waits.

    threads and shared_bytes are those of a CTA; homes knows the clusters.
    """

    events = frozenset(
        {
            Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.LDMATRIX, Event.STMATRIX,
            Event.ASYNC_READ, Event.ASYNC_WRITE, Event.ASYNC_ISSUE, Event.ASYNC_WAIT, Event.FENCE,
            Event.ARRIVE, Event.LEAVE, Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT, Event.SYNC_WARP, Event.EXIT,
        }
    )  # fmt: skip
    spaces = frozenset({Space.SHARED, Space.GLOBAL})
    selects = True

    def __init__(
        self, program: Program, threads: int, shared_bytes: int, homes: Homes, keep: int = 32,
        variables: Variables | None = None,
    ):  # fmt: skip
        self.program, self.homes, self.variables = program, homes, variables or {}
        self.threads, self.shared_bytes, self.keep = threads, shared_bytes, keep
        self._another = partial(ProxyChecker, program, threads, shared_bytes, homes, keep, variables)
        self.kinds = np.array(_kinds(program), np.int8)
        self.acquires = np.array(_acquires(program), np.bool_)
        self.useful = np.zeros(len(program.ops), np.int8)
        self.found = np.empty((0, FIELDS), np.int64)
        self.running = Running.of(threads, homes.ranks(), homes.size, keep)
        self.shadows = Alike([self._shadow()])
        self._consumer: PreparedCall | None = None
        self.problems: dict[tuple[int, int, int], tuple[int, np.ndarray]] = {}
        self.unwaited: dict[int, tuple[int, int]] = {}  # site of a bulk store: (times, CTA)

    def consume(self, records: np.ndarray) -> None:
        self._note_found()
        self._have_room(len(records))
        body, at = scan.form(len(records)), 0
        while True:
            at = body(records, at, *self._state)
            if at == len(records):
                break
            self._make_room()
        self._note_found()
        if self._consumer is not None:
            self._consumer.fill((self._ring, 0, *self._state))  # some may be others

    @property
    def _state(self) -> tuple[Running, Alike[ProxyShadow], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the scan is called with, besides records."""
        return self.running, self.shadows, self.kinds, self.acquires, self.useful, self.found

    def consumer(self, records: np.ndarray) -> PreparedCall | None:
        if self._consumer is None:
            self._have_room(len(records))
            self._ring, self._consumer = records, prepared(scan.form(0), (records, 0, *self._state))
            if self._consumer is not None:
                self._consumer.noted = self.running.n[FULL:].ctypes.data
        return self._consumer

    def _have_room(self, count: int) -> None:
        """For problems of so many records."""
        if len(self.found) < LANES * count:
            self.found = np.empty((LANES * count, FIELDS), np.int64)

    def _make_room(self) -> None:
        """For a CTA that the scan has stopped at."""
        if is_to_go(self.running, self.shadows):
            self._close()
        else:
            self.shadows.append(self._shadow())

    def _shadow(self) -> ProxyShadow:
        return ProxyShadow.of(-(-self.threads // LANES), self.shared_bytes)

    def _note_found(self) -> None:
        """Take what the scan has found."""
        n = self.running.n
        count, n[[FOUND, FULL]] = int(n[FOUND]), 0
        if count:
            self._remember(self.found[:count])

    def _remember(self, found: np.ndarray) -> None:
        words = found[:, 0] << 60 | found[:, 1] << 30 | found[:, 2]
        _, firsts, counts = np.unique(words, return_index=True, return_counts=True)
        for key, index, more in zip(map(tuple, found[firsts, :3].tolist()), firsts, counts.tolist()):
            if key not in self.problems:
                self.problems[key] = (0, found[index].copy())
            times, first = self.problems[key]
            self.problems[key] = (times + more, first)

    def finish(self) -> None:
        self._note_found()
        while self.running.n[COUNT]:
            self._close()

    def beside(self) -> ProxyChecker | None:
        self._note_found()
        return None if self.problems else self._another()

    def take(self, others: Sequence[Self]) -> bool:
        for each in others:
            np.maximum(self.useful, each.useful, out=self.useful)
        return not any(each.problems or each.unwaited for each in others)

    def _close(self) -> None:
        """The oldest CTA is over: bulk stores whose reads were never waited for."""
        cta = int(self.running.ctas[0])
        shadow = self.shadows[self.running.place[cta]]
        drop(self.running)
        lines = shadow.lines[shadow.lines["reading"] != 0]
        chunks = np.ascontiguousarray(lines["reading"]).view(np.uint8).reshape(lines["read_site"].shape)
        read = lines["read_site"][chunks > 0], shadow.read_site[shadow.reading > 0]
        for site in np.unique(np.concatenate(read)).tolist():
            if self.program.ops[site].completes_by in (Mechanism.BULK_GROUP, Mechanism.MBARRIER):
                times, first = self.unwaited.get(site, (0, cta))
                self.unwaited[site] = (times + 1, first)

    # ---- findings ----

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each cause."""
        found = []
        for keys in by_cause(program, self.problems):
            times = sum(self.problems[key][0] for key in keys)
            finding = self._finding(keys[0], times, self.problems[keys[0]][1])
            found.append(replace(finding, notes=(*finding.notes, *note_of_others(program, keys))))
        for site, (times, _) in self.unwaited.items():
            op = program.ops[site]
            found.append(
                Finding(
                    "missing-wait",
                    f"the CTA ends while {op.opcode} may still read its shared memory",
                    **_place(op),
                    count=times,
                    help=f"wait before the end: {_how_to_wait(op)}",
                    case=LEFT_OVER,
                )
            )
        for site in np.flatnonzero(self.useful == 1).tolist():
            op = program.ops[site]
            found.append(
                Finding(
                    "needless-fence",
                    f"{op.opcode} orders nothing: no ordinary access came since the fence before",
                    **_place(op),
                    help="leave it out",
                    fixes=(Fix(f"Take line {op.line} out", (Edit("", "statement", op.line, op.column),)),),
                )
            )
        return found

    def named(self, address: int) -> str:
        """An address of shared memory by its variable."""
        return shared_name(self.variables, address)

    def _finding(self, key: tuple[int, int, int], times: int, row: np.ndarray) -> Finding:
        what, site, other = key
        op, before = self.program.ops[site], self.program.ops[other]
        address, warp, lane = (int(v) for v in row[3:6])
        place = {**_place(op), "warp": warp, "count": times}
        if what == UNWAITED:
            is_by_group = before.completes_by is Mechanism.CP_ASYNC_GROUP  # which only the thread that copies waits for
            by = int(row[6]) if is_by_group and row[6] != warp else None
            return missing_wait(self.program, site, other, times, self.named(address), warp, lane, by)

        def label(text: str) -> tuple[Label, ...]:
            return (Label(before.line, text, before.column, len(before.opcode)),)

        if what == UNFENCED:
            return Finding(
                "missing-proxy-fence",
                f"{op.opcode} {_verb(op)} shared memory at {self.named(address)} that no proxy fence has published since it was written",
                **place, labels=label("written through the generic proxy here"), notes=("barriers order threads, not proxies",),
                help=f"add fence.proxy.async.shared::cta; after line {before.line}, before the barrier that follows",
                fixes=fences_after(self.program, before),
            )  # fmt: skip
        return overwritten(self.program, op, before, None, times, self.named(address), warp, lane)


@fact
def _kinds(program: Program) -> tuple[int, ...]:
    """Of each operation, what it is to the async proxy."""
    return tuple(map(_kind, program.ops))


def _kind(op: Op) -> int:
    if op.facts.scope is Scope.WARPGROUP:
        return WARPGROUP
    if not any(each.proxy is Proxy.ASYNC for each in op.accesses):
        return GENERIC
    reduces = any(each.proxy is Proxy.ASYNC and each.kind is AccessKind.ATOMIC for each in op.accesses)
    return REDUCTION if reduces else 0


@fact
def _acquires(program: Program) -> tuple[bool, ...]:
    """Of each operation, whether its thread may know what others have done when it is over; barriers and waits have events of their own."""
    return tuple(
        bits & ACQUIRES != 0 and (op.fence is None or op.fence.is_thread_fence)
        for op, bits in zip(program.ops, site_bits(program))
    )


def _place(op: Op) -> dict[str, Any]:
    return {"line": op.line, "column": op.column, "length": len(op.opcode)}


@fact
def concerns_proxies(program: Program) -> bool:
    """Whether there is anything for these rules: operations that copy asynchronously, go through the async proxy, or are fences
    for it."""
    return any(map(_concerns_proxies, program.ops))


def _concerns_proxies(op: Op) -> bool:
    if op.fence is not None:
        return op.fence.proxy is Proxy.ASYNC
    copies = op.completes_by is Mechanism.CP_ASYNC_GROUP
    return copies or any(access.proxy is not Proxy.GENERIC for access in op.accesses)


def _how_to_wait(op: Op) -> str:
    """What shows that an operation has read its sources."""
    if op.completes_by is Mechanism.MBARRIER:
        return "commit the product to an mbarrier, and let a thread wait for that phase"
    return "cp.async.bulk.commit_group, then cp.async.bulk.wait_group.read 0"


def _verb(op: Op) -> str:
    """What an asynchronous operation does in shared memory, the reading of tensor maps aside."""
    in_shared = (access for access in op.accesses if access.proxy is Proxy.ASYNC and access.space != "global")
    return "reads" if any(access.reads for access in in_shared) else "writes"

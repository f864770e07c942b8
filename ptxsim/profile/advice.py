"""What to try first, read off the stalls and the pipes."""

from __future__ import annotations

from ptxsim.profile.cycles import Cycles

_HINTS = {
    "long_scoreboard": "waits for global memory: load earlier, load more per thread, or copy asynchronously into shared memory",
    "short_scoreboard": "waits for shared memory or special functions: look at `ptxsim banks`, and put work between load and use",
    "barrier": "waits at barriers: balance the warps, or split the work so that fewer threads meet",
    "math_pipe_throttle": "a math pipe is full: fewer or cheaper instructions (wider types, tensor cores) are what helps",
    "lg_throttle": "the queue of global accesses is full: wider loads (.v2, .v4), and lanes next to each other",
    "mio_throttle": "the queue of shared-memory accesses is full: wider accesses, fewer conflicts, registers instead",
    "wait": "dependent instructions follow each other: give each thread independent work, or run more warps",
    "branch_resolve": "branches: unroll loops, or replace short branches by selects",
    "gmma": "waits for products of a warpgroup: keep more than one group in flight (wait_group 1)",
    "no_instruction": "code is fetched for the first time: a shorter kernel, or more work per launch",
    "membar": "waits for fences: a narrower scope, or fewer of them",
    "imc_miss": "waits for constants and parameters, of which the first come with the launch: in a short kernel that is no fault of its own",
    "not_selected": "enough warps are ready: the SM issues as fast as it can",
}
COPIED = "waits for what copies bring: begin them earlier, with more stages under way"
# The same where a line waits for a full queue, by what it does in memory (`LineStalls`).
_QUEUED = {
    "atomic": "atomics wait for those before at L2: add up in the warp or in shared memory first, or take more places",
    "local": "accesses to a thread's own array wait for its stores, of which each sector goes to L2: index it alike in all lanes, or keep it in shared memory",
}
BUSY = 0.6  # share of the time from which a unit is what others wait for


def suggestions(result: Cycles, most: int = 3) -> list[str]:
    """Up to `most` sentences, the biggest loss first, with the line where it is biggest."""
    total = sum(result.stalls.values()) or 1.0
    found: list[str] = []
    for reason, waited in sorted(result.stalls.items(), key=lambda kv: -kv[1]):
        if waited < 0.1 * total or len(found) == most:
            break
        line = max(result.lines, key=lambda row: row.stalls.get(reason, 0.0), default=None)
        where = f" (most at line {line.line})" if line is not None else ""
        hint = _HINTS.get(reason, "see the table by line")
        if reason == "lg_throttle" and line is not None:
            hint = _QUEUED.get(line.memory, hint)
        busy = result.pipes.get("tensor", 0.0)
        if reason == "long_scoreboard" and result.memory.get("bulk_bytes") and not result.memory.get("l1_sectors"):
            hint = COPIED
        if reason == "long_scoreboard" and result.bound_by == "tensor" and busy > BUSY:
            hint = f"waits for the tensor core, which is busy {busy:.0%} of the time"
        found.append(f"{waited / total:.0%} of the waiting is {reason}{where}: {hint}")
    if result.occupancy.share < 0.34 and result.waves > 1:
        found.append(
            f"{result.occupancy.limiter} limit the SM to {result.occupancy.warps} warps: more of them would hide latency"
        )
    return found[: most + 1]

"""What a trace is made of: one entry for each block a warp executes, each access, each work of the tensor core, and what it does at
barriers."""

from __future__ import annotations

from ptxsim.jit.body import record

BLOCK, SHARED, LOAD, STORE, ATOMIC, CONST, ARRIVE, WAIT, BULK, LEAVE, MATCH, DETOUR, TENSOR, COMMIT, SEND = range(15)
MOST_WARPS = 64  # of a CTA
LOCAL_LINES = 1 << 51  # from here on, lines are of local memory: a word of all lanes each
# Widths of an ARRIVE: that comes when a copy has landed; of a thread at an mbarrier of another CTA of the cluster.
LATE, REMOTE = -1, -2
ENTRY = record(
    ("cta", "<i4"),
    ("warp", "<i4"),
    ("code", "<i4"),
    ("site", "<i4"),  # of a BLOCK: its number
    # Of the SM's data path, or tensor core; of a SEND: of the port to other SMs of the cluster; of a BULK: bytes; of a MATCH: different values; of a DETOUR: facts.detour.
    ("cycles", "<f4"),
    ("width", "<i4"),  # of a TENSOR: cycles more until the result is there; of a SEND: bytes
    # Lines of an access outside shared memory: lines[first : first + count]. Of a TENSOR: multiplications and additions.
    ("first", "<i8"),
    (
        "count",
        "<i4",
    ),  # of an access to shared memory of the cluster: cycles of the SM's port to the others, of an atomic: operations elsewhere
    (
        "object",
        "<i8",
    ),  # what an ARRIVE, WAIT, BULK, SEND or COMMIT is about; of an access, the first address; of a BLOCK, its lanes
    # Arrivals a WAIT waits for (before: the parity of its phase, or of an ARRIVE's); of a LOAD or STORE, the bytes of its sectors that it is about.
    ("need", "<i4"),
    ("awaits", "<i4"),  # the flag that the last look of a spin loop waits for, from 1 on; 0 for none
    ("sets", "<i4"),  # the flag that a write is
)

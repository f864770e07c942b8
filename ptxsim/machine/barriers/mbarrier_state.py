"""mbarrier objects as records, and what happens to them: bodies, for both engines.

An object counts pending arrivals and pending transaction bytes of its current phase; the phase is over when both are
zero. The truth is a record of the CTA, mirrored as a 64-bit word into the shared memory where the object lives (the layout
of the word is our own: pending, expected, bytes, parity, valid), so that a program that overwrites it is found out.

Bodies that can fail return DONE or what is wrong, with nothing changed; the words for it are in machine.barriers.mbarrier.
"""

from __future__ import annotations

from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, view
from ptxsim.jit.record import FLAG, I32, I64, U32, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.records import AT_MBARRIERS, LINES, RUNS, MBarrierRecord, MBarrierTable, Split, WarpRecord
from ptxsim.machine.shared_names import Variables, shared_name

MAX_COUNT = (1 << 20) - 1  # of arrivals, and of bytes in either direction
MAX_REPORTED = (1 << 9) - 1  # of arrivals at objects of layout 1, which have room for a report
TOKEN_PHASE = 20  # a state token holds the pending count below this bit and the phase number from it up
VALID = -1 << 63  # the highest bit of the word

DONE, TOO_MANY_ARRIVALS, WOULD_COMPLETE, TOO_MANY_PENDING, TOO_MANY_BYTES, STALE_TOKEN = range(6)
DROP, NO_COMPLETE = 1, 2  # kinds of arrivals, to be added up

TIMEOUTS = 2  # time-outs of one warp on one phase; after these a wait can end a deadlocked run
TIMEOUT_TURNS = 1_000_000  # a wait times out only if nothing else can go on: later than any copy lands
POLLS = 1000  # failed test_wait of one warp on one phase, after which it is a wait
NEVER = 1 << 62  # the turn of a time-out that does not come

NOWHERE = -1  # in place of a number in the table


@record
class Word(Record):
    """The 64 bits that stand in shared memory."""

    bits: I64


# ---- objects -----------------------------------------------------------------------------------------------------------


def place_of(table: MBarrierTable, offset: int) -> int:
    """The number of the record for an offset, live or not."""
    for i in range(table.used):
        if table.all[i].offset == offset:
            return i
    return NOWHERE


def bits_of(barrier: MBarrierRecord) -> int:
    """The word of an object, with a sign."""
    low = barrier.pending | barrier.expected << 20
    return low | (barrier.bytes & (1 << 22) - 1) << 40 | (barrier.phase & 1) << 62 | VALID


def mirror(barrier: MBarrierRecord) -> None:
    view(barrier.word, Word, 1)[0].bits = bits_of(barrier)


def is_intact(barrier: MBarrierRecord) -> bool:
    """Whether the program has not written over an object."""
    return int(view(barrier.word, Word, 1)[0].bits) == bits_of(barrier)


def is_left_over(barrier: MBarrierRecord) -> bool:
    """Whether a phase has begun and is not over."""
    return barrier.live != 0 and (barrier.bytes != 0 or barrier.pending != barrier.expected)


@body
def begin(table: MBarrierTable, offset: I32, address: I64, expected: I32, layout: I32, line: I32) -> I32:
    """A new object at an offset, called by an address, made by the instruction of a line; the number of its record."""
    place = place_of(table, offset)
    if place == NOWHERE:
        place = table.used
        table.used += 1
    barrier = table.all[place]
    barrier.live = 1
    barrier.offset = offset
    barrier.word = table.shared + offset
    barrier.called = address
    barrier.expected = expected
    barrier.pending = expected
    barrier.bytes = 0
    barrier.phase = 0
    barrier.asked = 0
    barrier.layout = layout
    barrier.init_line = line
    barrier.announced = 0
    barrier.last_cta = 0
    barrier.last_warp = 0
    barrier.last_line = 0
    barrier.polled = 1
    forget_polls(barrier)
    for n in range(LINES):
        barrier.lines[n], barrier.arrivals[n] = 0, 0
        barrier.lines_before[n], barrier.arrivals_before[n] = 0, 0
    mirror(barrier)
    return place


def most_arrivals(layout: int) -> int:
    """The highest count of arrivals of an object."""
    return MAX_REPORTED if layout == 1 else MAX_COUNT


def token_of(barrier: MBarrierRecord) -> int:
    """The opaque state that arrive returns."""
    return barrier.phase << TOKEN_PHASE | barrier.pending


@body
def arrive(barrier: MBarrierRecord, count: I64, kind: I32, cta: I32, warp: I32, line: I32) -> I32:
    """`count` arrivals of a warp; with DROP later phases expect as many fewer."""
    if count < 1 or count > barrier.pending:
        return TOO_MANY_ARRIVALS
    if kind & NO_COMPLETE != 0 and count == barrier.pending:
        return WOULD_COMPLETE
    barrier.pending -= count
    barrier.last_cta = cta
    barrier.last_warp = warp
    barrier.last_line = line
    note_line(barrier, line, count)
    if kind & DROP != 0:
        barrier.expected -= count
    settle(barrier)
    return DONE


@body
def add_pending(barrier: MBarrierRecord, count: I64) -> I32:
    """More arrivals are expected in this phase."""
    if barrier.pending + count > most_arrivals(barrier.layout):
        return TOO_MANY_PENDING
    barrier.pending += count
    mirror(barrier)
    return DONE


@body
def expect_bytes(barrier: MBarrierRecord, count: I64) -> I32:
    """Announce `count` bytes for this phase."""
    if barrier.bytes + count > MAX_COUNT:
        return TOO_MANY_BYTES
    barrier.announced += count
    barrier.bytes += count
    mirror(barrier)
    return DONE


@body
def complete_bytes(barrier: MBarrierRecord, count: I64) -> I32:
    """`count` bytes have been transferred."""
    if barrier.bytes - count < -MAX_COUNT:
        return TOO_MANY_BYTES
    barrier.bytes -= count
    settle(barrier)
    return DONE


def settle(barrier: MBarrierRecord) -> None:
    """End the phase if nothing is missing."""
    if barrier.pending == 0 and barrier.bytes == 0:
        barrier.phase += 1
        barrier.pending = barrier.expected
        barrier.announced = 0
        forget_polls(barrier)
        begin_lines(barrier)
    mirror(barrier)


def note_line(barrier: MBarrierRecord, line: int, count: int) -> None:
    """An instruction's arrivals in this phase."""
    place = 0
    while place < LINES - 1 and barrier.arrivals[place] != 0 and barrier.lines[place] != line:
        place += 1
    barrier.lines[place] = line
    barrier.arrivals[place] += count


def begin_lines(barrier: MBarrierRecord) -> None:
    """Those of the phase that is over are those of the one before."""
    for place in range(LINES):
        barrier.lines_before[place], barrier.arrivals_before[place] = barrier.lines[place], barrier.arrivals[place]
        barrier.arrivals[place] = 0


def forget_polls(barrier: MBarrierRecord) -> None:
    if barrier.polled != 0:
        barrier.polled = 0
        for warp in range(LANES):
            barrier.polls[warp] = 0


# ---- waits: each lane watches an object until that has left the phase it is in -------------------------------------------


@body
def watch_parity(warp: WarpRecord, lane: I32, barrier: MBarrierRecord, parity: I64) -> I32:
    """A lane looks at an object: it waits for the phase of a parity, the current one or the one before. The manual gives parities 0 and 1;
    the machine looks at the lowest bit."""
    watch(warp, lane, barrier, (barrier.phase & 1) != (parity & 1))
    return DONE


@body
def watch_token(warp: WarpRecord, lane: I32, barrier: MBarrierRecord, token: I64) -> I32:
    """The same for the phase that a token was given in, which must be a recent one."""
    phase = token >> TOKEN_PHASE
    if phase < barrier.phase - 1 or phase > barrier.phase:
        return STALE_TOKEN
    watch(warp, lane, barrier, phase < barrier.phase)
    return DONE


def watch(warp: WarpRecord, lane: int, barrier: MBarrierRecord, passed: bool) -> None:
    """A phase before the current one is complete from the beginning."""
    warp.watched[lane] = address_of(barrier)
    warp.watched_in[lane] = barrier.phase - 1 if passed else barrier.phase
    barrier.asked = 1


@body
def open_lanes(warp: WarpRecord, lanes: U32) -> U32:
    """Those of some lanes whose phases are not complete."""
    found = 0
    last = 0
    phase = 0
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            if warp.watched[lane] != last:
                last = warp.watched[lane]
                phase = view(last, MBarrierRecord, 1)[0].phase
            if warp.watched_in[lane] == phase:
                found |= 1 << lane
    return found


def is_first(warp: WarpRecord, lanes: int, lane: int) -> bool:
    """Whether a lane is the first of some lanes that watches its object."""
    for other in range(lane):
        if lanes >> other & 1 != 0 and warp.watched[other] == warp.watched[lane]:
            return False
    return lanes >> lane & 1 != 0


def note_polls(warp: WarpRecord, lanes: int) -> None:
    """A poll or a time-out of these lanes has failed."""
    for lane in range(LANES):
        if is_first(warp, lanes, lane):
            barrier = view(warp.watched[lane], MBarrierRecord, 1)[0]
            barrier.polled = 1
            barrier.polls[warp.index] += 1


def polls(warp: WarpRecord, lanes: int) -> tuple[int, int]:
    """The fewest and the most polls and time-outs of the warp that an object which these lanes watch has seen."""
    fewest, most = NEVER, 0
    for lane in range(LANES):
        if is_first(warp, lanes, lane):
            times = view(warp.watched[lane], MBarrierRecord, 1)[0].polls[warp.index]
            fewest, most = min(fewest, times), max(most, times)
    return fewest, most


@body
def polled_too_often(warp: WarpRecord, lanes: U32) -> FLAG:
    """Count a test_wait that has failed in these lanes; whether the warp has to wait.

    A warp that does nothing but poll is waiting; so that a deadlock is a report, it waits in the end.
    """
    note_polls(warp, lanes)
    fewest, _most = polls(warp, lanes)
    return fewest > POLLS


@body
def wait_for(warp: WarpRecord, split: Split, lanes: U32, site: I32, steps: I64) -> None:
    """Let lanes of a split wait until no phase that they watch is open. The wait may time out, a limited number of times.

    The split stands after the operation that waits already. `steps` are the warp turns of the machine until now.
    """
    split.wait = AT_MBARRIERS
    split.lanes = lanes
    split.site = site
    _fewest, most = polls(warp, open_lanes(warp, lanes))
    split.due = steps + TIMEOUT_TURNS if most < TIMEOUTS else NEVER


@body
def is_over(warp: WarpRecord, split: Split, steps: I64) -> FLAG:
    """Whether the wait of a split at mbarriers is over."""
    return steps >= split.due or open_lanes(warp, split.lanes) == 0


@body
def end_wait(warp: WarpRecord, split: Split, steps: I64) -> U32:
    """Let a split go on whose wait is over; the lanes for which it was not in vain."""
    still_open = open_lanes(warp, split.lanes)
    if steps >= split.due:
        note_polls(warp, still_open)
    split.wait = RUNS
    return split.lanes & ~still_open


# ---- for reports -------------------------------------------------------------------------------------------------------


def describe(barrier: MBarrierRecord, variables: Variables) -> str:
    """One line about an object: address, phase, arrivals, bytes, who came last."""
    announced, phase = barrier.announced, barrier.phase
    data = f"{announced - barrier.bytes} of {announced} bytes" if announced or barrier.bytes else "no bytes"
    last = (
        f"CTA {barrier.last_cta} warp {barrier.last_warp}, line {barrier.last_line}" if barrier.last_line else "never"
    )
    return (
        f"mbarrier {shared_name(variables, barrier.called)}, initialised at line {barrier.init_line}: phase {phase} (parity {phase & 1}), "
        f"{barrier.expected - barrier.pending} of {barrier.expected} arrived, {data}, last arrival {last}"
    )


def watched(warp: WarpRecord, split: Split) -> list[MBarrierRecord]:
    """The objects that keep a split waiting, as its lanes name them."""
    lanes = open_lanes(warp, split.lanes)
    places = {warp.watched[lane]: None for lane in range(LANES) if lanes >> lane & 1}
    return [MBarrierRecord.from_address(place) for place in places]


def describe_wait(warp: WarpRecord, split: Split, variables: Variables) -> str:
    """What the lanes of a split wait for."""
    return "; ".join(
        f"waits for parity {each.phase & 1} of {describe(each, variables)}" for each in watched(warp, split)
    )

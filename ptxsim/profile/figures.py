"""Every number of the cycle model, per target, with its source. Cycles are SM cycles unless a name says otherwise.

`timing` is our own measurement on an H200 (microbenchmarks of latency and throughput); `public` is literature on that
machine; `scaled` is a figure of another generation taken over because nothing better is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ptxsim.profile.machine_code import Pipe

TIMING = "timing: measured on an H200"
FITTED = "timing: fitted to the measured loops and launches of one instruction kind"


class Unit(NamedTuple):
    """latency: until a dependent instruction may issue. cost: cycles a warp's instruction occupies the sub-core's pipe."""

    pipe: Pipe
    latency: float
    cost: float
    source: str = TIMING


UNITS: dict[str, Unit] = {
    "alu": Unit(Pipe.ALU, 4, 2),
    "predicate": Unit(Pipe.ALU, 4, 2),
    "fma": Unit(Pipe.FMA, 4, 2),  # two halves of 16 lanes: each instruction holds one of them for 2 cycles
    "half2": Unit(Pipe.FMA, 8, 2.4),  # x2 forms alternate between two pipes
    "half": Unit(Pipe.FMA_HEAVY, 4, 2),
    "iadd": Unit(Pipe.ALU, 4, 2),
    "imad": Unit(Pipe.FMA_HEAVY, 4, 2),
    "imad.wide": Unit(Pipe.FMA_HEAVY, 6, 4),
    "imad.hi": Unit(Pipe.FMA_HEAVY, 9, 4),
    "fp64": Unit(Pipe.FP64, 8, 2),
    "dsetp": Unit(Pipe.FP64, 10, 2),
    "mufu": Unit(Pipe.XU, 17, 8),
    "convert": Unit(Pipe.XU, 17, 8),
    "find": Unit(Pipe.XU, 17, 8),  # of a leading bit
    "convert64": Unit(Pipe.XU, 18, 9),
    "check": Unit(Pipe.XU, 12, 8),
    "vote": Unit(Pipe.ALU, 12, 2),
    "uniform": Unit(Pipe.UNIFORM, 9, 2, FITTED),
    "s2r": Unit(Pipe.ADU, 22, 8),
    "s2r.thread": Unit(
        Pipe.ADU, 22, 0
    ),  # of the thread and lane: beside what the others and LDC take (tools/data/dealt, begins.cu)
    "s2ur": Unit(Pipe.ADU, 22, 8),
    "constant": Unit(Pipe.ADU, 28, 8, FITTED),
    "clock": Unit(Pipe.ADU, 6, 4),
    "shared": Unit(Pipe.LSU, 23, 2),
    "remote": Unit(Pipe.LSU, 194, 2),  # shared memory of the cluster
    "global": Unit(Pipe.LSU, 32, 2),
    "shuffle": Unit(Pipe.LSU, 24, 2),
    "redux": Unit(Pipe.LSU, 44, 4),
    "match.any": Unit(Pipe.LSU, 17, 0),  # beside what its values take
    "match.all": Unit(Pipe.LSU, 28, 4),
    "mbarrier": Unit(Pipe.LSU, 29, 2),
    "nothing": Unit(Pipe.NONE, 1, 1),
    "branch": Unit(Pipe.CBU, 1, 1),
    "barrier": Unit(Pipe.ADU, 12.3, 2),
    "fence": Unit(Pipe.NONE, 11, 1),
    "tensor": Unit(Pipe.TENSOR, 24.4, 6.2),
    "gmma": Unit(Pipe.NONE, 48, 1),
    "tma": Unit(Pipe.UNIFORM, 8, 4, FITTED),
    "tensor.issue": Unit(Pipe.UNIFORM, 8, 4, "modeled: as the copies of TMA"),  # work for the SM's tensor core, commits
    # By register: 1024 bytes per cycle and SM, at which rate products of f32 results read and write them (N / 2 cycles for 128 rows).
    "tensor.memory": Unit(
        Pipe.TENSOR_MEMORY, 23, 0.5, "modeled: bandwidth that products have, latency of shared memory"
    ),
}


@dataclass(frozen=True)
class Figures:
    """One machine. Latencies in cycles, bandwidths in bytes per cycle."""

    name: str
    source: str
    sms: int
    clock_mhz: float
    cluster_sms: int = 0  # that clusters of more than two CTAs are dealt to, as GPCs hold whole ones only; 0: all
    registers: int = 65536
    register_unit: int = 256  # allocated per warp in this many
    threads: int = 2048
    warps: int = 64
    ctas: int = 32
    shared_bytes: int = 228 * 1024
    shared_reserved: int = 1024  # per CTA
    unified_bytes: int = 256 * 1024  # L1 and shared memory together
    cross_pipe: float = 1  # extra latency from the ALU to the FMA pipe and back
    double_width_alu: float = 2.5  # cycles of the ALU that a multiplication of double width keeps others out of
    special_lite: float = 7  # the same of half of the FMA pipe by an instruction of the XU (tools/data/bursts)
    guard_latency: float = 13  # from a predicate to the branch or instruction it guards
    fall_through: float = 5  # from a branch not taken to the next issue, as the assembler's stall counts have it
    jump: float = 4  # more from the last instruction before a branch taken back
    jump_ahead: float = 18  # the same of one over code that follows
    returned: float = (
        36  # from a function's end to the instruction after its call, beside that jump (tools/data/clocked)
    )
    diverge: float = 11  # from a branch that some lanes take and others do not
    converge: float = 6  # from where the lanes of a warp meet again
    other_lanes: float = 24  # more until lanes go on that have taken the other side of a branch
    operands_read: float = 8  # from the issue of an access until its operands may be written
    shared_issue: float = 4  # cycles of the sub-core's memory port an access to shared memory takes at least
    global_issue: float = 4  # the same to global memory
    global_warp: float = 6  # cycles between two accesses of one warp to global memory
    match_value: float = 11  # latency of match.any for each different value
    match_port: float = 2  # cycles of the SM for each
    read_queue: float = 2  # cycles of a bank of registers that instructions wait for before the next one is held back
    later_warp: float = 1  # cycles that a sub-core's next warp counts as ahead (tools/data/scheduler)
    pipe_queue: float = 24  # cycles of work the memory queue of a sub-core holds before issue stalls
    l1_latency: float = 32
    l1_line: int = 128
    l2_latency: float = 273  # of a line or a part of it, on average over L2's slices
    l2_apart: float = 32  # less from the nearest slice, and more from the farthest
    l2_far: float = 16  # more for the SM that is farthest, with all SMs reading
    l1_waiting: float = 0.3  # cycles more of L1 by line that a load finds on its way (tools/data/together)
    l1_fill: float = 0.15  # cycles by sector that comes into L1, in which no load has it (tools/data/together)
    l2_line_latency: float = 1  # more for each further line of an instruction, beside the port's rate
    dram_latency: float = 660
    l2_bytes: int = 60 * 2**20
    l2_kept: float = 0.6  # of that, as much as a launch may touch for all of it to be there when it comes again
    l2_lost: float = 0.83  # and for nothing of it to be
    l2_uneven: float = (
        0.6  # exponent of how many CTAs SMs have in the mean of the most: 1 were each CTA served alike, 0 each SM
    )
    l2_bandwidth_sm: float = 85  # one SM alone
    l2_bandwidth_all: float = 42  # per SM, all at once, every SM its own data
    l2_bandwidth_shared: float = 73  # per SM, all at once, all of them the same data
    dram_bandwidth: float = 2369  # whole GPU, read or written: 4.69 TB/s at 1980 MHz (tools/data/dram)
    dram_turn: float = 10000  # bytes written between reads for a cycle more of all that DRAM does
    l2_crossing: float = (
        0.0123  # cycles more per byte and SM that comes from the other half of L2, with all SMs reading
    )
    l2_line_alone: float = 1  # cycles of an SM's L2 port per line read, one SM alone
    l2_line_all: float = 1.65  # the same with all SMs reading
    l2_slices: float = 128  # of L2, each with a line at a time: fewer lines than these are read from fewer of them
    # Where lanes choose lines each for itself, SMs come to L2's slices as chance has it: of at least so many lines to all of them alike, of fewer ever more
    # slowly, by that exponent, up to so many times. Cycles of that which wait before a slice without holding anybody up.
    l2_scattered: float = 1530
    l2_scattered_exponent: float = 0.65
    l2_scattered_most: float = 4.6
    l2_scattered_queue: float = 150
    l2_line_most: float = 22  # cycles per line read with all SMs reading the same few
    store_sector: float = 1.0  # cycles per sector written and SM; one SM alone
    store_sector_all: float = 1.76  # the same with all SMs writing
    local_sector_all: float = 2.05  # the same of local memory
    store_read: float = 0.7  # cycles that stores take longer for a cycle that L2 reads for the SM
    store_part: float = 1.07  # more for each line of which sectors are written in part
    store_part_all: float = 1.9
    store_part_sector_all: float = 0.48  # and for each of those sectors, with all SMs writing
    store_least: float = 2  # cycles of the SM's data path that a store takes at least
    store_hold: float = 21  # cycles after a store until its lines are closed, where no other store has come
    store_buffer: float = 350  # cycles of what all SMs write that L2 takes in before an SM has to wait for it
    store_behind: float = 20  # cycles of what all SMs write from which on L2 is behind
    store_burst: float = 8  # stores of a warp in which it goes on whatever waits; later, warps take turns
    store_parted: float = 3  # of those of many lines, one in so many goes by itself where L2 is behind
    store_queue: float = 32  # lines like those of a store that an SM has on their way before it waits
    atomic_latency: float = 312
    atomic_far: float = 112  # more in the mean over SMs and memory: from the other half of L2 twice as much
    atomic_alone: float = 0.72  # cycles of one SM's port for a cycle of those units
    atomic_byte: float = 0.039  # of that port at least for a byte that is changed (tools/data/together)
    atomic_units: float = 67  # of L2, each with an operation on words of a sector at a time
    atomic_chunk: int = 512  # bytes of memory that are of one unit
    atomic_spread: float = 1.2  # exponent by which few chunks keep few units busy
    atomic_operation: float = 1.35  # cycles of one on words of a sector of which the lanes of a warp have each once
    atomic_whole: float = 1.15  # of one on all words of it
    atomic_float: float = 2.4  # times as many for the lanes of a warp with the same word, if it adds floats
    atomic_compare: float = 2.7  # times as many for a compare and swap (tools/data/shares)
    # Warps of an SM that have all sent their loads when the first atomics come (tools/data/shares).
    atomic_before: int = 32
    atomic_early: float = 150  # cycles that the first SM's first atomic is before this one's: of more warps, loads that come to L2 later than that wait
    atomic_ahead: float = 0.77  # for so much of what SMs have on their way then
    atomic_queue: float = 300  # cycles of those units that an SM has on their way before its next atomic waits
    flag_relaxed: float = 430  # from a write until a warp that spins goes on because of it
    flag_fenced: float = 660  # the same if a fence or release came before
    flag_atomic: float = 540  # the same of an atomic
    flag_line: float = 28  # cycles of L2 from one write to the next in a line that others look at
    barrier_arrival: float = 2
    # Cycles after a barrier in which a warp goes on with what is no access (tools/data/late).
    barrier_defers: float = 12
    mbarrier_arrival: float = 6
    mbarrier_latency: float = 25
    cp_async_shared: float = (
        24  # from L1 to shared memory and the group's wait; what comes from L2 needs no longer than to a register
    )
    cp_async_wait: float = 20
    bulk_latency: float = 265
    bulk_tensor_latency: float = 450
    bulk_bandwidth: float = 109
    bulk_store_latency: float = 39
    bulk_store_bandwidth: float = 32  # one SM alone
    bulk_store_bandwidth_all: float = 14.6  # per SM, all at once
    bulk_reduction: float = 1.25  # times as long as a store (tools/data/exchange)
    bulk_reduction_latency: float = 56
    reduction_line: float = 70  # bytes per cycle that L2 adds to a line
    reduction_lines: float = 4  # that are at work at once at least, where so many are reduced to
    reduction_spread: float = 0.757  # and of more, times the root of how many
    product_overhead: float = 46  # fence, commit, wait around a lone product
    # Products on tensor memory, as published of a B200: github.com/SemiAnalysisAI/microbench-blackwell, umma_latency/lat_results_full.csv
    # and umma_throughput/tput_results_full.csv ("Dissecting Nvidia Blackwell", 31 March 2026); every kind but tf32 and mxf4nvf4, of which
    # CUTLASS' "Blackwell SM100 GEMMs" has the rates, against Hopper's; sparse ones as dense ones of the same bytes of A.
    tensor_columns: float = 2  # of D per cycle and 32 bytes of a row of A, for 128 rows or fewer
    tensor_columns_pair: float = 4  # where each CTA of a pair has 64 rows
    tensor_shared: float = 128  # bytes of operands from shared memory per cycle
    tensor_shared_pair: float = 2  # cycles more, where a pair waits for those
    tensor_latency: float = (
        104  # from a product to its wait's end, beyond the product's own cycles and those of reading A
    )
    tensor_latency_pair: float = 138
    tensor_latency_pair_64: float = 148  # of 64 rows each
    cluster_barrier: float = (
        48  # from the last arrival of the cluster on; arrivals that release wait for their fence before
    )
    launch: float = 28  # from a CTA's start on an SM to its first issue
    first_constants: float = (
        65  # from there until LDC has the first constants; S2R does not wait for them (tools/data/dealt, begins.cu)
    )
    first_constants_all: float = 34  # and more with all SMs starting
    first_uniform: float = 20  # from then on until ULDC and operands have theirs
    first_uniform_all: float = 60
    drain: float = 26  # from the last exit to the end of the CTA
    dispatch: float = 23.5  # from one CTA to the next that an SM gets, and per warp of it
    dispatch_warp: float = 1
    dispatch_warp_least: float = 3  # cycles that a warp of a CTA takes at least
    replacement: float = 400  # from the end of a CTA until another comes in its place
    replacement_stored: float = 470  # the same of one that has stored
    turnover: float = 40  # from the first end of a CTA on an SM until it is given further ones at the rate of those that replace others
    replacement_next: float = 70  # from one of those to the next on an SM, and per warp of it, with all SMs busy
    replacement_warp: float = 6
    replacement_written: float = 157  # the least of that where they store
    constant_miss: float = 110  # extra for the first read of each line of 64 bytes of constants, one SM alone
    constant_miss_all: float = 115  # the same with all SMs starting
    constant_near: float = 40  # the same for each line of what comes with the launch
    constant_near_all: float = 26  # and more with all SMs starting
    constant_near_loaded: float = 38  # the same of LDC, which has a cache of its own
    constant_near_loaded_all: float = 20  # and more with all SMs starting
    constant_near_sub: float = 25  # more for each further sub-core that has a warp, with all SMs starting
    constant_address: float = 10.8  # latency for each further address of a warp's indexed constants
    constant_port: float = 2  # cycles of the SM's port for each of them
    constant_line: float = 66  # latency of a line of 64 bytes of indexed constants that the SM has not
    constant_line_port: float = 14  # cycles from one such line to the next, one SM alone
    constant_line_port_all: float = 31  # the same where the other SM of the pair reads too
    constant_far: float = 304  # latency of 256 bytes of them that no SM has read yet
    remote_line: float = (
        2.2  # cycles of the SM's port to the cluster's shared memory by 128 bytes of another CTA that a warp accesses
    )
    remote_sector: float = 1.33  # and by 32 bytes of those
    # Cycles of an SM for 32 bytes that stores of the others bring to its memory (tools/data/shares).
    remote_arriving: float = 1.0
    remote_added: float = 1.25  # the same of red.async (tools/data/late, f_sred)
    # The same that their loads and atomics want of it (tools/data/late, f_ld16, f_red and f_atom).
    remote_served: float = 1.55
    remote_arrival: float = 80  # from an arrival until another CTA's mbarrier has it (tools/data/exchange)
    send_start: float = 2.2  # cycles of that port that an asynchronous store of a warp takes
    send_sector: float = 1.6  # and by 32 bytes, as bulk copies between CTAs do
    send_latency: float = 104  # from there until the mbarrier has heard of it
    send_copy_latency: float = 93  # the same of a bulk copy, from its issue on
    remote_atomic: float = 3.3  # cycles of that port by lane of an atomic
    remote_word: float = 2.2  # times as many for lanes that have the same word
    fence_port: float = 16  # cycles of the sub-core from one fence to the next
    fence_path: float = 2  # of the SM's path to memory that one of the GPU takes
    fence_each: float = 10  # cycles from one to the next, of more than those (tools/data/together, c_plain)
    fence_round: float = 375  # cycles from one round of them to the next on an SM
    fence_join: float = 370  # after the first of a round in which another is of it
    fence_join_shared: float = 370  # and one of a warp that has stored to shared memory since its last one
    fence_join_stored: float = 20  # and to other memory
    fence_least: float = 264  # cycles of a fence of the GPU, whatever is under way
    fence_accessed: float = 155  # more where the warp has accessed global memory since its last one: near memory
    fence_accessed_all: float = 181  # and more where all SMs do: some of it is far
    cta_fence: float = 20  # latency of a fence up to which it waits for no store's answer
    store_answer: float = 160  # from the last store until a fence of the GPU may begin
    remote_answer: float = 85  # the same of stores to shared memory of the cluster (tools/data/exchange)
    store_answer_others: float = 390  # the same where another warp of the SM has stored since
    # Lines of 128 bytes of code up to which a jump ahead over code that the sub-core has run is one like any other (tools/data/shares, c_groups, has 22).
    code_lines: int = 32
    code_line: float = 12.3  # fetch of 128 bytes of code that no warp of the SM has run, read in advance
    code_near: int = 4  # lines of 128 bytes of code that are there at the start
    code_far: float = 296  # when those after them are at the latest, if the launch before has left them
    code_trip: float = 76  # until they are for a warp that asks
    code_stay: float = 45  # and what follows an exit that no lane takes
    code_held: int = 32 * 1024  # bytes of code that an SM still has of the launch before
    error: float = 0  # relative, where nothing judges the figures; 0: profile/accuracy.tsv says it

    units: Mapping[str, Unit] = field(default_factory=dict)  # rows that differ from UNITS
    tensor_scale: float = 1  # cycles and latency of matrix products against the H200's mma.sync

    def unit(self, name: str) -> Unit:
        """A row of UNITS, as this machine has it."""
        return self.units.get(name, UNITS[name])


H200 = Figures(
    "H200",
    "timing: measured on an H200 (SM clock 1980 MHz), newer figures on an H100 (tools/data)",
    132,
    1980,
    cluster_sms=120,
)
# The same chip with HBM3: 3.19 TB/s read in the place of 4.69 (tools/data/dram).
H100 = replace(
    H200, name="H100", source="the H200's, with memory as measured on an H100 SXM; judged by launches measured there", dram_bandwidth=1612,
    flag_fenced=415, fence_least=655, fence_accessed=0, fence_accessed_all=0, fence_round=455, fence_join=38, fence_join_shared=12, atomic_units=59, constant_line_port_all=36, local_sector_all=2.4,
    l2_bytes=50 * 2**20, l2_bandwidth_all=37, l2_crossing=0.014, l2_line_all=1.92, store_sector_all=1.95, store_part_sector_all=0.28,
)  # fmt: skip
# Public: data sheets for sizes, rates and clocks; latencies and L2 bandwidth as in "Hardware features of different Nvidia
# GPU architectures" (PMC10448217, table 3); one FP32 pipe of 16 lanes per sub-core (architecture white papers). Everything
# else is the H200's.
_NARROW_FMA = Unit(Pipe.FMA_HEAVY, 4, 2, "public: 64 FP32 lanes per SM")
_SHARED = Unit(Pipe.LSU, 20, 2, "public: PMC10448217")
A100 = replace(
    H200, name="A100", source="public figures, not measured by us; the rest is the H200's", sms=108, clock_mhz=1410, cluster_sms=0,
    shared_bytes=164 * 1024, unified_bytes=192 * 1024, l2_bytes=40 * 2**20, l2_latency=200, dram_latency=400,
    l2_bandwidth_all=47, l2_bandwidth_shared=64, dram_bandwidth=1103, error=0.5, tensor_scale=1.3,
    units={"fma": _NARROW_FMA, "shared": _SHARED, "fp64": Unit(Pipe.FP64, 8, 4, "public: 32 FP64 lanes per SM")},
)  # fmt: skip
V100 = replace(
    A100, name="V100", sms=80, clock_mhz=1530, shared_bytes=96 * 1024, shared_reserved=0, unified_bytes=128 * 1024,
    l2_bytes=6 * 2**20, l2_bandwidth_all=25.6, dram_bandwidth=588, tensor_scale=2.6,
)  # fmt: skip
# Data sheet of HGX B200 and the Blackwell tuning guide: SMs, clock, L2, 8 TB/s (of which nine tenths are taken, as on the H200).
B200 = replace(
    H200, name="B200", source="modeled: public sizes, rates and clock; the rest is the H200's, nothing measured", sms=148,
    clock_mhz=1965, cluster_sms=0, l2_bytes=126 * 2**20, dram_bandwidth=3660, error=1.0,
)  # fmt: skip
# Data sheets of A40, L40S and RTX 5090, and the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and
# "Throughput of Native Arithmetic Instructions": two FP64 lanes per SM; products at a half and a quarter of an A100's rate.
A40 = replace(
    B200, name="A40", sms=84, clock_mhz=1740, threads=1536, warps=48, ctas=16, shared_bytes=100 * 1024, unified_bytes=128 * 1024,
    l2_bytes=6 * 2**20, dram_bandwidth=360, tensor_scale=2.6, units={"fp64": Unit(Pipe.FP64, 64, 64, "public: 2 FP64 lanes per SM")},
)  # fmt: skip
L40S = replace(A40, name="L40S", sms=142, clock_mhz=2520, ctas=24, l2_bytes=96 * 2**20, dram_bandwidth=309)
RTX_5090 = replace(L40S, name="RTX 5090", sms=170, clock_mhz=2407, dram_bandwidth=670, tensor_scale=5.2)
MACHINES: dict[int, Figures] = {70: V100, 80: A100, 86: A40, 89: L40S, 90: H200, 100: B200, 120: RTX_5090}
OTHERS: dict[int, tuple[Figures, ...]] = {
    90: (H100,)
}  # machines of a target beside the one that is taken unless another is asked for


def dealt_clusters(figures: Figures, cluster: int) -> Figures:
    """The machine as clusters of so many CTAs find it: with the SMs that they are dealt to, one cluster after the other."""
    if cluster <= 2 or not figures.cluster_sms:
        return figures
    return replace(figures, sms=max(1, figures.cluster_sms // cluster) * cluster)


def machines_of(target_number: int) -> dict[str, Figures]:
    """The machines that a target can be timed on, by name in capitals; the one that is taken unless another is asked for first."""
    own = MACHINES.get(target_number)
    return {f.name.upper(): f for f in (() if own is None else (own, *OTHERS.get(target_number, ())))}


def machines() -> dict[str, int]:
    """The names of all machines in capitals, and the target that each runs."""
    return {name: number for number in MACHINES for name in machines_of(number)}


def figures_of(target_number: int, gpu: str | None = None) -> Figures:
    """The figures of a target on a machine that is one of `machines_of`; a target that has none of its own borrows the H200's."""
    if gpu is not None:
        return machines_of(target_number)[gpu.upper()]
    found = MACHINES.get(target_number)
    if found is not None:
        return found
    return replace(
        H200, name=f"H200 in place of sm_{target_number}", source="no figures of its own: the H200's", error=1.0
    )

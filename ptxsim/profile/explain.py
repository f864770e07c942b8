"""What the cycle model knows and does not know, in words."""

from __future__ import annotations

from dataclasses import fields

from ptxsim.profile.figures import UNITS, Figures

MODELED = (
    "issue: one warp instruction per sub-core and cycle; the last warp goes on if it can, else the one that waits longest",
    "dependences: by register, with the latency of what makes it; +1 between the ALU and FMA pipes; predicates of branches later",
    "pipes: ALU, both halves of FMA, FP64, special functions, tensor core, load and store, uniform, each with its rate",
    "shared memory: measured wavefront rules, one per cycle and SM, one per two cycles and sub-core, return path of 128 bytes",
    "global memory: lines and sectors, L1 (four ways, least recently used; what is stored stays in it, what a load passes it by for or an atomic changes does not), L2 and, where a launch touches more lines than it holds, DRAM with latency and a share of bandwidth, which writes between reads lessen",
    "tensor core: mma by shape and type, products of a warpgroup max(N/2, shared bytes / 128), groups in flight",
    "products on tensor memory: one after the other on the SM, N/2 cycles for 32 bytes of a row of A or operands from shared memory / 128; "
    "moves to registers at 1024 bytes per cycle",
    "asynchronous copies, bulk and tensor copies, mbarriers, barriers, cluster barriers: by what the run recorded",
    "SMs: the one with most to do is replayed, and the one with the longest warp where that is another",
    "CTAs: dealt to SMs in turn, clusters of more than two to 120 of them; started and replaced at the measured rates, those that have stored later, resident as "
    "registers, shared memory and warps allow; the first warp of each is of the next sub-core",
    "atomics on global memory: at the rate of the words, sectors and pages they touch, compare and swap more slowly, in a loop of one block as often as lanes of all SMs have the word at that time, of a line near or far; an SM has so many "
    "on their way, its loads wait for them, and where it has more than half of its warps those that come late for the ones of all SMs",
    "lines that lanes choose each for itself: of few that all SMs read, L2's slices have more to do than others, unless the SMs come to them in one order",
    "stores: at the rate of the sectors written, whole or in part; an SM is busy until its own are on their way; "
    "those to a line that is open are put together, of 30 at a time; warps whose stores wait for the sub-core's port take turns",
    "constants: lines of 64 bytes of an SM, 2 KiB of them, the first reads of 256 bytes; different addresses of a warp one after the other",
    "branches: taken back or ahead, to a function and back from it, lanes that part and that meet again",
    "fences of the GPU: in rounds of the SM, after the loads and stores that came before, with those that come at the same time",
    "flags: seen by a spinning warp after a latency that depends on the fence before the write, one write of a line after the other; "
    "lanes that look at different ones wait for that whose writer has waited for most others",
    "shared memory of a cluster: at a rate of lines and sectors of the SM's port to the others; asynchronous stores and bulk copies between CTAs at one of bytes, "
    "with a latency until the mbarrier hears of them, as arrivals of threads elsewhere have; what other CTAs send comes when the CTA's own does that goes to the same place",
    "bulk reductions: longer than stores, and at a rate of the lines that the SMs reduce to",
    "code: fetched in lines of 128 bytes, the next ones in advance, when a warp of the SM first comes by",
    "machine code of the assembler, or of a cubin of the same PTX, where ptxas and nvdisasm are installed: stall counts, barriers, register reads of two banks, "
    "spills, registers; blocks are tied to the PTX by line marks, and run as the PTX ran",
    "lowering, where they are not: moves, conversions of addresses, dead code and constants vanish; adds, logic, multiply-adds, address sums, "
    "comparisons fuse; short branches, to the other of two ways too, become predicates; words side by side in shared memory are one access; "
    "what a block has loaded is not loaded again; arithmetic, and loads of what nobody writes, move ahead of barriers; divisions, which have the inverse of one divisor in common, roots and 64-bit integers become sequences",
)
NOT_MODELED = (
    "without the assembler: spills, bank conflicts of the register file, reuse caches",
    "misses of the instruction cache after the first fetch, of the TLB",
    "clusters: the CTAs of one go to SMs like any others and start when there is room for each; distributed shared memory "
    "takes no bandwidth of the SM that has it; waits on CTAs that do something else end as the run recorded them or when no warp else can go on",
    "contention between SMs beyond equal shares of L2 and DRAM, and how many SMs read what bulk copies bring; "
    "L2 partitions, DRAM pages and refresh",
    "functions that call themselves, of which a call takes up to three times as long",
    "words of local memory that lanes choose each for itself, which a warp that has changed them reads again up to 250 cycles later",
    "caches that a launch before this one left cold: L2 is taken as warm",
    "schedules that depend on time: polling loops run as often, loops of several blocks try compare and swap as often, and jobs of a queue go to the CTAs, as they did in the functional run",
    "the order in which CTAs of later waves go to SMs that become free early",
    "tensor memory: who waits for columns, what products and moves take from each other; of a pair, the tensor core of the CTA that does not issue",
    "power, clocks below the nominal one, launch overhead outside the SM (about 2550 cycles)",
    "multicast, TMA stores beyond their rate, setmaxnreg, nanosleep, texture and surface units",
)


def explain_model(figures: Figures) -> str:
    """Text for --explain-model."""
    lines = [f"machine: {figures.name} ({figures.source})", "", "modeled"]
    lines += [f"  - {text}" for text in MODELED]
    lines += ["", "not modeled"] + [f"  - {text}" for text in NOT_MODELED]
    lines += ["", "units: latency and cycles of the sub-core's pipe per warp instruction"]
    lines += [
        f"  {name:<12} {u.pipe.name:<10} {u.latency:>6g} {u.cost:>6g}   {u.source}"
        for name in UNITS
        for u in (figures.unit(name),)
    ]
    lines += ["", "figures"]
    skipped = ("name", "source", "error", "units")
    lines += [f"  {f.name:<22} {getattr(figures, f.name):g}" for f in fields(figures) if f.name not in skipped]
    return "\n".join(lines)

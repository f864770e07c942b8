"""Races: accesses of one place that nothing orders, found by happens-before after the PTX memory model.

A run is one order of events; the verdict is about all of them. What a thread knows of the others is a clock: for every thread the
time up to which its accesses come before what the thread does next. Barriers, releases and acquires hand clocks on; every
granule of memory remembers who wrote and who read it, and when; two accesses that conflict race if the later one's thread does
not know the earlier one. PTX ISA, "Memory Consistency Model".

Time is the number of the record. Lanes are threads; lanes of a warp that know the same share one row of clocks. Threads of a
cluster know each other by such rows, what they know of other clusters are snapshots of rows there.

| what | where |
| --- | --- |
| what an instruction's site orders | `sites`, which asks `dataflow` what becomes of values |
| the arrays | `state` |
| rows of clocks: sharing, joining, snapshots | `clocks` |
| granules of memory, and who may touch them | `cells`; of whole lines `by_line`; of reads and updates that are not noted yet `log` |
| room for CTAs and pages of memory | `slots` |
| what hands clocks on | `edges` |
| accesses | `memory`: by `lines`, `tiles` (products, copies) or `global_lines` where these show that all is in order, by `touches` elsewhere |
| the scan over records; of clusters on several threads | `scan`, `threads` |
| the observer, its findings | `checker`, `findings` |

Not checked: a wait on an mbarrier sees what all asynchronous copies have read, and written to global memory, by then. Mbarriers of
a CTA whose numbers are equal modulo 16 (by their addresses, 8 bytes each) are taken for one where copies complete on them.
"""

"""Races: accesses of one place that nothing orders, found by happens-before after the PTX memory model.

A run is one order of events; the verdict is about all of them. What a thread knows of the others is a clock: for every thread the
time up to which its accesses come before what the thread does next. Barriers, releases and acquires hand clocks on; every
granule of memory remembers who wrote and who read it, and when; two accesses that conflict race if the later one's thread does
not know the earlier one. PTX ISA, "Memory Consistency Model".

Time is the number of the record. Lanes are threads; lanes of a warp that know the same share one row of clocks. Threads of a
cluster know each other by such rows, what they know of other clusters are snapshots of rows there.

| what | where |
| --- | --- |
| what an instruction's site orders | `sites` |
| the arrays | `state` |
| rows of clocks: sharing, joining, snapshots | `clocks` |
| barriers; fences, releases and acquires | `barriers`, `edges` |
| copies that complete on mbarriers, and out of a CTA that may end; what threads know of other copies | `completions`, `departures`, `proxies` |
| room for CTAs and pages of memory | `slots` |
| tensor maps that one thread acquires and another uses | `maps` |
| granules of memory, and who may touch them | `cells` |
| accesses that the lines they touch show to be in order | `lines` |
| the same of products, bulk copies and cp.async | `tiles` |
| all others, judged by granules | `accesses` |
| the scan over records | `scan` |
| room for it, and its findings | `checker`, `findings`, `objects` |
| loads whose values no other thread uses | `unused` |
| stores of one sum by all lanes that have it | `sums` |

Not checked: a wait on an mbarrier sees what all asynchronous copies have read, and written to global memory, by then. Mbarriers of
a CTA whose numbers are equal modulo 16 (by their addresses, 8 bytes each) are taken for one where copies complete on them.
"""

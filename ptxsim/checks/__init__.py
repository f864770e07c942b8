"""Observers of the event stream: rules, races, bank conflicts.

| what | where |
| --- | --- |
| races, by happens-before | `order` |
| proxy fences, waits for copies, edited tensor maps | `proxies` |
| tiles in shared memory read as they were written | `tiles` |
| registers unwritten, unfenced, counted; masks of lanes | `registers` |
| wavefronts, sectors, where addresses come from | `banks` |
| shared memory of other CTAs, and which those are | `cluster`, `cluster_shared` |
| waits of mbarriers that acquire too little, or whose result is ignored | `narrow_waits`, `ignored_waits` |
| grids that may still run (programmatic dependent launch) | `in_flight` |
| data with flags in it that is overwritten too early | `overtaken` |
| arrays of float64 read as f32 | `element_types` |
| what findings share: causes, changes of the text, missing waits | `findings` |
| one cause, one finding | `covered`, then `echoes` |
"""

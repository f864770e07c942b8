"""Rules of asynchronous memory operations: proxy fences, waits, tiles in flight, tensor maps that a kernel edits."""

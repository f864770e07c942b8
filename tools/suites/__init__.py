"""The suites of tools/conformance, one file each: `run(options, tally) -> bool` says whether the suite passes.

A suite may add options of its own in `add_arguments(parser)`; they come in `options.extra`.
"""

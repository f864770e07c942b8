"""Tiles in shared memory: where their bytes come from, and whether they are read as they were written."""

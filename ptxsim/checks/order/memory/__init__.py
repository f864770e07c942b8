"""Accesses to memory: whether who makes them knows those before, by lines where that is enough, or by granules."""

"""Mutants of kernels: each has one synchronisation deleted or weakened. Used by tools/hazards.py."""

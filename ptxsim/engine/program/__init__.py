"""Kernels decoded for execution: operations with resolved operands, in blocks; calls, and a program's identity."""

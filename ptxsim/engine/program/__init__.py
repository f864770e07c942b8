"""Kernels decoded for execution: operations with resolved operands, where variables lie, and a program's identity."""

"""Arithmetic of the tensor cores and of the special-function unit, on plain numpy arrays of element codes."""

from ptxsim.numerics.matrix import product, sparse_product
from ptxsim.numerics.parameters import Rule, find

__all__ = ["Rule", "find", "product", "sparse_product"]

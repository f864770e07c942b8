"""Arithmetic of the tensor cores and of the special-function unit, on plain numpy arrays of element codes."""

from ptxsim.numerics.arrays import matmul
from ptxsim.numerics.matrix import product, sparse_product
from ptxsim.numerics.parameters import Rule, find

__all__ = ["Rule", "find", "matmul", "product", "sparse_product"]

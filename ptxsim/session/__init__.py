"""The public API: modules, kernels, launches and what came of them."""

from ptxsim.session.module import Kernel, Module, check
from ptxsim.session.run import BankRow, BankTable, KernelError, Run

__all__ = ["BankRow", "BankTable", "Kernel", "KernelError", "Module", "Run", "check"]

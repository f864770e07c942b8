"""CUDA executables, linked with `nvcc -cudart shared`, run with ptxsim in place of the GPU.

The dynamic linker gives them a libcudart of ours (`cudart.c`, stubs from the prototypes in `functions`), which brings Python into
their process; a launch is a launch of ptxsim's on the memory of that process (`arena`). `ptxsim exec` starts them.
"""

from ptxsim.cuda.runtime.library import NoLibrary as NoLibrary
from ptxsim.cuda.runtime.library import environment as environment
from ptxsim.cuda.runtime.library import stubs_folder as stubs_folder
from ptxsim.cuda.runtime.program import inspect as inspect

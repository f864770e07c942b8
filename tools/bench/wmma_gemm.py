"""wmma_gemm of 256 x 256 on one core; the interpreter runs 64 x 64 for the ratio."""

from collections.abc import Callable

import numpy as np
from common import compare, kernel_folder, show

from ptxsim import Module, Run

module = Module.from_file(kernel_folder() / "wmma_gemm.ptx")


def launcher(n: int) -> Callable[[str], Run]:
    index = np.arange(n * n)
    a = (index % 7 - 3).astype(np.float16).reshape(n, n)
    b = (index % 5 - 2).astype(np.float16).reshape(n, n)
    c = np.zeros((n, n), np.float32)

    def launch(engine: str) -> Run:
        run = module.kernel().launch(-(-32 * (n // 16) ** 2 // 128), 128, [n, a, b, c], engine=engine, jobs=1)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
        return run

    return launch


show(compare("wmma_gemm 256", launcher(256), interpreted=launcher(64)))

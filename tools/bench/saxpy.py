"""saxpy of a million elements on one core; the interpreter runs 16,384 for the ratio."""

from collections.abc import Callable

import numpy as np
from common import compare, kernel_folder, show

from ptxsim import Module, Run

module = Module.from_file(kernel_folder() / "saxpy.ptx")


def launcher(n: int) -> Callable[[str], Run]:
    x, start = (np.arange(n) % 7).astype(np.float32), (np.arange(n) % 5).astype(np.float32)
    y = start.copy()

    def launch(engine: str) -> Run:
        y[:] = start
        run = module.kernel().launch(-(-n // 256), 256, [n, np.float32(2), x, y], engine=engine, jobs=1)
        assert np.array_equal(y, 2 * x + start)
        return run

    return launch


show(compare("saxpy 1M", launcher(1 << 20), interpreted=launcher(1 << 14)))

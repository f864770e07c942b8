"""The driver that Triton finds: active where PTXSIM_TRITON=1, and then the one of `ptxsim.triton.driver`."""

from __future__ import annotations

import os
from typing import Any

from triton.backends.driver import DriverBase as _Base


class PtxsimEntry(_Base):  # type: ignore[misc]  # Triton has no types
    """Stands for the driver until it is made: making it loads the simulator."""

    def __new__(cls) -> Any:
        from ptxsim.triton.driver import PtxsimDriver

        driver = PtxsimDriver()
        driver.install()
        return driver

    @classmethod
    def is_active(cls) -> bool:
        return os.environ.get("PTXSIM_TRITON") == "1"

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise NotImplementedError

    def get_current_target(self) -> Any:
        raise NotImplementedError

    def get_active_torch_device(self) -> Any:
        raise NotImplementedError

    def get_benchmarker(self) -> Any:
        raise NotImplementedError


if PtxsimEntry.is_active():
    from triton.backends.nvidia import driver as nvidia

    from ptxsim.programs.after_import import after_import
    from ptxsim.triton.cublas import install

    # Triton wants one active driver, and torch may say that there is a GPU.
    nvidia.CudaDriver.is_active = staticmethod(lambda: False)
    install()  # programs ask for cuBLAS before they ask for a driver

    def be_active() -> None:
        """A program's first call may be a benchmark, which is the driver's affair."""
        import triton

        _ = triton.runtime.driver.active

    after_import("triton.testing", be_active)

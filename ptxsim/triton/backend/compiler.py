"""Triton asks every backend for a compiler. Kernels are compiled by Triton's own for NVIDIA, so this one takes no target."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import BaseBackend as _Base
from triton.backends.compiler import GPUTarget


class PtxsimCompiler(_Base):  # type: ignore[misc]  # Triton has no types
    """A compiler for no target."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return False

    def hash(self) -> str:
        return "ptxsim"

    def parse_options(self, options: dict[str, Any]) -> object:
        raise NotImplementedError

    def add_stages(self, stages: dict[str, Any], options: object, language: Any = None) -> None:
        raise NotImplementedError

    def load_dialects(self, context: Any) -> None:
        raise NotImplementedError

    def get_module_map(self) -> dict[str, Any]:
        raise NotImplementedError

"""The generator of a CUDA device as torch shows it, for libraries that draw in kernels of their own: a seed and how far it has gone.

What torch itself draws on the simulated device comes from the CPU's generator, which has the same seed.
"""

from __future__ import annotations

import struct

import torch

_STATE = struct.Struct("<QQ")  # seed and offset, as CUDA's generators have them


class Philox:
    """torch.cuda.default_generators[0]."""

    def __init__(self) -> None:
        self._seed, self._offset = int(torch.initial_seed()), 0

    def initial_seed(self) -> int:
        return self._seed

    def manual_seed(self, seed: int) -> Philox:
        torch.default_generator.manual_seed(seed)
        self._seed, self._offset = seed & (1 << 64) - 1, 0
        return self

    def seed(self) -> int:
        """Start from what nobody knows before."""
        self._seed, self._offset = int(torch.default_generator.seed()), 0
        return self._seed

    def get_offset(self) -> int:
        return self._offset

    def set_offset(self, offset: int) -> None:
        self._offset = offset

    def get_state(self) -> torch.Tensor:
        return torch.frombuffer(bytearray(_STATE.pack(self._seed, self._offset)), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        """Raises struct.error for what is none of such a generator."""
        self._seed, self._offset = _STATE.unpack(bytes(state.tolist()))

    def get_all(self) -> torch.Tensor:
        """Its state and, after it, that of the generator from which torch draws: what torch.cuda.get_rng_state gives."""
        return torch.cat([self.get_state(), torch.get_rng_state()])

    def set_all(self, state: torch.Tensor) -> None:
        """Both as `get_all` gave them; of a real device's state there is but the first. Raises struct.error for what is neither."""
        self.set_state(state[: _STATE.size])
        if len(state) > _STATE.size:
            torch.set_rng_state(state[_STATE.size :].clone())  # aligned

"""Products of wgmma that Python keeps account of, computed natively: machine.wgmma calls this where a program keeps the rules."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.compiled.codegen.function import described
from ptxsim.engine.compiled.runtime.wgmma_state import RECORD, RECORD_BYTES
from ptxsim.engine.compiled.tensor.tiles import pieces
from ptxsim.engine.compiled.tensor.wgmma_product import STEP, Form
from ptxsim.machine.records import aligned
from ptxsim.machine.wgmma import WARPS, MmaAsync, Part

if TYPE_CHECKING:
    from ptxsim.engine.compiled.run.context import NativeContext

SCRATCH = 1 << 17  # bytes of the largest fast panel


class NativeProducts:
    """Computes products on the registers of an engine's warps."""

    def __init__(self, native: NativeContext):
        self.native = native
        self.scratch, self.record = aligned(SCRATCH), aligned(RECORD_BYTES)
        native.record.scratch = self.scratch.ctypes.data
        self._known: dict[int, tuple | None] = {}

    def __call__(self, product: MmaAsync) -> bool:
        """Replace the accumulators; False, with nothing done, for a product without a native form."""
        parts = [product.parts[i] for i in sorted(product.parts)]
        op = parts[0].port.op
        if op.site not in self._known:
            self._known[op.site] = self._function(op)
        known = self._known[op.site]
        if known is None or len(parts) != WARPS or not _means_something(product, parts):
            return False
        run, table = known
        tiles = [None if tile is None else pieces(tile) for tile in (product.a, product.b)]
        self._put("table", table.ctypes.data)
        for name, tile, found in zip("ab", (product.a, product.b), tiles, strict=True):
            self._put(name, 0 if tile is None else tile.descriptor)
            self._put(f"pieces_{name}", 0 if found is None else found.ctypes.data)
        self._put("steps", product.product.form.n // STEP)
        self._put("keep", 2**32 - 1 if product.accumulate else 0)
        for i, part in enumerate(parts):
            self._put("warps", part.warp.record.address, 8 * i)
            if part.metadata is not None:
                at = RECORD["metadata"] + 128 * i
                self.record[at : at + 128] = part.metadata.view(np.uint8)
        run(self.native.record.address, self.record.ctypes.data)
        return True

    def _put(self, name: str, value: int, more: int = 0) -> None:
        at = RECORD[name] + more
        self.record[at : at + 8].view("<u8")[0] = value

    def _function(self, op) -> tuple | None:
        native = self.native
        form = Form.of(op, str(native.machine.target), native.machine.numerics)
        registers = form.registers(native.program)
        if registers is None:
            return None
        description = form.describe()
        name = described(native.library.prefix, f"warpgroup_{form.product.form}", description)
        native.library.provide({name: description})
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(native.library.jit.address(name))
        return run, np.array(form.table(native.layout, *registers), np.int32)


def _means_something(product: MmaAsync, parts: list[Part]) -> bool:
    """Whether the metadata of a sparse product is legal: what the other does is for the interpreter to say."""
    storage = product.product.sparsity
    return storage is None or not any(storage.problems(part.metadata, product.selector, False) for part in parts)

"""What native products of warpgroups need of Python: where tiles lie; and native code for products that Python completes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ptxsim.engine.compiled.codegen.function import described
from ptxsim.engine.compiled.runtime.warpgroups import TILES, KnownTile
from ptxsim.engine.compiled.tensor.tiles import Offsets, pieces
from ptxsim.engine.compiled.tensor.warpgroup_product import Form
from ptxsim.engine.program.operation import Program, fact
from ptxsim.layout.swizzle import SWIZZLE_BITS
from ptxsim.machine.records import aligned
from ptxsim.machine.tile import bounds_of, doubtful_start, is_right
from ptxsim.machine.warpgroup import WARPS, ProductRecord, WarpgroupRecord

if TYPE_CHECKING:
    from ptxsim.engine.compiled.run.context import NativeContext

SCRATCH = 1 << 17  # bytes of the largest fast panel


class NativeProducts:
    """Products on the registers of an engine's warps. Called, it computes one; False, with nothing done, if it cannot."""

    def __init__(self, native: NativeContext):
        self.native, self._bounds = native, bounds_of(native.machine)
        self._forms: dict[int, Form] = {}
        self._functions: dict[int, tuple[Callable[..., None], Offsets] | None] = {}
        self._scratch, self._tiles = aligned(SCRATCH), (KnownTile * TILES)()
        # Of each, which have to live as long.
        self._pieces: list[Offsets | None] = [None] * TILES
        self._blocks: list[np.ndarray | None] = [None] * TILES
        record = native.record
        record.scratch, record.tiles = self._scratch.ctypes.data, ctypes.addressof(self._tiles)
        record.find_tile = native.callbacks.address(
            self._find_tile, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_uint64
        )

    def form(self, site: int) -> Form:
        if site not in self._forms:
            machine = self.native.machine
            self._forms[site] = _form_at(self.native.program, site, str(machine.target), machine.numerics)
        return self._forms[site]

    def _find_tile(self, place: int, site: int, descriptor: int) -> int:
        """Called from native code: the address of a tile's pieces, 0 where the slow path reports a fault."""
        machine, tile = self.native.machine, self.form(site).tile("AB"[place % 2], descriptor)
        if not is_right(tile, self._bounds):
            return 0
        known = self._tiles[place]
        if machine.checks != "none":
            known.low = tile.span()[0]
            known.swizzle = SWIZZLE_BITS[tile.fields.swizzle]
            known.doubtful = doubtful_start(tile) is not None
            if known.doubtful and tile.fields.base_offset:
                return 0
        if machine.stream is not None:
            known.width, blocks = tile.blocks()
            self._blocks[place] = blocks
            known.blocks, known.count = blocks.ctypes.data, len(blocks)
        found = self._pieces[place] = pieces(tile)
        return found.ctypes.data

    def prepare(self, product: ProductRecord) -> Callable[..., None] | None:
        """Let a product's record say what native code computes it, which is returned; None if none can."""
        form = self.form(product.site)
        if product.site not in self._functions:
            self._functions[product.site] = self._function(form)
        known = self._functions[product.site]
        if known is None or not _means_something(form, product):
            return None
        run, table = known
        product.table, product.steps = table.ctypes.data, form.steps
        product.run = ctypes.cast(cast(Any, run), ctypes.c_void_p).value or 0
        return run

    def __call__(self, group: WarpgroupRecord, product: ProductRecord) -> bool:
        form, run = self.form(product.site), self.prepare(product)
        if run is None:
            return False
        tiles = [None if form.from_registers else form.tile("A", product.a), form.tile("B", product.b)]
        found = [None if tile is None else pieces(tile).ctypes.data for tile in tiles]
        run(self.native.record.address, group.address, product.address, *found)
        return True

    def _function(self, form: Form) -> tuple[Callable[..., None], Offsets] | None:
        native, registers = self.native, form.registers(self.native.program)
        if registers is None:
            return None
        description = form.describe()
        name = described(native.library.prefix, f"warpgroup_{form.product.form}", description)
        native.library.provide({name: description})
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(native.library.jit.address(name))
        return run, np.array(form.table(native.layout, *registers), np.int32)


@fact
def _form_at(program: Program, site: int, target: str, numerics: str) -> Form:
    """Of the operation at a site."""
    return Form(program.ops[site], target, numerics)


def _means_something(form: Form, product: ProductRecord) -> bool:
    """Whether the metadata of a sparse product is legal: what the other does is for the interpreter to say."""
    storage = form.product.sparsity
    if storage is None:
        return True
    metadata = np.array(product.metadata, np.uint32).reshape(WARPS, -1)
    return not any(storage.problems(words, form.immediate("f"), False) for words in metadata)

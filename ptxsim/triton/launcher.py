"""A launch: Triton's arguments as the bytes of the PTX's parameters."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from triton.runtime import _allocation

from ptxsim.checks.in_flight import Left, Prior
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.analysis.written_parameters import memory_steers, written_parameters
from ptxsim.engine.compiled.run.threads import orderless
from ptxsim.engine.program.operation import Program, calls, families
from ptxsim.isa.variable_layout import size_of
from ptxsim.machine.copies.tensor_map import TensorMap
from ptxsim.programs.collector import Collector
from ptxsim.session.module import Kernel
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import KernelError, Run
from ptxsim.triton.graphs import captured
from ptxsim.triton.proton import Proton
from ptxsim.triton.repeats import Launch
from ptxsim.triton.storages import Placed, Storages
from ptxsim.triton.timing import Clock

FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}
# Element types of tensor maps as Triton's compiler numbers them (tensormap.replace) to those of the CUDA driver.
TO_DRIVER = {8: 10, 9: 8, 10: 9}
TF32 = 11
_ONE_AT_A_TIME = threading.RLock()  # threads of a program launch on one device


class Launcher:
    """Launches one compiled kernel."""

    def __init__(
        self, collector: Collector, storages: Storages, clock: Clock, proton: Proton, source: Any, metadata: Any
    ):
        self.collector, self.storages, self.clock, self.proton = collector, storages, clock, proton
        self.metadata = metadata
        self.types = dict(source.signature)
        # Whether a launch has had all checks that are asked for, and whether a trial of the autotuner's has.
        self.is_watched = self.is_tried = False
        self.descriptors = list(getattr(metadata, "tensordesc_meta", None) or [])

    def __call__(
        self, x: int, y: int, z: int, stream: Any, kernel: Kernel, packed: Any, launch_metadata: Any, enter: Any, exit: Any,
        *args: Any,
    ) -> None:  # fmt: skip
        """Run the kernel to its end. Raises KernelError where it cannot go on, PtxError where it cannot start."""
        if enter is not None:
            enter(launch_metadata)
        if x * y * z:
            launch, before = partial(self._run, (x, y, z), stream, kernel, args), self.clock.now
            with _ONE_AT_A_TIME:
                if captured(launch, args, self._held):
                    self.clock.now = before  # a GPU has not run it yet
                else:
                    launch()
        if exit is not None:
            exit(launch_metadata)

    def _held(self) -> Iterable[torch.UntypedStorage]:
        """Memory whose addresses the program has."""
        return self.storages.hold(self.storages.kept).values()

    def _run(
        self, grid: tuple[int, int, int], stream: Any, kernel: Kernel, args: Sequence[Any], in_full: bool = False
    ) -> None:  # fmt: skip
        m, clock = self.metadata, self.clock
        ctas = getattr(m, "num_ctas", 1)
        is_known = clock.repeating and (self.is_watched or (clock.trying and self.is_tried))
        is_large = grid[0] * grid[1] * grid[2] * ctas > clock.every
        is_cooperative = getattr(m, "launch_cooperative_grid", False)
        is_predicted = bool(clock.repeating or clock.profile) and not in_full
        is_alike = is_large and is_predicted and orderless(self._program(kernel))
        by_sample = bool(is_alike and clock.repeating and not is_cooperative)
        profile = 1 if by_sample else None if in_full else clock.profile
        options = LaunchOptions(
            every=clock.every if is_alike and profile else None, sample=True if by_sample else None,
            checks="memory" if is_known and self.collector.wanted.checks == "all" else None,
            grid=(grid[0] * ctas, *grid[1:]), block=32 * m.num_warps, cluster=ctas, shared_mem=m.shared,
            cooperative=is_cooperative or None, profile=profile,
        )  # fmt: skip
        prior = self.storages.in_flight.prior(stream, bool(getattr(m, "launch_pdl", False)))
        may_repeat = not (by_sample or in_full or clock.repeating or prior.at_start) and self._may_repeat(kernel)
        launch, repeats = Launch((kernel, options), args) if may_repeat else None, self.storages.repeats
        if launch is not None and (known := repeats.find(launch)) is not None:
            run, moved = known
            self.collector.repeat(kernel, run, moved)
            self.storages.in_flight.launched(stream, kernel.name, prior, Left(), {}, ())
            self._tell(kernel, run)
            return
        with repeats.remembered(launch) as runs:
            runs.append(self._execute(grid, stream, kernel, args, options, by_sample, prior))

    def _tell(self, kernel: Kernel, run: Run) -> None:
        """A launch is over: how long it took."""
        self.clock.add(run)
        if run.cycles is not None and not self.clock.trying:
            self.proton.add(kernel.name, run.cycles.time_us / 1000)

    def _execute(
        self, grid: tuple[int, int, int], stream: Any, kernel: Kernel, args: Sequence[Any], options: LaunchOptions,
        by_sample: bool, prior: Prior,
    ) -> Run:  # fmt: skip
        clock, ctas = self.clock, getattr(self.metadata, "num_ctas", 1)
        with self.storages.placed(is_read=not by_sample or memory_steers(self._program(kernel))) as placed:
            named = list(self._flat(placed, args))
            values = [*((kind, value) for _, kind, value in named), *self._scratch(placed, grid, ctas, stream)]
            parameters = kernel.parameters
            kernel.written = {p.name: name for p, (name, _, _) in zip(parameters, named)}
            kernel.views = {str(name): view for name, value in zip(self.types, args) if (view := placed.view(value))}
            if len(values) < len(parameters):
                raise _problem(
                    f"{kernel.name} takes {len(parameters)} parameters, Triton's signature has {len(values)}"
                )
            passed = [_bytes(kind, value, size_of(p)) for p, (kind, value) in zip(parameters, values)]
            self.storages.clear()  # what is none of this launch's
            samples, written, touched = self.storages.samples, {}, set[int]()
            if samples is not None:
                touched = placed.touched([value for kind, value in values if kind != "*" and isinstance(value, int)])
                written = placed.written(self._may_write(kernel, values), touched)
                if not by_sample:
                    samples.need(written, writes=True)
            in_flight, hosts = self.storages.in_flight, placed.hosts()
            options = replace(options, prior=in_flight.on_device(prior, hosts))
            try:
                run = self.collector.launch(kernel, passed, options, hosts)
            except PtxError as error:
                self.collector.refuse(error)
                raise
            in_flight.launched(stream, kernel.name, prior, run.left, hosts, placed.alive)
            placed.is_kept = not run.is_sample
            if run.is_sample and not clock.is_forgetful and samples is not None:
                again = partial(self._run, grid, stream, kernel, in_full=True)
                samples.add(again, args, touched, written, self.storages.hold(touched))
        self.is_watched |= not clock.trying
        self.is_tried = True
        self._tell(kernel, run)
        if run.stopped_at is not None:
            raise KernelError(run)
        return run

    def _may_repeat(self, kernel: Kernel) -> bool:
        """Whether what a launch leaves is all that it does, and all that it sees are its arguments."""
        wanted = self.collector.wanted
        return not (
            self.storages.kept or wanted.why or wanted.page or wanted.skip or wanted.count is not None
            or calls(self._program(kernel)) or "griddepcontrol" in families(self._program(kernel)) or getattr(self.metadata, "profile_scratch_size", 0)
        )  # fmt: skip

    def _program(self, kernel: Kernel) -> Program:
        return kernel.program(self.storages.device.target.name)

    def _may_write(self, kernel: Kernel, values: Sequence[tuple[str, Any]]) -> list[int] | None:
        """Addresses of the tensors that a launch may write, as its program says: of those in parameters. None: of any."""
        found = written_parameters(self._program(kernel))
        if found is None:
            return None
        begins = kernel.code(self.storages.device.target.name).decoded.linkage.parameter_offsets
        return [
            value.source if kind == "map" else value
            for p, (kind, value) in zip(kernel.parameters, values)
            if kind in ("*", "map") and not found.isdisjoint(range(begins[p.name], begins[p.name] + size_of(p)))
        ]

    def _flat(self, placed: Placed, args: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
        """(Argument's name, type, value) of every parameter but the scratch memory."""
        descriptors = iter(self.descriptors)
        for (name, kind), value in zip(self.types.items(), args):
            for each, part in self._one(placed, str(name), kind, value, descriptors):
                yield str(name), each, part

    def _one(
        self, placed: Placed, name: str, kind: Any, value: Any, descriptors: Iterator[dict[str, Any]]
    ) -> Iterator[tuple[str, Any]]:
        if isinstance(kind, tuple | list):
            for number, (inner, member) in enumerate(zip(kind, value)):
                yield from self._one(placed, f"{name}[{number}]", inner, member, descriptors)
        elif kind == "constexpr":
            return
        elif kind.startswith("tensordesc"):
            yield from _descriptor(placed, name, value, next(descriptors, None))
        elif kind.startswith("*"):
            yield "*", placed.address(value, name)
        else:
            yield kind, value

    def _scratch(self, placed: Placed, grid: tuple[int, int, int], ctas: int, stream: Any) -> Iterator[tuple[str, int]]:
        """Scratch memory, and that of a profiler inside the kernel: bytes for each CTA, from Triton's allocators."""
        m, count = self.metadata, grid[0] * grid[1] * grid[2] * ctas
        size = getattr(m, "global_scratch_size", 0)
        memory = None
        if size:
            memory = _allocation._allocator.get()(count * size, m.global_scratch_align, stream)
        yield "*", placed.address(memory, "global scratch")
        size, memory = getattr(m, "profile_scratch_size", 0), None
        if size:
            own = getattr(_allocation, "has_profile_allocator", lambda: False)()
            if own:
                memory = _allocation._profile_allocator.get()(count * size, m.profile_scratch_align, stream)
            else:
                memory = profile_scratch(count * size)
        yield "*", placed.address(memory, "profile scratch")


def profile_scratch(size: int) -> torch.Tensor:
    """What a profiler inside kernels writes to, where the program has no allocator for it."""
    return torch.zeros(size, dtype=torch.int8)


def _descriptor(placed: Placed, name: str, value: Any, meta: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """A tensor descriptor of the host: a tensor map where the target has them, else pointer, shape and strides; then both again."""
    shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
    is_nan, to_tf32 = value.padding == "nan", getattr(value, "round_f32_to_tf32", None)
    address = placed.address(value.base, name)
    if meta is None:
        yield "*", address
        yield from (("i64", n) for n in shape + strides)
        yield "i1", is_nan
        if to_tf32 is not None:
            yield "i1", to_tf32
    else:
        yield "map", _tensor_map(address, shape, strides, value, meta, is_nan, bool(to_tf32))
    yield from (("i32", n) for n in shape)
    yield from (("i64", n) for n in strides)


def _tensor_map(
    address: int, shape: list[int], strides: list[int], value: Any, meta: dict[str, Any], is_nan: bool, to_tf32: bool
) -> TensorMap:
    """What Triton's own driver asks of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col."""
    number, block = int(meta["elem_type"]), [int(n) for n in meta["block_size"]]
    number = TF32 if to_tf32 else TO_DRIVER.get(number, number)
    dims = [*shape[:-1], shape[-1] * 2] if meta.get("fp4_padded") else shape
    common: dict[str, Any] = {
        "dtype": number, "dims": dims[::-1], "strides": [n * int(meta["elem_size"]) for n in strides[-2::-1]],
        "swizzle": int(meta["swizzle"]), "oob_fill": "nan" if is_nan else "zero",
    }  # fmt: skip
    if not meta.get("is_im2col"):
        return TensorMap(address, box=block[::-1], **common)
    steps = value.element_strides or [1] * len(shape)
    return TensorMap(
        address, element_strides=list(steps)[::-1], lower_corner=list(value.pixel_box_lower_corner)[::-1],
        upper_corner=list(value.pixel_box_upper_corner)[::-1], pixels=block[0], channels=block[1], **common,
    )  # fmt: skip


def _bytes(kind: str, value: Any, size: int) -> bytes:
    """A parameter of `size` bytes."""
    if kind == "map":
        data: bytes = value.device_bytes(int)
        return data
    if kind in FLOATS:
        return struct.pack(FLOATS[kind], float(value))
    if kind == "bf16":
        import ml_dtypes

        return np.array(float(value), ml_dtypes.bfloat16).tobytes()
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def _problem(message: str) -> PtxError:
    return PtxError(Finding("bad-directive", message))

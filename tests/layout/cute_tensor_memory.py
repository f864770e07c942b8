"""Prints layouts of tensor memory as CuTe DSL has them (`pip install nvidia-cutlass-dsl`): accumulators by M, N and CTAs, which are numbers of
tensor memory's addresses; loads and stores by shape and number, (lane, register) to words of the rows one after the other."""

import os

os.environ["CUTE_DSL_ARCH"] = "sm_100a"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.utils import blackwell_helpers

SHAPES = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32}  # and the largest number
MOVES = [(shape, 1 << i) for shape, most in SHAPES.items() for i in range(most.bit_length())]
PRODUCTS = [
    *((m, n, 1) for m in (64, 128) for n in (16, 64, 256)),
    *((m, n, 2) for m in (128, 256) for n in (32, 64, 256)),
]


@cute.jit
def layouts():
    for m, n, ctas in PRODUCTS:
        group = tcgen05.CtaGroup.ONE if ctas == 1 else tcgen05.CtaGroup.TWO
        product = blackwell_helpers.make_trivial_tiled_mma(
            cutlass.Float16, OperandMajorMode.K, OperandMajorMode.K, cutlass.Float32, group, (m, n)
        )
        print("accumulator", m, n, ctas, product.make_fragment_C(product.partition_shape_C((m, n))).layout, sep="\t")
    for shape, number in MOVES:
        for direction, side in (("Ld", "dst"), ("St", "src")):
            move = getattr(tcgen05, f"{direction}{shape}Op")(getattr(tcgen05.Repetition, f"x{number}"))
            atom = cute.make_copy_atom(move, cutlass.Float32)
            print(direction.lower(), shape, number, "", getattr(atom, f"layout_{side}_tv"), sep="\t")


cute.compile(layouts)

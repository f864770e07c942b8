"""Dot products recorded on several GPUs (golden/dot.npz) through numerics.matmul."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from suites.common import Options, Tally

TARGETS = {
    "V100": "sm_70",
    "A100": "sm_80",
    "A2": "sm_86",
    "Ada": "sm_89",
    "L40S": "sm_89",
    "H100": "sm_90a",
    "H200": "sm_90a",
    "B200": "sm_100a",
}
NUMPY = {"f16": np.float16, "tf32": np.float32}


def form_for(target: str, element: str, k: int, out: str) -> str:
    """The instruction a row was recorded with (golden/README.md): fp8 on Hopper with f32 results on wgmma, else mma.sync."""
    if element in ("e4m3", "e5m2") and target == "sm_90a" and out == "f32":
        return f"wgmma.m64n8k32.f32.{element}.{element}"
    shape = {4: "m8n8k4" if element == "f16" else "m16n8k4", 8: "m16n8k8", 16: "m16n8k16", 32: "m16n8k32"}[k]
    return f"mma.{shape}.{out}.{element}.{element}.{out}"


def run(options: Options, tally: Tally) -> None:
    path = options.folder / "dot.npz"
    if not path.exists():
        return
    arrays = np.load(path)
    for key in arrays:
        gpu, element, what = key.split(".")
        if what not in ("d_f32", "d_f16") or not options.selects("dot.npz", key):
            continue
        wrong = mismatches(arrays, gpu, element, what[2:])
        if wrong:
            tally.failures.append(f"dot:{key}: {wrong} of {len(arrays[key])} dot products differ")
        else:
            tally.passed += 1


def mismatches(arrays: Mapping[str, np.ndarray], gpu: str, element: str, out: str) -> int:
    """How many recorded results matmul does not give: trials in squares of which the diagonal is compared."""
    import ml_dtypes

    from ptxsim import numerics

    codes = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, **NUMPY}[
        element
    ]
    a, b = (arrays[f"{gpu}.{element}.{side}"] for side in "ab")
    a, b = (np.ascontiguousarray(x.astype(f"u{np.dtype(codes).itemsize}")).view(codes) for x in (a, b))
    c = arrays[f"{gpu}.{element}.c"].view(np.float32)
    recorded = arrays[f"{gpu}.{element}.d_{out}"].view(np.float32)
    form = form_for(TARGETS[gpu], element, a.shape[1], out)
    if form.startswith("wgmma"):
        c = np.zeros_like(c)  # these were recorded with C = 0
    dtype = np.float16 if out == "f16" else np.float32
    wrong, step = 0, 64
    for start in range(0, len(a), step):
        part = slice(start, min(start + step, len(a)))
        rows = len(a[part])
        square = np.zeros((step, step), dtype)
        square[:rows] = c[part].astype(dtype)[:, None]
        left, right = np.zeros((step, a.shape[1]), codes), np.zeros((a.shape[1], step), codes)
        left[:rows], right[:, :rows] = a[part], b[part].T
        got = np.diagonal(numerics.matmul(left, right, square, form=form, target=TARGETS[gpu]))[:rows]
        want = recorded[part].astype(dtype)
        wrong += int((np.ascontiguousarray(got).view(f"u{got.itemsize}") != want.view(f"u{want.itemsize}")).sum())
    return wrong

"""Size of the page about a GEMM of 256 CTAs with 10,000 lines of PTX, and seconds until it can be used in headless Chromium.

    python tools/bench/page.py [--browser /usr/bin/chromium] [--out PAGE.html]

The kernel is samples/mma_gemm_conflicts.ptx with its loops unrolled over 61 tiles of K, on packed tiles. The browser is driven by
playwright; where there is none, the size alone is told.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

import common  # noqa: F401  the paths
import numpy as np

import ptxsim
from ptxsim.report.page.document import write_page
from ptxsim.session.ptxfile.file import FileRun
from ptxsim.source import Source

TILES, SIDE = 61, 16
SAMPLE = Path(__file__).parents[2] / "samples" / "mma_gemm_conflicts.ptx"
PLACES = """
    .reg .b32 %cx, %cy;
    .reg .b64 %w;
    mov.u32 %cx, %ctaid.x;
    mov.u32 %cy, %ctaid.y;
    mul.wide.u32 %w, %cy, {row};
    add.u64 %A, %A, %w;
    mul.wide.u32 %w, %cx, {row};
    add.u64 %B, %B, %w;
    mad.lo.u32 %cy, %cy, {side}, %cx;
    mul.wide.u32 %w, %cy, 16384;
    add.u64 %D, %D, %w;
"""


def kernel(tiles: int = TILES, side: int = SIDE) -> str:
    """The sample's GEMM, of side x side CTAs, straight through `tiles` tiles of K."""
    lines = [line for line in SAMPLE.read_text().splitlines() if not line.startswith("//")]
    text = "\n".join(lines)
    head, copy, start, step, tail = re.split(
        r"    mov.u32         %i, %thread;\nCOPY:\n|(?<=bar.sync        0;)\n|K_STEP:\n|    @%more bra      K_STEP;\n",
        text,
    )
    copy = re.sub(r".*(setp.lt|@%more bra|bar.sync).*\n?", "", copy)
    step = re.sub(r".*setp.lt.*\n", "", step)
    onward = "    add.u64 %A, %A, 8192;\n    add.u64 %B, %B, 8192;\n    mov.u32 %k, 0;\n"
    tile = "    mov.u32 %i, %thread;\n" + copy * 4 + "    bar.sync 0;\n" + onward + step * 4 + "    bar.sync 0;\n"
    return head + PLACES.format(row=8192 * tiles, side=side) + start + tile * tiles + tail


def launch(text: str, tiles: int = TILES, side: int = SIDE) -> FileRun:
    """Run it, with banks and cycles; the result is verified."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (side, tiles, 64, 64)).astype(np.float16) for _ in range(2))
    d = np.zeros((side, side, 64, 64), np.float32)
    run = ptxsim.Module.from_text(text).kernel().launch((side, side), 128, [a, b, d], profile=True, banks=True)
    wanted = np.einsum("ytmk,xtnk->yxmn", a.astype(np.float32), b.astype(np.float32), optimize=True)
    assert (d == wanted).all()
    return FileRun(Source(text, "gemm.ptx"), run, run.findings)


def opened(path: Path, browser: str) -> None:
    """Say how long the page takes until every chart is drawn, and what redrawing the timeline takes."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed: the page was not opened")
        return
    with sync_playwright() as started:
        window = started.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        for _ in range(3):
            began = time.perf_counter()
            window.goto(path.as_uri())
            window.wait_for_function("document.body.dataset.ready !== undefined")
            inside = window.evaluate("document.body.dataset.ms")
            print(f"ready after {time.perf_counter() - began:.2f} s ({inside} ms by the page's own clock)")
        zooms = "(() => { const t = document.querySelector('[data-chart=timeline]').timeline, s = performance.now(); for (let i = 0; i < 10; i++) t.by(1.3); return (performance.now() - s) / 10; })()"
        print(f"a zoom of the timeline: {window.evaluate(zooms):.0f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--browser", default="/usr/bin/chromium")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "gemm.html")
    given = parser.parse_args()
    text = kernel()
    began = time.perf_counter()
    result = launch(text)
    print(
        f"{text.count(chr(10))} lines, {SIDE * SIDE} CTAs: run, counted and profiled in {time.perf_counter() - began:.1f} s"
    )
    began = time.perf_counter()
    write_page(given.out, result, ptxsim.__version__)
    print(f"page written in {time.perf_counter() - began:.1f} s: {given.out.stat().st_size / 1e6:.2f} MB")
    opened(given.out, given.browser)

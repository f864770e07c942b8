"""Where native code lies in a process: side by side, whatever has been mapped before."""

import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ptxsim.jit.address_space import WIDE, library, side_by_side

pytestmark = pytest.mark.skipif(library() is None, reason="only Linux' mmap is asked where to map")


@pytest.mark.parametrize("when", ["before", "after"])
def test_large_mappings(when, tmp_path):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("far_apart.py"), when], capture_output=True, text=True,
        env={**os.environ, "PTXSIM_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "side by side\n"), done.stderr[-2000:]


def test_what_is_mapped_meanwhile_lies_side_by_side():
    with side_by_side() as end:
        pieces = [mmap.mmap(-1, pages * mmap.PAGESIZE) for pages in (1, 7, 300, 1, 40)]
    places = [np.frombuffer(piece, np.uint8).ctypes.data for piece in pieces]
    assert end - WIDE // 4 < min(places) and max(places) < end

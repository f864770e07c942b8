"""Where native code lies in a process: side by side, whatever has been mapped before."""

import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ptxsim.jit.address_space import WIDE, close_gaps, library

pytestmark = pytest.mark.skipif(library() is None, reason="only Linux' mmap is asked where to map")


def test_a_hole_above_large_libraries(tmp_path):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("far_apart.py")], capture_output=True, text=True,
        env={**os.environ, "PTXSIM_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "side by side\n"), done.stderr[-2000:]


def test_what_is_mapped_next_lies_side_by_side():
    close_gaps()
    pieces = [mmap.mmap(-1, pages * mmap.PAGESIZE) for pages in (1, 7, 300, 1, 40)]
    places = [np.frombuffer(piece, np.uint8).ctypes.data for piece in pieces]
    assert max(places) - min(places) < WIDE // 4

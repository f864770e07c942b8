#!/usr/bin/env python3
"""Compile the CUDA cases of the tests anew: tests/cuda/broken/NAME.cu to NAME.ptx beside it, so that the tests need no compiler.

python tools/compile_cuda.py [FILE.cu ...]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from ptxsim.cuda.compiler import compile_file  # noqa: E402

CASES = ROOT / "tests" / "cuda" / "broken"


def common_part(path: str) -> str:
    """Of a path what every machine has."""
    return path[path.index("include/") :] if "/include/" in path else Path(path).name


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or sorted(CASES.glob("*.cu")):
        text = compile_file(path).text
        text = re.sub(r'"(/[^"\n]*)"', lambda path: f'"{common_part(path[1])}"', text)
        lines = [line.rstrip() for line in text.splitlines() if not line.lstrip().startswith("//")]
        path.with_suffix(".ptx").write_text("\n".join(line for line in lines if line) + "\n")


if __name__ == "__main__":
    main()

"""Runs a Python program, prepared (`prepared`).

python -m ptxsim.triton PROGRAM.py [ARGUMENT...]
python -m ptxsim.triton -m MODULE [ARGUMENT...]
"""

from __future__ import annotations

import os
import runpy
import sys

from ptxsim.triton.prepared import prepare


def main(arguments: list[str]) -> None:
    prepare()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])

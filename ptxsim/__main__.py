"""The command `ptxsim` as a process; `python -m ptxsim` is the same."""

import os
import signal
import sys
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT


def run() -> NoReturn:
    """Run the command. After Ctrl-C, at any moment, the process ends at once, whatever there would be to take apart."""
    try:
        from ptxsim.cli import main

        code = main()
    except KeyboardInterrupt:  # modules are being loaded
        os.write(2, b"interrupted\n")
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()

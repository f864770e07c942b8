"""`python -m ptxsim` is the command `ptxsim`."""

import sys

from ptxsim.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m ptxsim` is the command `ptxsim`."""

from ptxsim.cli import run

if __name__ == "__main__":
    run()

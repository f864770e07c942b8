#!/usr/bin/env python3
"""Write grammar/tables.json anew. Run it after every change of a file in grammar/."""

from ptxsim.syntax.tables import write_tables

if __name__ == "__main__":
    print(write_tables())

"""A debugger: one launch in the interpreter, stopped before any of its instructions, forwards and backwards."""

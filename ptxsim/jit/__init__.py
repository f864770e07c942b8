"""LLVM in this process: IR text to machine code, kept on disk."""

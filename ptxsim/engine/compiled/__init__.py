"""The compiled engine: writes LLVM IR for a program, runs it natively, and leaves what it has no native form for to the interpreter."""

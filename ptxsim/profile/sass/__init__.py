"""Machine code of kernels as the assembler makes it: read, tied to the PTX it comes from, and made ready for the replay."""

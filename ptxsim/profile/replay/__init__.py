"""The replay of traces on one SM: warps, pipes, the memory path."""

"""What accesses to memory cost, and where their addresses come from."""

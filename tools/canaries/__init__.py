"""Host memory around what kernels write, and every form of access with addresses that no program should form."""

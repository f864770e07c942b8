"""What a kernel runs on: memories, registers, barriers, warps and CTAs, and the stream of events they emit."""

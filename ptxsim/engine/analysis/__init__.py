"""What is true of a program on every path: liveness, fragments in registers, hazards, forward progress, contraction."""

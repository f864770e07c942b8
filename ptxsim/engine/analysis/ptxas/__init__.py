"""What ptxas makes of a program, where that changes results, events or registers: contraction, copies, accesses."""

"""Inputs that nobody would write, made from seeds, and what ptxsim does with them."""

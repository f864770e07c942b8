"""Writes the native function of one program."""

"""Functions that native code of every program calls, and the memory they share with Python."""

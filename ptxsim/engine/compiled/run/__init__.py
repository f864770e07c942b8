"""Runs native code: the engine, whole CTAs, threads, and the side exits to the interpreter."""

"""Traces of a run, as the replay of an SM takes them: what warps execute, what they wait for, what CTAs share."""

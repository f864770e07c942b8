"""The model of one SM: figures per target, traces of a run, and their replay."""

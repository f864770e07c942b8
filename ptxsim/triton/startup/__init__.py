"""A folder that Python looks into as it starts (PYTHONPATH), in every process of a program under `ptxsim exec`."""

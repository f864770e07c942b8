"""Whole programs: what is asked of their launches, what came of them, and how `ptxsim exec` starts them."""

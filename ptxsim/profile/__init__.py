"""The cycle model: machine code lowered from PTX, traces of sampled CTAs, and their replay through a model of an SM."""

"""Random programs of arithmetic, which a GPU and ptxsim run: the bits are to be the same."""

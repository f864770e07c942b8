"""A PTX file as a whole test: directives, expectations, and the verdict on a run."""

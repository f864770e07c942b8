"""Where matrix elements live: fragments, swizzles, descriptors, sparsity, banks. Index mathematics, no PTX text."""

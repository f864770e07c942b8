"""Tensor memory, and what a CTA's tensor core does with it."""

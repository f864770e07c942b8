"""Which instructions exist: the manual's notation as data, a matcher, and the static rules of operands."""

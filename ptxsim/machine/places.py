"""Where the things of a grid are: threads of a CTA, CTAs of a cluster, clusters of a grid are counted x first, then y, then z."""

from __future__ import annotations


def coordinates(number: int, x: int, y: int) -> tuple[int, int, int]:
    """Where the one of a number is, in what is so wide and high. In bodies, too."""
    return number % x, number // x % y, number // (x * y)

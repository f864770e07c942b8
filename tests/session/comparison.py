"""Comparisons as `// ptxsim: expect` writes them, of arrays at hand."""

import numpy as np

from ptxsim import arrays
from ptxsim.session.ptxfile.expectations import check_comparison, parse_comparison


def check(text, **names):
    return check_comparison(parse_comparison(text), names)


def product(type, shape=(16, 8, 16)):
    m, n, k = shape
    a, b = arrays.ints((m, k), type, 1), arrays.ints((n, k), type, 2)
    return a, b, (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32)

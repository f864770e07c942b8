"""Which lines of 128 bytes L1 looks up at the same time: one in each of four tag banks.

Measured on an H200 with two lines at a time, all pairs up to 64 lines apart and powers of two up to 8192, and confirmed by
what it predicts: the wavefronts of 273 sets of lines (tests/data/wavefronts.json.gz) and l1tex__t_output_wavefronts of 325
patterns of loads in the timing data, all equal.
"""

from __future__ import annotations

TAG_BANKS = 4
# The tag bank of a line is the exclusive or of these over the set bits of its number (address / 128).
TAG_FOLD = (1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1)


def tag_bank(line: int) -> int:
    """The tag bank, 0 to 3, of a line (address / 128)."""
    bank = 0
    for bit in range(14):
        bank ^= (line >> bit & 1) * TAG_FOLD[bit]
    return bank

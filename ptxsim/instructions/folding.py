"""Which instructions ptxas computes itself where all sources are constants.

Tried with ptxas 13.0 for sm_90a, statement by statement (tests/data/folded.tsv). It does so for what C++ compilers make of constants, and
leaves operations on halves, and what is rounded otherwise than to nearest, to the machine.
"""

from __future__ import annotations

from ptxsim.isa.facts import Words

NARROWED = ("s8", "u8", "s16")  # what it converts no number to


def is_half(words: Words, name: str = "type") -> bool:
    """Whether a type is of 16-bit floats, one or two."""
    return str(words[name]).removesuffix("x2") in ("f16", "bf16")


def is_pair(words: Words) -> bool:
    return bool(words["type"].lanes == 2)


def plain(words: Words) -> bool:
    """Neither several elements in a word, nor a limit at 0."""
    return not is_pair(words) and not words.get("relu")


def sum_or_product(words: Words) -> bool:
    """Of singles and doubles."""
    nearest = words.get("rounding") == "rn" and words["type"].bits == 32 and not words.get("sat")
    return not is_half(words) and (words.get("rounding") is None or nearest)


def sum_or_product_of_doubles(words: Words) -> bool:
    return words.get("rounding") is None


def extremum(words: Words) -> bool:
    return not is_half(words) and not any(words.get(name) for name in ("NaN", "abs", "xorsign"))


def sign(words: Words) -> bool:
    """Of abs and neg."""
    return not words.get("ftz") or not is_half(words)


def comparison(words: Words) -> bool:
    """Of set."""
    return not is_half(words, "stype") and words["dtype"].name in ("f32", "s32", "u32")


def integer_to_float(words: Words) -> bool:
    return bool(words["dtype"].name == "f32" and words.get("rounding") == "rn")


def float_to_integer(words: Words) -> bool:
    return words.get("rounding") in ("rni", "rzi") and words["dtype"].name not in NARROWED


def float_to_integral(words: Words) -> bool:
    return not is_half(words, "dtype")


def widened(words: Words) -> bool:
    """Of conversions to a wider float."""
    return words.get("rounding") in (None, "rn") or (words["dtype"].name == "f32" and not words.get("ftz"))


def is_rounded(words: Words) -> bool:
    """To nearest, and no more."""
    return words.get("rounding") == "rn" and not any(words.get(name) for name in ("relu", "satfinite"))


def narrowed(words: Words) -> bool:
    """Of conversions to a narrower float."""
    return is_rounded(words) and not is_half(words, "atype")


def two_halves(words: Words) -> bool:
    """Of conversions of two singles."""
    return is_rounded(words) and words["dtype"].name == "f16x2"


def approximation(words: Words) -> bool:
    return bool(words["type"].name == "f32" and words["name"] != "tanh")

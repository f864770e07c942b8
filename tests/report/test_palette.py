"""The page's colours as colour-blind eyes see them: reasons are told apart, words can be read.

Simulation: Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1,
on linear RGB. Differences are those of CIE 1976 L*a*b* (2.3 is just noticeable), contrast is WCAG 2's.
"""

import itertools
import re

import numpy as np
import pytest

from tests.helpers import ROOT

PAGE = ROOT / "ptxsim" / "report" / "page"
EYES = {
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def seen(colour, eyes):
    """X, Y, Z of `#rgb` or `#rrggbb`."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    value = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return TO_XYZ @ np.clip(np.asarray(EYES[eyes]) @ linear, 0, 1)


def lab(xyz):
    f = np.where(xyz / WHITE > 0.008856, np.cbrt(xyz / WHITE), 7.787 * xyz / WHITE + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other, eyes):
    low, high = sorted(seen(colour, eyes)[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("eyes", EYES)
def test_reasons_are_told_apart(eyes):
    reasons = dict(re.findall(r'(\w+): "(#[0-9a-f]{6})"', (PAGE / "page.js").read_text()))
    assert len(reasons) == 14
    for (one, a), (other, b) in itertools.combinations(reasons.items(), 2):
        assert np.linalg.norm(lab(seen(a, eyes)) - lab(seen(b, eyes))) > 15, (one, other)
    for reason, colour in reasons.items():
        for ground in ("#ffffff", "#15171a"):
            assert contrast(colour, ground, eyes) > 1.5, (reason, ground)


@pytest.mark.parametrize("eyes", EYES)
def test_words_can_be_read(eyes):
    style = (PAGE / "page.css").read_text()
    grounds = re.search(r"background: light-dark\((#\w+), (#\w+)\)", style).groups()
    words = re.findall(r"--(faint|error|warning|note|help|link): light-dark\((#\w+), (#\w+)\)", style)
    assert len(words) == 6
    for name, *colours in words:
        for colour, ground in zip(colours, grounds):
            assert contrast(colour, ground, eyes) >= 4.5, (name, colour)

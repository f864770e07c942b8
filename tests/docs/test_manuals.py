"""The manuals name what there is: the package's public names, and every word of directives."""

import inspect
import re

import ptxsim
from ptxsim.arrays import MAKERS
from ptxsim.session.ptxfile import directives, expressions, functions
from ptxsim.types import DTYPES
from tests.helpers import ROOT


def test_every_public_name_is_in_the_reference_with_what_it_says_of_itself():
    shown = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE)
    assert {f"ptxsim.{name}" for name in ptxsim.__all__ if name != "__version__"} <= set(shown)
    assert all(inspect.getdoc(getattr(ptxsim, name)) for name in ptxsim.__all__)


def test_every_word_of_directives_is_in_their_manual():
    page = (ROOT / "docs" / "directives.md").read_text()
    words = {*directives._READERS, *directives._LAUNCH_WORDS, *MAKERS, *expressions.METRICS}
    words |= functions.functions().keys() - DTYPES.keys() - {"float16", "float32", "float64", "bfloat16"}
    assert {word for word in words if not re.search(rf"\b{word}\b", page)} == set()

"""What tests of the engines share."""

import pytest

from ptxsim.engine.compiled.codegen.kernel import LOWERINGS


@pytest.fixture(scope="module")
def slow_isspacep():
    """isspacep takes the slow path, as an operation in the middle of a block of any program. The texts of these tests are their own, and so
    is the code that is made of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(LOWERINGS, "isspacep")
        yield

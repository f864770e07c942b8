"""Which loads are taken to wait for data with flags in it."""

from ptxsim import Module
from ptxsim.checks.order.dataflow.data_with_flags import awaited_data
from tests.helpers import CASES


def loads(case: str) -> list[int]:
    """The lines of such loads."""
    program = Module.from_file(CASES / case).kernel().program()
    return [program.ops[site].line for site in awaited_data(program)]


def test_a_loop_that_looks_until_the_flag_is_there_waits():
    assert loads("races/packed_words_given_back_for_all.ptx")


def test_a_loop_that_tries_an_update_again_does_not_wait():
    """The word at the top of a stack holds a place and a tag: who finds it empty, or is overtaken, begins again."""
    assert not loads("programs/stack_with_tags.ptx")

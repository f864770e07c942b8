"""Several PTX texts linked into one."""

from pathlib import Path

import numpy as np

from ptxsim import Module
from ptxsim.cuda.linking import link, with_definitions

FIRST, SECOND = (Path(__file__).with_name("linking").joinpath(name).read_text() for name in ("first.ptx", "second.ptx"))


def test_each_finds_the_others_and_keeps_its_own():
    text = link([FIRST, SECOND])
    out = np.zeros(1, np.uint32)
    run = Module.from_text(text).kernel("first").launch(1, 1, [out], checks="all")
    assert (out[0], run.findings) == (6 + 1000 + 1 + 10, [])
    assert text.startswith(".version 8.5\n.target sm_90\n")


def test_lines_are_those_of_the_files_that_each_names():
    lines = link([FIRST, SECOND]).splitlines()
    assert (
        '.file 3 "three.cu"' in lines
        and ".loc 3 3 0" in map(str.strip, lines)
        and ".loc 2 9 0" in map(str.strip, lines)
    )


def test_one_text_stays_as_it_is():
    assert link([FIRST]) == FIRST


def test_a_definition_takes_the_place_of_a_weak_one():
    strong = SECOND.replace(".weak", ".visible")
    out = np.zeros(1, np.uint32)
    Module.from_text(link([FIRST, strong])).kernel("first").launch(1, 1, [out])
    assert out[0] == 6 + 1000 + 2 + 10


def test_what_nobody_defines_stays_declared():
    text = link(
        [FIRST.replace("of_second;", "of_second;\n.extern .func vprintf ();"), SECOND, SECOND.replace("own", "mine")]
    )
    assert text.count("vprintf") == 1 and text.count(".u32 of_second = 6") == 1


def test_a_text_is_linked_with_what_defines_what_it_declares():
    other = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .u32 of_nobody;\n"
    assert with_definitions(SECOND, [other]) == SECOND and with_definitions(other, [FIRST, SECOND]) == other
    text = with_definitions(FIRST, [other, SECOND])
    out = np.zeros(1, np.uint32)
    Module.from_text(text).kernel("first").launch(1, 1, [out])
    assert out[0] == 6 + 1000 + 1 + 10 and "of_nobody" not in text

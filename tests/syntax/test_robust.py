"""No text, however broken, gives anything but nodes or findings, and none takes long."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.source import Source
from ptxsim.syntax.flatten import flatten
from ptxsim.syntax.parser import parse, parse_body
from ptxsim.syntax.printer import print_module
from tests.syntax.samples import EVERYTHING, FILES, HEADER, kernel

PIECES = [
    ".reg", ".b32", "%r1", "<", ">", "4", "{", "}", "(", ")", "[", "]", ";", ",", ":", "L:", "add.s32", "@", "!", "|", "_",
    "-", "+", "0x", "1.5", "0f3F800000", "call", ".entry", ".func", ".param", '"', "/*", "*/", "//", "\n", "\\n", "é", "\0",
    ".pragma", ".loc 1 2 3", "a", "=", "generic", ".section .x {", "::", "?", "WARP_SZ", "%%", "asm(", "#", "@@DWARF", "~",
]  # fmt: skip


def survives(text: str) -> None:
    """Nodes that print and flatten, or findings with a place inside the text."""
    for read in (parse, parse_body):
        try:
            result = read(text)
        except PtxError as error:
            check(error, text)
            continue
        if read is parse:
            assert parse(print_module(result)) == result
            for function in result.functions():
                try:
                    flatten(function, result)
                except PtxError as error:
                    check(error, text)


def check(error: PtxError, text: str) -> None:
    lines = text.split("\n")
    assert error.findings
    for finding in error.findings:
        assert finding.message and finding.name in ("syntax-error", "undeclared-name")
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text):
    survives(text)
    survives(kernel(text))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_any_words(words):
    text = " ".join(words)
    survives(text)
    survives(HEADER + text)
    survives(kernel(text))


@pytest.mark.thin(5)
@pytest.mark.parametrize("seed", range(40))
def test_mutated_files(seed):
    """A piece of a real file cut out, doubled, moved or replaced."""
    draw = random.Random(seed)
    text = draw.choice([EVERYTHING, *(path.read_text() for path in FILES if path.stat().st_size < 15_000)])
    for _ in range(draw.randint(1, 6)):
        start = draw.randrange(len(text))
        end = min(len(text), start + draw.choice([1, 1, 2, 5, 40]))
        other = draw.randrange(len(text))
        replacement = draw.choice(["", text[start:end] * 2, text[other : other + end - start], draw.choice(PIECES)])
        text = text[:start] + replacement + text[end:]
    survives(text)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "soup.ptx"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(PtxError):
        parse(Source.from_file(path))


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "mark", ["{", "(", "[", "}", "a", "/*", '"', "\\", "@", "%", ".", "-", "1", "a,", "{a,", "/* */", "L:"]
)
def test_nothing_hangs(mark):
    start = time.process_time()
    for text in (mark * 20_000, f"x {mark * 20_000};", f"x {mark * 20_000}", f".reg .b32 {mark * 20_000};"):
        survives(kernel(text))
    assert time.process_time() - start < 5

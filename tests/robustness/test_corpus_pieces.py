"""Broken compiler output gets a finding with a sensible line, quickly: seeded mutations of the files in tests/data/ptx."""

import random
import re
import time

import pytest

from ptxsim.session.module import check
from ptxsim.source import Source
from tests.helpers import DATA

FILES = sorted((DATA / "ptx").glob("*.ptx"))
SECONDS = 2.0
INSTRUCTION = re.compile(r"^[ \t]+(?:@!?%\w+[ \t]+)?([a-z][\w.:]*\.[\w.:]+)([^;{}\n]*|[^;\n]*\{[^;\n]*);", re.MULTILINE)


def instruction(text: str, rng: random.Random) -> re.Match:
    return rng.choice(list(INSTRUCTION.finditer(text)))


def drop_semicolon(text, rng):
    place = instruction(text, rng).end() - 1
    return text[:place] + text[place + 1 :], place


def misspell(text, rng):
    place = instruction(text, rng).start(1)
    return f"{text[:place]}q{text[place:]}", place


def break_modifier(text, rng):
    match = instruction(text, rng)
    return f"{text[: match.end(1)]}x9{text[match.end(1) :]}", match.start(1)


def repeat_operands(text, rng):
    found = [m for m in INSTRUCTION.finditer(text) if m[2].strip() and not m[1].startswith(("call", "bra", "ret"))]
    match = rng.choice(found)
    return f"{text[: match.end(2)]},{match[2]},{match[2]},{match[2]}{text[match.end(2) :]}", match.start(1)


def undeclare(text, rng):
    match = rng.choice([m for m in INSTRUCTION.finditer(text) if "%r" in m[2]])
    place = match.start(2) + match[2].index("%r")
    end = re.compile(r"[\w%]+").match(text, place).end()
    return f"{text[:place]}%nowhere{text[end:]}", place


def swap_type(text, rng):
    match = rng.choice(
        [m for m in INSTRUCTION.finditer(text) if m[1].endswith((".s32", ".u32")) and m[1].startswith("add")]
    )
    return f"{text[: match.end(1) - 3]}f64{text[match.end(1) :]}", match.start(1)


def cut(text, rng):
    place = instruction(text, rng).start(2)
    return text[:place], place


def stray(text, rng):
    place = instruction(text, rng).start(1)
    return f"{text[:place]}{rng.choice('#?`')} {text[place:]}", place


BREAKING = [drop_semicolon, misspell, break_modifier, repeat_operands, undeclare, swap_type, cut, stray]


def judge(text: str, name: str, place: int, before: str) -> None:
    """One finding or more, the first not far from the place, in time."""
    start = time.process_time()
    findings = [finding for finding in check(Source(text, name)) if finding.level == "error"]
    spent = time.process_time() - start
    excerpt = text[max(0, place - 40) : place + 60]
    assert findings, f"passes: {excerpt!r}"
    line = before.count("\n", 0, place) + 1
    near = min(abs(finding.line - line) for finding in findings)
    assert near <= 3 or findings[0].name == "undeclared-name", f"{findings[0]} for line {line}: {excerpt!r}"
    assert spent < SECONDS, f"{spent:.1f} s for {excerpt!r}"


def mutate(mutation, seed: int, files=FILES):
    """A mutated file: (text, file's name, where it was changed, the text before), or None where it has no such place."""
    rng = random.Random(f"{mutation.__name__}{seed}")
    path = rng.choice(files)
    before = path.read_text()
    try:
        text, place = mutation(before, rng)
    except IndexError:
        return None
    return text, path.name, place, before


@pytest.mark.slow
@pytest.mark.parametrize("mutation", BREAKING, ids=lambda mutation: mutation.__name__)
def test_broken_output_is_refused(mutation):
    cases = [case for seed in range(20) if (case := mutate(mutation, seed))]
    assert len(cases) >= 10
    for text, name, place, before in cases:
        judge(text, name, place, before)


@pytest.mark.slow
def test_noise_never_crashes():
    for seed in range(40):
        rng = random.Random(seed)
        path = rng.choice(FILES)
        characters = list(path.read_text())
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(characters))
            characters[place] = rng.choice(["", chr(rng.randrange(32, 127)), rng.choice(characters), "\n"])
        for finding in check(Source("".join(characters), path.name)):
            assert finding.line >= 1 and finding.message

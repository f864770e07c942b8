"""Broken PTX of every kind gets a finding with a sensible line: seeded mutations of the samples."""

import random
import re

import pytest

from ptxsim.session.module import check
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import ROOT

SAMPLES = sorted((ROOT / "samples").glob("*.ptx"))
STATEMENT = re.compile(r"^\s+(@!?%\w+\s+)?[a-z][\w.:]*[^;{}]*;", re.MULTILINE)


def instructions(text: str) -> list[re.Match]:
    """Statements of the body that are instructions (no declarations)."""
    return list(re.finditer(r"^    (?!\.)(?:@%\w+ )?([a-z][\w.:]+)([^;]*);", text, re.MULTILINE))


def drop_semicolon(text, rng):
    place = rng.choice(instructions(text)).end() - 1
    return text[:place] + text[place + 1 :], place


def misspell_opcode(text, rng):
    match = rng.choice(instructions(text))
    place = match.start(1) + rng.randrange(1, max(2, len(match[1].partition(".")[0])))
    return text[:place] + "q" + text[place:], place


def break_modifier(text, rng):
    match = rng.choice([m for m in instructions(text) if "." in m[1]])
    return text[: match.end(1)] + "x9" + text[match.end(1) :], match.start(1)


def drop_operand(text, rng):
    match = rng.choice([m for m in instructions(text) if m[2].count(",") and "{" not in m[2]])
    place = match.start(2) + match[2].rindex(",")
    return text[:place] + text[match.end(2) :], match.start(1)


def undeclare(text, rng):
    match = rng.choice(list(re.finditer(r"%[a-z_]+\d*(?=[,;\]}])", text)))
    return text[: match.start()] + "%nowhere" + text[match.end() :], match.start()


def wrong_label(text, rng):
    found = list(re.finditer(r"bra\s+(\w+)", text))
    match = rng.choice(found) if found else None
    if match is None:
        return undeclare(text, rng)
    return text[: match.start(1)] + "NOWHERE" + text[match.end(1) :], match.start()


def cut(text, rng):
    body = text.index("{", text.index(".entry"))
    place = rng.randrange(body + 1, text.rindex("ret;"))
    return text[:place], place


def drop_brace(text, rng):
    place = text.rindex("}")
    return text[:place] + text[place + 1 :], place


def stray(text, rng):
    place = rng.choice(instructions(text)).start(1)
    return text[:place] + rng.choice("$#?\\`'") + " " + text[place:], place


def undeclare_family(text, rng):
    match = rng.choice(list(re.finditer(r"^    \.reg [^\n]*\n", text, re.MULTILINE)))
    return text[: match.start()] + text[match.end() :], match.start()


MUTATIONS = [
    drop_semicolon, misspell_opcode, break_modifier, drop_operand, undeclare, wrong_label, cut, drop_brace, stray, undeclare_family,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda f: f.__name__)
def test_every_mutation_gives_a_finding_with_a_line(mutation):
    for seed in range(50):
        rng = random.Random(f"{mutation.__name__}{seed}")
        path = rng.choice(SAMPLES)
        text, place = mutation(path.read_text(), rng)
        findings = check(Source(text, path.name))
        errors = [f for f in findings if f.level == "error"]
        assert errors, f"seed {seed}: {path.name} near {text[max(0, place - 30) : place + 30]!r} passes"
        assert 1 <= errors[0].line <= text.count("\n") + 1
        assert errors[0].message


@pytest.mark.slow
def test_noise_never_crashes():
    for seed in range(150):
        rng = random.Random(seed)
        path = rng.choice(SAMPLES)
        text = list(path.read_text())
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(text))
            text[place] = rng.choice(["", chr(rng.randrange(32, 127)), text[rng.randrange(len(text))], "\n"])
        source = Source("".join(text), path.name)
        check(source)
        if seed % 5 == 0:
            try:
                run_file(source, options=Options(max_steps=20_000))
            except Exception as error:
                from ptxsim.diagnostic import PtxError

                assert isinstance(error, PtxError), repr(error)

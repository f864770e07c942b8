"""Random legal statements of ptxsim's own registry, given to the assembler: it must take every one of them."""

import random
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from ptxsim.types import TARGETS, VERSIONS, parse_target, parse_version
from tests.isa.generate import Generator, prelude

MODULES, STATEMENTS = 10, 30

pytestmark = pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not on this machine's PATH")


@cache
def known() -> tuple[list[str], list[tuple[int, int]]]:
    """Targets and versions that both the assembler on this machine and ptxsim know."""
    help_text = subprocess.run(["ptxas", "--help"], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"sm_\d+[af]?", help_text)) & set(TARGETS)
    targets = sorted(name for name in found if parse_target(name).number >= 75)
    with tempfile.TemporaryDirectory() as folder:
        complaint = assemble(".version 99.9\n.target sm_90\n", "sm_90", Path(folder))
    newest = parse_version(re.search(r"current version is '([\d.]+)'", complaint)[1])
    return targets, [version for version in VERSIONS if (6, 3) <= version <= newest]


def assemble(text: str, target: str, folder) -> str:
    """What ptxas says against a module; its front end only, which parses and checks."""
    path = folder / "module.ptx"
    path.write_text(text)
    command = ["ptxas", "-arch", target.replace("sm_", "compute_"), str(path), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("seed", range(MODULES))
def test_the_assembler_takes_what_the_registry_prints(seed, tmp_path):
    rng = random.Random(seed)
    targets, versions = known()
    while True:
        target, version = rng.choice(targets), rng.choice(versions)
        if version >= TARGETS[target]:
            break
    generator = Generator(parse_target(target), version, rng)
    statements = generator.statements(STATEMENTS)
    before = prelude(parse_target(target), version)
    complaints = assemble(before + "\n".join(statements) + "\n}\n", target, tmp_path)
    first = before.count("\n") + 1
    wrong = {
        f"{statements[int(line) - first]} ({why})"
        for line, why in re.findall(r"line (\d+);\s*(?:error|fatal)\s*: (.*)", complaints)
    }
    assert not complaints, f"{target}, .version {version[0]}.{version[1]}: {wrong or complaints}"

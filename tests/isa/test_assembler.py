"""Random legal statements of ptxsim's own registry, given to the assembler: it must take every one of them."""

import random
import re
import shutil
import subprocess

import pytest

from ptxsim.types import TARGETS, parse_target
from tests.isa.generate import Generator, prelude

VERSIONS = [(6, n) for n in range(3, 6)] + [(7, n) for n in range(9)] + [(8, n) for n in range(9)] + [(9, 0)]
MODULES, STATEMENTS = 10, 30

pytestmark = pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not on this machine's PATH")


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
    known = [name for name, _ in TARGETS.items() if parse_target(name).number >= 75]
    while True:
        target, version = rng.choice(known), rng.choice(VERSIONS)
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

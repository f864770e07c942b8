"""Ten classic bank conflicts: the fixes that `banks` proposes give the promised count, in the twin file and applied to the text."""

import re

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import SAMPLES

CONFLICTS = SAMPLES / "conflicts"
FILES = sorted(path for path in CONFLICTS.glob("*.ptx") if not path.stem.endswith("_fixed"))
SWIZZLE = "shr.u32 %t3, %at, 3;\nand.b32 %t3, %t3, {mask:#x};\nxor.b32 %at, %at, %t3;\n"
CROSSED = """sub.u32 %at, %at, %tile;
shr.u32 %t3, %at, {shift};
and.b32 %t3, %t3, {mask};
xor.b32 %at, %at, %t3;
add.u32 %at, %at, %tile;
"""
LONGER = """sub.u32 %t3, %at, %tile;
div.u32 %t3, %t3, {pitch};
mad.lo.u32 %at, %t3, {extra}, %at;
"""
MASKS = {"32B": 0x10, "64B": 0x30, "128B": 0x70}  # address bits 7 and up, put on bit 4 and up


def conflicting(source, engine=None):
    """The one row of the file whose instruction is the subject: the last shared access."""
    return run_file(source, options=Options(banks=True, engine=engine)).run.banks.rows[-1]


def applied(text: str, line: int, fix: str) -> str:
    """The file with one proposed fix in the code that makes the address of the access at `line`."""
    lines = text.splitlines(keepends=True)
    if found := re.match(r"row pitch (\d+) B", fix):
        at = max(i for i in range(line) if "mad.lo.u32" in lines[i])
        lines[at] = re.sub(r", \d+, %tile;", f", {found[1]}, %tile;", lines[at])
    elif found := re.match(r"swizzle (\d+B)", fix):
        lines.insert(line - 1, SWIZZLE.format(mask=MASKS[found[1]]))
    elif found := re.match(r"swizzle offset \^ \(offset >> (\d+) & (0x\w+)\)", fix):
        lines.insert(line - 1, CROSSED.format(shift=found[1], mask=found[2]))
    elif found := re.match(r"(\d+) B more after every (\d+) B", fix):
        lines.insert(line - 1, LONGER.format(extra=found[1], pitch=found[2]))
    elif fix.startswith("no swizzle"):
        lines = [text for text in lines if "xor.b32" not in text]
    elif fix.startswith("one word a lane"):
        lines.insert(line - 1, "mad.lo.u32 %at, %lane, 4, %tile;\n")
    else:
        raise AssertionError(f"no way is known to apply {fix!r}")
    # The directive speaks of the count before.
    return "".join(text for text in lines if "expect banks.worst" not in text)


@pytest.mark.thin(5)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_proposed_fix_gives_the_promised_count(path):
    before, after = conflicting(path), conflicting(path.with_stem(path.stem + "_fixed"))
    promised = {int(count) for fix in before.fixes for count in re.findall(r"-> (\d+) wavefront", fix)}
    assert before.worst > 1 and before.why
    assert after.worst == 1
    assert after.wavefronts // after.runs in promised


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_proposed_fix_applied_gives_the_promised_count(path, engine):
    text = path.read_text()
    before = conflicting(path, engine)
    assert before.fixes
    for fix in before.fixes:
        promised, now = map(int, re.search(r"-> (\d+) wavefronts? instead of (\d+)", fix).groups())
        changed = applied(text, before.line, fix)
        assert changed != text
        after = conflicting(Source(changed, path.name), engine)
        assert (before.wavefronts, after.wavefronts) == (before.runs * now, after.runs * promised), fix
        assert after.runs == before.runs and promised < now


def test_there_are_ten():
    assert len(FILES) == 10

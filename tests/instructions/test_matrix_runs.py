"""Every product the assembler takes (tests/data/matrix_forms.tsv) runs, on random registers."""

import re

import numpy as np
import pytest

import ptxsim

from .test_matrix_forms import COLUMNS, ROWS

ANSWERS = [line.split("\t") for line in ROWS]
ALLOWED = {"sparse-metadata"}  # what is reported of random metadata
# Words and operands that the assembler takes and the manual does not have; a word of old versions.
ODD = re.compile(
    r"popc\.s32\.[us]4|kind::(?!f8f6f4|mx)|m8n8k4\S*\.(bf16|tf32)|kind::mx(?!.*block_scale)|m16n16k8\S*f64"
    r"|^wgmma.*(\}|rd\d), \d+, (rd|r1|p|\d)"  # a descriptor of nothing but a start
    r"|\.f(16|32)\.satfinite|\{[^}]*\bp\d|^mma.* p\d|\bp\d+, \d+, !?p\d"
)


def run(text: str, target: str) -> list[str]:
    rng = np.random.default_rng(len(text))
    warps = 4 if text.startswith("wgmma") else 1
    descriptor = ptxsim.Descriptor(start=0x400, leading=128, stride=256, swizzle="none").encode()
    registers = {}
    for name in set(re.findall(r"\b([a-z]{1,2}\d+)\b", text.partition(" ")[2])):
        kind = name.rstrip("0123456789")
        if kind in ("rd", "ud", "sd"):
            registers[name] = descriptor
        elif kind in ("f", "d"):
            registers[name] = rng.standard_normal((warps, 32)).astype("f4" if kind == "f" else "f8")
        elif kind in ("r", "u", "s", "xx"):
            registers[name] = rng.integers(0, 2**32, (warps, 32), dtype=np.uint32)
    predicates = "".join(f"setp.eq.u32 {p}, 0, 0;\n" for p in sorted(set(re.findall(r"\bp\d+\b", text))))
    body = f"{predicates}{text}\n"
    if warps == 4:
        body = f"wgmma.fence.sync.aligned;\n{body}wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    shared = rng.integers(0, 256, 40000, dtype=np.uint8)
    return [f.name for f in ptxsim.snippet(body, registers, shared, warps=warps, target=target).findings]


@pytest.mark.thin(6)
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=["@".join(column) for column in COLUMNS])
def test_products_run(column):
    target = COLUMNS[column][0]
    wrong, count = {}, 0
    for answers, text in ANSWERS:
        if answers[column] == "n" or not re.match(r"w?g?mma\.(mma|sp|sync)", text) or ODD.search(text):
            continue
        count += 1
        found = set(run(text, target)) - ALLOWED
        if found:
            wrong[text] = found
    assert count > 0 and not wrong

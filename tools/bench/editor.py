"""Milliseconds from edits to their diagnostics, of hover and completion meanwhile, in a kernel of 5,000 lines, over the standard
streams of `ptxsim lsp`: tools/bench/editor.py [FILE] (extra `editor`)."""

import asyncio
import contextlib
import os
import re
import statistics
import sys
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from lsprotocol import types

from tests.editor.client import Client

LINES, ROUNDS = 5000, 5
WAITS = 0.05, 0.15, 0.1, 0.1, 0.4  # seconds between questions


def kernel(lines: int) -> str:
    """A kernel of one long block, of the instructions that compilers write most."""
    body = [
        "\tmad.lo.s32 %r{0}, %r{1}, 4, %r{2};", "\tld.shared.v4.b32 {{%r{0}, %r{1}, %r{2}, %r{3}}}, [%r{1}+{0}];",
        "\tfma.rn.f32 %f{0}, %f{1}, %f{2}, %f{3};", "\tsetp.lt.u32 %p1, %r{0}, %r{1};",
        "\t@%p1 st.global.b32 [%rd1+{0}], %r{3};",
        "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f{0}, %f{1}, %f{2}, %f{3}}}, "
        "{{%r{0}, %r{1}, %r{2}, %r{3}}}, {{%r{0}, %r{1}}}, {{%f{0}, %f{1}, %f{2}, %f{3}}};",
    ]  # fmt: skip
    head = (
        ".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry k()\n{\n\t.reg .pred %p<2>;\n"
        "\t.reg .b32 %r<5000>;\n\t.reg .f32 %f<5000>;\n\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, 0;\n"
    )
    rows = [body[i % len(body)].format(*((i * 7 + j * 13) % 5000 for j in range(4))) for i in range(lines - 13)]
    return head + "\n".join(rows) + "\n\tret;\n}\n"


EDITS = {  # what takes the place of a line: each is typed and taken back
    "a misspelt opcode": lambda row: [row.replace("mad", "mda")],
    "a new label": lambda row: [row, "again:"],
    "a new declaration": lambda row: [row, "\t.reg .b32 %sum;"],
    "a half-typed line": lambda row: [row, "\tadd.u32 %r1, "],
    "a line deleted": lambda row: [],
    "100 lines pasted": lambda row: [row] * 101,
    "an opening brace": lambda row: [row, "{"],
    "an older target": None,
    "a smaller family": None,
}


def edits(text: str, round: int) -> Iterator[tuple[str, str]]:
    """Names of edits and the texts that they lead to."""
    rows = text.split("\n")
    place = [i for i, row in enumerate(rows) if "mad.lo" in row or "mul" in row][40 + 20 * round]
    for name, change in EDITS.items():
        if change is not None:
            yield name, "\n".join(rows[:place] + change(rows[place]) + rows[place + 1 :])
    yield "an older target", re.sub(r"(?m)^\.target sm_\w+", ".target sm_60", text, count=1)
    yield "a smaller family", re.sub(r"(\.b32\s+%r)<\d+>", r"\1<9>", text, count=1)


def difference(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int], str]:
    """The lines of one text that give way to a piece of the other, as an editor tells them."""
    one, other = old.split("\n"), new.split("\n")
    head = next(i for i, (a, b) in enumerate(zip(one, other)) if a != b)
    most = min(len(one), len(other)) - head
    tail = next((i for i in range(most) if one[-1 - i] != other[-1 - i]), most)
    piece = "".join(f"{row}\n" for row in other[head : len(other) - tail])
    return (head, 0), (len(one) - tail, 0), piece


class Times:
    """Milliseconds by the clock, by what was done."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {}
        self.spent: dict[str, list[float]] = {}

    async def take(self, name: str, work: Awaitable[object], pid: int | None = None) -> None:
        """Also the processor's milliseconds of a process, which other work on the machine leaves as they are."""
        before, start = processor(pid, children=False) if pid else 0.0, time.perf_counter()
        await work
        self.of.setdefault(name, []).append(1000 * (time.perf_counter() - start))
        if pid:
            self.spent.setdefault(name, []).append(1000 * (processor(pid, children=False) - before))

    def show(self) -> None:
        for name, times in self.of.items():
            spent = self.spent.get(name)
            print(
                f"{name:42} median {statistics.median(times):4.0f} ms  worst {max(times):4.0f} ms  of {len(times)}"
                + (f"  processor {statistics.median(spent):4.0f} ms" if spent else "")
            )


def processor(pid: int, children: bool = True) -> float:
    """Seconds that a process, with or without its children, has computed."""
    found = 0.0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parts = status.read_text().rpartition(")")[2].split()
            if int(status.parent.name) == pid or (children and int(parts[1]) == pid):
                found += (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return found


async def main(text: str) -> None:
    uri = "file:///long.ptx"
    version = 1
    times = Times()
    async with Client() as client:
        lsp = client.client
        process = lsp._server
        assert process is not None
        middle = text.count("\n") // 2

        async def said(old: str, new: str) -> None:
            nonlocal version
            version += 1
            client.change(uri, *difference(old, new), version)
            await client.diagnostics(uri, lambda found: client.versions[uri] == version)

        async def opened() -> None:
            client.open(uri, text)
            await client.diagnostics(uri)

        async def ask() -> None:
            hover, complete = client.at(uri, middle, 3), client.at(uri, middle, 8)
            await times.take("  hover then", lsp.text_document_hover_async(types.HoverParams(**hover)))
            await times.take("  completion", lsp.text_document_completion_async(types.CompletionParams(**complete)))

        await times.take("opened to first diagnostics", opened())
        await asyncio.sleep(3)  # the process that reads whole texts has begun
        before, keys = processor(process.pid), 0
        for round in range(ROUNDS):
            for name, new in edits(text, round):
                for what, old, typed in ((name, text, new), (f"{name}, taken back", new, text)):
                    keys += 1
                    await times.take(what, said(old, typed), process.pid)
                    await ask()
                    # The whole file is read after a pause: people ask before, in and after that.
                    for wait in WAITS[(keys % len(WAITS)) :]:
                        await asyncio.sleep(wait)
                        await ask()
        spent = processor(process.pid) - before
    times.show()
    print(
        f"processor time of the server and its process: {1000 * spent / keys:.0f} ms for a key with all that was asked"
    )


if __name__ == "__main__":
    given = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else kernel(LINES)
    print(f"{given.count(chr(10))} lines")
    asyncio.run(main(given))

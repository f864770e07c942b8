"""Milliseconds from a key to its diagnostics, and of a hover, in a kernel of 5,000 lines, over the standard streams of
`ptxsim lsp`: tools/bench/editor.py [FILE] (extra `editor`)."""

import asyncio
import operator
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from lsprotocol import types

from tests.editor.client import Client, place_of

LINES, KEYS = 5000, 40
BETWEEN = 0.05, 0.1, 0.2, 0.4, 1.5  # seconds between keys


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


async def main(text: str) -> None:
    uri = "file:///long.ptx"
    line, column = place_of(text, "mad.lo.s32", 0, 300)
    async with Client() as client:
        start = time.perf_counter()
        client.open(uri, text)
        await client.diagnostics(uri)
        print(f"first diagnostics {1000 * (time.perf_counter() - start):.0f} ms")
        keys, hovers = [], []
        for number in range(KEYS):
            said = {True: bool, False: operator.not_}[number % 2 == 0]
            start = time.perf_counter()
            client.change(uri, (line, column), (line, column + 3), "mda" if said is bool else "mad", number + 2)
            await client.diagnostics(uri, said)
            keys.append(1000 * (time.perf_counter() - start))
            # The whole file is read after a pause: keys come before, in and after that.
            await asyncio.sleep(BETWEEN[number % len(BETWEEN)])
            start = time.perf_counter()
            await client.client.text_document_hover_async(types.HoverParams(**client.at(uri, line + 1, 3)))
            hovers.append(1000 * (time.perf_counter() - start))
        print(f"key to diagnostics: median {statistics.median(keys):.0f} ms, worst {max(keys):.0f} ms")
        print(f"hover: median {statistics.median(hovers):.0f} ms, worst {max(hovers):.0f} ms")


if __name__ == "__main__":
    given = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else kernel(LINES)
    print(f"{given.count(chr(10))} lines")
    asyncio.run(main(given))

"""PTX texts gone wrong: bytes, tokens and lines of the repository's own files changed, and constants within legal ones."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("samples", "tests/cases", "tests/data/ptx", "tests/robustness/found")
SHORT = 2500  # characters: nine of ten texts are made from files no longer than this, read in milliseconds

TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|[.%$]?[\w$]+(?:\.[\w:]+)*|\s+|.", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.%$])-?(?:0[xX][0-9a-fA-F]+|0[fFdD][0-9a-fA-F]+|\d+(?:\.\d+)?)U?(?![\w.])")
# fmt: off
NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "16", "31", "32", "33", "63", "64", "127", "128", "255", "256", "1023", "1024", "1025", "4096", "65535", "65536",
    "0x7fffffff", "0x80000000", "0xffffffff", "0x100000000", "-2147483648", "-2147483649", "0x7fffffffffffffff", "0x8000000000000000",
    "0xffffffffffffffff", "0x10000000000000000", "-9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "1.5", "0.0", "1e999",
    "0f7FC00000", "0fFF800000", "0f00000001", "0d7FF0000000000000", "0f3F80", "010", "08", "0b11", "0b2", "0x", "1U", "1<<63",
)
WORDS = (
    "{", "}", "[", "]", "(", ")", ";", ",", ":", "@", "@!", "<", ">", "|", "!", "+", "-", "*", "/", "=", ".", "%", "$", "_", ".entry", ".func",
    ".visible", ".extern", ".weak", ".reg", ".shared", ".global", ".local", ".param", ".const", ".align", ".b8", ".u32", ".f32", ".f16x2", ".pred",
    ".version", ".target", ".address_size", ".loc", ".file", ".section", ".branchtargets", ".pragma", ".maxntid", ".reqntid", ".noreturn", ".v4",
    ".ptr", "%r0", "%p", "%tid.x", "%laneid", "%clock64", "WARP_SZ", "ret", "exit", "bar.sync", "bra", "call", "trap", "nop", "//", "/*", "*/", '"',
    "\\", "#", "\0", "\ufeff", "\ud7ff", "é",
)
# fmt: on


@cache
def files() -> tuple[tuple[Path, str], ...]:
    """The PTX files of the repository and what they hold; nothing changes that depends on the order of a folder."""
    found = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.ptx"))
    return tuple((path, path.read_text(errors="replace")) for path in found)


@cache
def _short() -> tuple[str, ...]:
    return tuple(text for _, text in files() if len(text) <= SHORT)


def some_text(rng: random.Random) -> str:
    """A file of the repository, a short one mostly."""
    short = rng.random() < 0.9
    return str(rng.choice(_short()) if short else rng.choice(files())[1])


def of_bytes(rng: random.Random) -> str:
    """Bytes changed, left out, repeated, cut off."""
    data = bytearray(some_text(rng).encode())
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        place = rng.randrange(len(data)) if data else 0
        match rng.randrange(6):
            case 0:
                data[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del data[place : place + rng.choice((1, 1, 4, 64))]
            case 2:
                data[place:place] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 2, 8))))
            case 3:
                if data:
                    data[place % len(data)] ^= 1 << rng.randrange(8)
            case 4:
                piece = data[place : place + rng.choice((4, 16, 200))]
                data[place:place] = piece * rng.choice((1, 2, 50))
            case _:
                if rng.random() < 0.2:
                    del data[place:]
    return data.rstrip(b"\0").decode("utf-8-sig", errors="replace")


def of_tokens(rng: random.Random) -> str:
    """Tokens exchanged, left out, repeated, replaced by others and by numbers at the edges of types."""
    tokens = TOKEN.findall(some_text(rng))
    others = TOKEN.findall(some_text(rng))
    for _ in range(rng.choice((1, 1, 1, 2, 4, 10))):
        if not tokens:
            break
        place = rng.randrange(len(tokens))
        match rng.randrange(7):
            case 0:
                del tokens[place]
            case 1:
                tokens.insert(place, tokens[place])
            case 2:
                other = rng.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = rng.choice(others)
            case 4:
                tokens[place] = rng.choice(NUMBERS)
            case 5:
                tokens[place] = rng.choice(WORDS)
            case _:
                tokens[place:place] = [rng.choice(WORDS)] * rng.choice((1, 1, 3, 300))
    return "".join(tokens)


def of_lines(rng: random.Random) -> str:
    """Lines left out, repeated, moved, and taken from other files."""
    lines, others = some_text(rng).split("\n"), some_text(rng).split("\n")
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        place = rng.randrange(len(lines)) if lines else 0
        count = rng.choice((1, 1, 2, 8))
        match rng.randrange(6):
            case 0:
                del lines[place : place + count]
            case 1:
                lines[place:place] = lines[place : place + count] * rng.choice((1, 1, 2, 100))
            case 2:
                moved = lines[place : place + count]
                del lines[place : place + count]
                other = rng.randrange(len(lines) + 1)
                lines[other:other] = moved
            case 3:
                other = rng.randrange(len(others))
                lines[place:place] = others[other : other + count]
            case 4 if lines:
                lines[place % len(lines)] = lines[place % len(lines)].replace(";", "").replace("\t", "")
            case _:
                if lines:
                    lines[place % len(lines)] += rng.choice(WORDS) * rng.choice((1, 2, 5000))
    return "\n".join(lines)


def _swap_numbers(text: str, rng: random.Random) -> str:
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(NUMBERS) + text[match.end() :]


def _swap_registers(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"%[A-Za-z_]\w*", text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(found)[0] + text[match.end() :]


def _swap_words(text: str, rng: random.Random) -> str:
    """A modifier of one opcode in place of one of another."""
    found = list(re.finditer(r"(?<=\w)\.[a-z]\w*(?:::\w+)?", text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(found)[0] + text[match.end() :]


def _drop_statement(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"^[ \t]+(?!\.)[^;{}\n]*;", text, re.MULTILINE))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + text[match.end() :]


def _guard(text: str, rng: random.Random) -> str:
    """A predicate turned round, or branches that lead elsewhere."""
    found = list(re.finditer(r"@!?|\bbra(?:\.uni)?\s+(\S+);", text))
    if not found:
        return text
    match = rng.choice(found)
    if match[1] is None:
        return text[: match.start()] + ("@" if match[0] == "@!" else "@!") + text[match.end() :]
    labels: list[str] = re.findall(r"^\s*([\w$]+):", text, re.MULTILINE) or [match[1]]
    return text[: match.start(1)] + rng.choice(labels) + text[match.end(1) :]


_MEANT: tuple[Callable[[str, random.Random], str], ...] = (
    _swap_numbers, _swap_numbers, _swap_registers, _swap_words, _drop_statement, _guard,
)  # fmt: skip


def of_meaning(rng: random.Random) -> str:
    """Text that mostly still binds, and does something else: other constants, registers, modifiers, branches."""
    text = some_text(rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice(_MEANT)(text, rng)
    return text


def of_structure(rng: random.Random) -> str:
    """What is long, deep or large: lines, nesting, counts, arrays, names."""
    much = rng.choice((10, 100, 1000, 20_000))
    deep = rng.choice((10, 200, 3000))
    bodies: dict[int, Callable[[], str]] = {
        0: lambda: "{" * deep + "ret;" + "}" * rng.choice((deep, deep - 1)),
        1: lambda: "mov.u32 %r, " + "(" * deep + "1" + ")" * deep + ";",
        2: lambda: "mov.u32 %r, " + "+".join(["1"] * much) + ";",
        3: lambda: "mov.u32 %r, " + "-" * deep + "1;",
        4: lambda: "ret; " * much,
        5: lambda: f".reg .b32 %x<{rng.choice(NUMBERS)}>;",
        6: lambda: f".shared .b8 s[{rng.choice(NUMBERS)}];",
        7: lambda: f".local .align {rng.choice(NUMBERS)} .b8 l[{rng.choice(NUMBERS)}];",
        8: lambda: f".reg .b32 %{'x' * much}; mov.u32 %{'x' * much}, 1;",
        9: lambda: "".join(f"L{n}: " for n in range(much)) + "ret;",
        10: lambda: "@%p " * deep + "ret;",
        11: lambda: "mov.u32 %r, 1 ? " * min(deep, 1000) + "1" + " : 2" * min(deep, 1000) + ";",
        12: lambda: "t: .branchtargets " + ", ".join(["L"] * much) + "; L: brx.idx %r, t;",
        13: lambda: f"ld.shared.u32 %r, [%r+{rng.choice(NUMBERS)}];",
        14: lambda: (
            f"mov.u32 %r, {rng.choice(NUMBERS)} {rng.choice(('<<', '>>', '*', '/', '%', '+'))} {rng.choice(NUMBERS)};"
        ),
    }
    outsides: dict[int, Callable[[], str]] = {
        0: lambda: "",
        1: lambda: f".global .b8 g[{rng.choice(NUMBERS)}];",
        2: lambda: f".global .b8 g{'[1024]' * rng.choice((1, 3, 7, 40))};",
        3: lambda: (
            f".const .align {rng.choice(NUMBERS)} .b32 g[{rng.choice(NUMBERS)}] = {{{', '.join(['1'] * min(much, 3000))}}};"
        ),
        4: lambda: ".global .u32 g = " + "{" * min(deep, 500) + "1" + "}" * min(deep, 500) + ";",
        5: lambda: f".global .u64 g = {rng.choice(NUMBERS)};",
        6: lambda: "".join(f".global .u32 g{n};\n" for n in range(min(much, 2000))),
        7: lambda: f'.file 1 "{"x" * much}"\n.section .debug_str {{ .b8 {", ".join(["0"] * min(much, 3000))} }}',
        8: lambda: f".func (.param .b32 r) f(.param .b8 a[{rng.choice(NUMBERS)}]) {{ call (r), f, (a); ret; }}",
        9: lambda: ("/*" + "x" * much + "*/") + "//" + "y" * much,
    }
    body, outside = bodies[rng.randrange(15)](), outsides[rng.randrange(10)]()
    directives = f".maxntid {rng.choice(NUMBERS)}" if rng.random() < 0.2 else ""
    return (
        f"// ptxsim: launch grid=1 block=32\n.version {rng.choice(('8.0', '8.0', '8.6', rng.choice(NUMBERS)))}\n"
        f".target {rng.choice(('sm_80', 'sm_90a', 'sm_100a', 'sm_' + rng.choice(NUMBERS)))}\n.address_size 64\n{outside}\n"
        f".visible .entry k() {directives}\n{{ .reg .pred %p; .reg .b32 %r;\n{body}\nret; }}\n"
    )

"""Directives and expressions that nobody would write, on a kernel that copies; command lines likewise."""

from __future__ import annotations

import random

from fuzzing.texts import NUMBERS, files
from ptxsim.arrays import MAKERS
from ptxsim.cli.commands import COMMANDS
from ptxsim.diagnostic import KINDS
from ptxsim.session.ptxfile.expressions import BANK_COUNTS, METRICS
from ptxsim.session.ptxfile.functions import functions
from ptxsim.types import DTYPES, TARGETS

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 A, .param .u64 B, .param .u32 n)
{
    .reg .b32 %r, %i, %n; .reg .b64 %a, %b, %o; .reg .pred %p;
    ld.param.u64 %a, [A];
    ld.param.u64 %b, [B];
    ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mul.wide.u32 %o, %i, 4;
    add.u64 %a, %a, %o;
    add.u64 %b, %b, %o;
    ld.global.u32 %r, [%a];
    st.global.u32 [%b], %r;
    ret;
}
"""
SIZES = (
    "0",
    "1",
    "2",
    "16",
    "64",
    "1000",
    "65536",
    "1073741824",
    "1073741825",
    "4294967296",
    "-1",
    "0x10",
    "1e3",
    "",
    "x",
    "9" * 30,
)
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "and",
    "or",
]
ODD = (
    "",
    " ",
    "(",
    ")",
    ",",
    "=",
    ":",
    "==",
    "'",
    '"',
    "\\",
    "\0",
    "\u0660",
    "é",
    "/dev/zero",
    "nothing.npy:f32",
    "tensormap(A, box=16)",
)


def of_directives(rng: random.Random) -> str:
    """Lines of directives before a kernel; two of three or so can be understood."""
    lines = [f"launch grid={_few(rng)} block={rng.choice(('32', '64', _shape(rng)))}"]
    lines += [f"arg {name} = {_initialiser(rng)}" for name in ("A", "B")]
    lines += [f"arg n = {rng.choice(('32', rng.choice(NUMBERS)))}"]
    for _ in range(rng.choice((1, 1, 2, 3))):
        lines.append(_line(rng))
    if rng.random() < 0.2:
        rng.shuffle(lines)
    if rng.random() < 0.2:
        place = rng.randrange(len(lines))
        at = rng.randrange(len(lines[place]) + 1)
        lines[place] = (
            lines[place][:at] + rng.choice(ODD) * rng.choice((1, 1, 100)) + lines[place][at + rng.randrange(3) :]
        )
    return "\n".join(f"// ptxsim: {line}" for line in lines) + KERNEL


def _few(rng: random.Random) -> str:
    return "1" if rng.random() < 0.7 else _shape(rng)


def _shape(rng: random.Random) -> str:
    return rng.choice((",", ",", "x", " ")).join(rng.choice(SIZES[:7] + NUMBERS[:3]) if rng.random() < 0.8 else rng.choice(SIZES) for _ in range(rng.choice((1, 1, 2, 3, 4))))  # fmt: skip


def _type(rng: random.Random) -> str:
    return rng.choice(("f32", "f32", "u32", rng.choice(sorted(DTYPES)), "f31"))


def _initialiser(rng: random.Random) -> str:
    if rng.random() < 0.15:
        return rng.choice((rng.choice(NUMBERS), rng.choice(ODD), f"tensormap({_initialiser(rng)}, box={rng.choice(SIZES)}x{rng.choice(SIZES)})"))  # fmt: skip
    sizes = ",".join(
        rng.choice(("64", "64", "8", "128", rng.choice(SIZES))) for _ in range(rng.choice((1, 1, 2, 3, 40)))
    )
    seed = f",seed={rng.choice(NUMBERS)}" if rng.random() < 0.3 else ""
    return f"{rng.choice(sorted(MAKERS))}({sizes}{seed}):{_type(rng)}"


def _line(rng: random.Random) -> str:
    match rng.randrange(10):
        case 0:
            name = rng.choice(sorted(KINDS))
            return f"expect {name}" + rng.choice(("", " at 3", f" at {rng.choice(NUMBERS)}", " at line x"))
        case 1:
            return rng.choice(
                (
                    f"seed {rng.choice(NUMBERS)}",
                    f"target {rng.choice([*TARGETS, 'sm_1'])}",
                    f"launch entry={rng.choice(ODD)}",
                )
            )
        case 2:
            option = rng.choice(("grid", "block", "cluster", "shared_mem", "warps"))
            return f"launch {option}={_shape(rng) if rng.random() < 0.5 else rng.choice(NUMBERS)}"
        case 3:
            return f"arg {rng.choice(('A', 'C', 'n', 'in', '1', ''))} = {_initialiser(rng)}"
        case _:
            return f"expect {comparison(rng)}"


def comparison(rng: random.Random) -> str:
    """An expectation."""
    tolerance = f" {rng.choice(('rtol', 'atol', 'tol'))}={rng.choice(NUMBERS)}" if rng.random() < 0.2 else ""
    operator = rng.choice(("==", "==", "<", "!=", "<=", rng.choice(OPERATORS)))
    return f"{expression(rng, 3)} {operator} {expression(rng, 4)}{tolerance}"


def expression(rng: random.Random, depth: int) -> str:
    """Something of the language of expectations."""
    if depth == 0 or rng.random() < 0.25:
        return rng.choice((
            "A", "B", "A_in", "n", "A", rng.choice(NUMBERS), rng.choice(NUMBERS), "[1, 2]", "True", "None", "'x'", "...",
            f"{rng.choice(METRICS)}", f"banks.{rng.choice(BANK_COUNTS)}", "1e308", "10**100000", "(2, 3)",
        ))  # fmt: skip
    inner = [expression(rng, depth - 1) for _ in range(3)]
    match rng.randrange(9):
        case 0 | 1 | 2:
            return f"({inner[0]} {rng.choice(OPERATORS)} {inner[1]})"
        case 3:
            return f"{inner[0]}.T"
        case 4:
            return f"{rng.choice('-+~')}{inner[0]}"
        case 5:
            return f"{inner[0]}[{rng.choice((inner[1], f'{inner[1]}:{inner[2]}', '::-1', ':, None', '...'))}]"
        case 6:
            arguments = ", ".join(inner[: rng.randrange(4)])
            keyword = rng.choice(("", "", f", axis={inner[2]}", ", keepdims=True", ", out=A"))
            return f"{rng.choice(sorted(functions()))}({arguments}{keyword})"
        case 7:
            return f"{rng.choice(sorted(functions()))}({inner[0]}, {rng.choice(SIZES)})"
        case _:
            return f"({inner[0]}) ** ({rng.choice(NUMBERS)})"


OPTIONS = {
    "--grid": SIZES, "--block": SIZES, "--cluster": SIZES, "--shared-mem": NUMBERS, "--target": (*TARGETS, "x"), "--seed": NUMBERS,
    "--schedules": ("1", "2", "0", "-1", "x"), "--jobs": ("1", "2", "0", "x"), "--max-steps": ("1", "1000", "0", "x"),
    "--engine": ("interpreter", "compiled", "x"), "--checks": ("all", "memory", "none", "x"), "--select": (*KINDS, "x"),
    "--ignore": (*KINDS, "PTX001"), "--format": ("full", "concise", "json", "github", "sarif", "sanitizer", "x"),
    "--registers": NUMBERS, "--compiler-flags": ODD, "--print": ("12:%r", "12:%nowhere", "0:x", "x", "12:%r:f32@cta0.warp0.time1", "12:%r@"),
    "--against": ODD, "--sms": ("1", "2", "all", "0", "x"),
}  # fmt: skip


def of_commands(rng: random.Random) -> list[str]:
    """A command line."""
    command = rng.choice(("run", "run", "run", "banks", "check", "layout", "desc", "explain", "isa", *COMMANDS, "rnu"))
    if command in ("layout", "isa", "desc", "explain"):
        return [command, *_questions(command, rng)]
    if command == "exec":  # runs whatever it is given
        return ["exec", rng.choice(("nothing", "", "/", "."))]
    words = [command, str(rng.choice(files())[0]) if rng.random() < 0.8 else rng.choice((*ODD, "/", "/dev/null", "."))]
    if command == "check":
        return words
    for _ in range(rng.choice((0, 1, 2, 4))):
        match rng.randrange(5):
            case 0:
                words += [
                    "--arg",
                    rng.choice(("A=", "", "n=", "0=")) + rng.choice((_initialiser(rng), rng.choice(NUMBERS))),
                ]
            case 1:
                words += ["--expect", comparison(rng)]
            case 2:
                words += ["--fail-on", comparison(rng)]
            case _:
                option = rng.choice(sorted(OPTIONS))
                words += [option, rng.choice(list(OPTIONS[option]))]
    if not any(word == "--max-steps" for word in words):
        words += ["--max-steps", "2000"]
    return words


_FORMS = (
    "mma.m16n8k16.f16", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "wgmma.m64n8k16.f32.f16.f16", "wmma.m16n16k16", "mma", "mma.m8n8k4",
    "ldmatrix.x4", "ldmatrix", "stmatrix", "mma.sp", "128B", "add", "", "wmma.load.a", "tcgen05.mma", "movmatrix",
)  # fmt: skip


def _questions(command: str, rng: random.Random) -> list[str]:
    """What layout, desc, explain and isa are asked."""
    if command == "layout":
        words = [rng.choice(_FORMS)]
        for option, values in (
            ("--operand", ["A", "B", "C", "D", "E", "M"]),
            ("--lane", NUMBERS),
            ("--layout", ("row", "col", "x")),
        ):
            if rng.random() < 0.5:
                words += [option, rng.choice(list(values))]
        return words
    if command == "desc":
        fields = [
            f"{name}={rng.choice((*NUMBERS, '128B', '32B', 'none'))}"
            for name in ("start", "leading", "stride", "swizzle", "base_offset", "x")
        ]
        return [rng.choice((rng.choice(NUMBERS), hex(rng.getrandbits(64)), " ".join(rng.sample(fields, 3))))]
    if command == "explain":
        return [rng.choice((*KINDS, "PTX001", "PTX999", "x", ""))]
    return [rng.choice((*_FORMS, "*", "[", "mma.*", ".f16", "ld.[")), *(["--missing"] if rng.random() < 0.3 else [])]

"""`ptxsim desc`."""

from __future__ import annotations

import re
from typing import Any

import click

_KINDS = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
_FIELDS = ("start", "leading", "stride", "swizzle", "base_offset")


@click.command("desc")
@click.argument("words", nargs=-1, required=True, metavar="HEX|FIELDS...")
@click.option("--major", type=click.Choice(["K", "MN"], case_sensitive=False), default="K", help="How the tile lies.")
@click.option("--reads", is_flag=True, help="Draw what one wgmma reads through it.")
@click.option("--rows", type=click.IntRange(8, 256), default=64, help="Rows of the operand (64 for A, N for B).")
@click.option("--bits", type=click.Choice(["8", "16", "32"]), default="16", help="Width of an element.")
@click.option("--format", "format", type=click.Choice(["text", "json", "svg", "latex"]), default="text")
@click.option("--tcgen05", "is_tensor", is_flag=True, help="A matrix descriptor of sm_100 and later.")
@click.option("--kind", type=click.Choice(_KINDS), help="An instruction descriptor of tcgen05.mma of this kind.")
def command(
    words: tuple[str, ...], major: str, reads: bool, rows: int, bits: str, format: str, is_tensor: bool, kind: str | None
) -> int:  # fmt: skip
    """Decode a matrix descriptor (of wgmma; of tcgen05 with --tcgen05), or build one from fields.

    HEX is the 64-bit value: 0x4000004000010040. FIELDS are bytes: start=0x400 stride=1024 swizzle=128B, and leading (16)
    and base_offset (0). swizzle is none, 32B, 64B or 128B, with --tcgen05 also 128B_32B (pieces of 32 bytes).

    With --kind, the 32-bit instruction descriptor of tcgen05.mma: 0x08100010, or m=128 n=64 a=f16 b=f16 d=f32.
    """
    from ptxsim.layout.descriptor import Descriptor
    from ptxsim.layout.tensor_descriptor import TensorDescriptor
    from ptxsim.report.layouts import descriptor_record, descriptor_table, problems

    text = " ".join(words).replace(",", " ")
    if kind is not None:
        return _instruction(text, kind)
    made: type[Descriptor] = TensorDescriptor if is_tensor else Descriptor
    descriptor = made(**_read_fields(text)) if "=" in text else made.decode(_number(text))
    if format == "json":
        import json

        click.echo(json.dumps(descriptor_record(descriptor, major, rows, int(bits))))
    elif format == "text":
        if "=" in text:
            click.echo(f" {descriptor.encode():#018x}")
        click.echo(descriptor_table(descriptor, major))
        if problems(descriptor):
            click.echo(problems(descriptor))
    if reads or format in ("svg", "latex"):
        from ptxsim.report.pictures import descriptor_reads
        from ptxsim.report.style import coloured, paint_for

        if format != "json":  # which has what it reads anyway
            drawing = descriptor_reads(descriptor, major, rows, int(bits))
            click.echo("\n" * (format == "text") + drawing.render(format, paint_for() is coloured))
    return 1 if descriptor.problems() else 0


def _instruction(text: str, kind: str) -> int:
    """Show an instruction descriptor."""
    from ptxsim.layout.instruction_descriptor import KINDS, InstructionDescriptor, decode, field_problem, shape_problem
    from ptxsim.report.layouts import instruction_table
    from ptxsim.spelling import did_you_mean

    words: InstructionDescriptor | str
    if "=" in text:
        row = KINDS[kind]
        factor, result = next(iter(row.factors.values())), "f32" if "f32" in row.d.values() or row.scales else "s32"
        fields: dict[str, Any] = {
            "m": 128, "n": 128, "a": factor, "b": factor, "d": result, "scale": next(iter((row.scales or {}).values()), ""),
        }  # fmt: skip
        names = [name for name, _, _ in row.fields if name != "k96"]
        for name, value in re.findall(r"([^\s=]+)\s*=\s*(\S+)", text):
            if name not in names:
                raise click.UsageError(f"An instruction descriptor has no field {name!r}; {did_you_mean(name, names)}")
            fields[name] = value if isinstance(fields.get(name), str) else _number(value)
        given = InstructionDescriptor(kind, k=row.k * (2 if fields.get("sparse") else 1), **fields)
        click.echo(f" {given.encode():#010x}")
        words = decode(given.encode(), kind)
    else:
        words = decode(_number(text), kind)
    if isinstance(words, str):
        click.echo(f" descriptor-invalid: {words}")
        return 1
    click.echo(instruction_table(words))
    wrong = [problem for ctas in (1, 2) if (problem := shape_problem(words, ctas))]
    if len(wrong) == 2 and shape_problem(words, 1, ws=True):
        click.echo(f" descriptor-invalid: {wrong[0]}")
        return 1
    if problem := field_problem(words):
        click.echo(f" descriptor-invalid: {problem}")
        return 1
    return 0


def _read_fields(text: str) -> dict[str, Any]:
    from ptxsim.spelling import did_you_mean

    fields: dict[str, Any] = {}
    for name, value in re.findall(r"([^\s=]+)\s*=\s*(\S+)", text):
        name = name.replace("-", "_")
        if name not in _FIELDS:
            raise click.UsageError(f"A descriptor has no field {name!r}; {did_you_mean(name, _FIELDS)}")
        if name == "swizzle":
            fields[name] = value if value == "none" else f"{value.upper().removesuffix('B')}B"
        else:
            fields[name] = _number(value)
    return fields


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        raise click.UsageError(f"{text!r} is no 64-bit number; write 0x4000004000010040 or start=0x400 stride=1024")
    return value

"""`ptxsim desc`."""

from __future__ import annotations

import re

import click

_NAMES = ("start", "leading", "stride", "swizzle", "base_offset")


@click.command("desc")
@click.argument("words", nargs=-1, required=True, metavar="HEX|FIELDS...")
def command(words: tuple[str, ...]) -> int:
    """Decode a wgmma matrix descriptor (0x4000004000010040), or build one from fields (start=0x400 stride=1024 swizzle=128B).

    Fields are bytes: start, leading (16), stride, swizzle (none, 32B, 64B, 128B), base_offset (0).
    """
    from ptxsim.layout.descriptor import Descriptor
    from ptxsim.report.layouts import descriptor_table, problems

    text = " ".join(words).replace(",", " ")
    if "=" in text:
        descriptor = Descriptor(**_fields(text))
        click.echo(f" {descriptor.encode():#018x}")
    else:
        descriptor = Descriptor.decode(_value(text))
    click.echo(descriptor_table(descriptor))
    if wrong := problems(descriptor):
        click.echo(wrong)
    return 1 if wrong else 0


def _fields(text: str) -> dict[str, int | str]:
    from ptxsim.session.spelling import did_you_mean

    fields: dict[str, int | str] = {}
    for name, value in re.findall(r"([^\s=]+)\s*=\s*(\S+)", text):
        name = name.replace("-", "_")
        if name not in _NAMES:
            raise click.UsageError(f"A descriptor has no field {name!r}; {did_you_mean(name, _NAMES)}")
        if name == "swizzle":
            fields[name] = value if value == "none" else f"{value.upper().removesuffix('B')}B"
        else:
            fields[name] = _value(value)
    return fields


def _value(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        raise click.UsageError(f"{text!r} is no 64-bit number; write 0x4000004000010040 or start=0x400 stride=1024")
    return value

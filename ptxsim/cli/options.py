"""Options that run, banks and profile share, and what they mean."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from ptxsim.cli.watch import OPTION
from ptxsim.report.formats import FORMATS

if TYPE_CHECKING:
    from ptxsim.session.ptxfile.file import Options


class OptionType(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click only
    """What the text of an option stands for."""


class Pattern(OptionType):
    """A regular expression."""

    name = "REGEX"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        try:
            re.compile(value)
        except re.error as error:
            self.fail(f"{value!r} is no regular expression: {error}", parameter, context)
        return value


class Flags(OptionType):
    """Words as a shell reads them."""

    name = "FLAGS"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        try:
            shlex.split(value)
        except ValueError as error:
            self.fail(f"{value!r} cannot be split into words: {str(error).lower()}", parameter, context)
        return value


class Dim3(OptionType):
    """X, X,Y or X,Y,Z."""

    name = "X[,Y,Z]"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from ptxsim.session.ptxfile.directives import parse_dim3

        try:
            return parse_dim3(value)
        except ValueError as error:
            self.fail(str(error), parameter, context)


class Size(OptionType):
    """A count of 0 or more, decimal or hexadecimal."""

    name = "N"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from ptxsim.session.ptxfile.directives import parse_size

        try:
            return value if isinstance(value, int) else parse_size(value)
        except ValueError as error:
            self.fail(str(error), parameter, context)


class Count(Size):
    """A count of 1 or more. most: the largest that there may be."""

    def __init__(self, most: int | None = None):
        self.most = most

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        count = super().convert(value, parameter, context)
        if count < 1 or (self.most is not None and count > self.most):
            legal = "of 1 or more" if self.most is None else f"from 1 to {self.most}"
            self.fail(f"{value!r} is not a number {legal}", parameter, context)
        return count


class Pair(OptionType):
    """NAME=VALUE."""

    def __init__(self, name: str):
        self.name = name

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        name, equals, text = value.partition("=")
        if not (name.strip() and equals and text.strip()):
            self.fail(f"{value!r} is not {self.name}", parameter, context)
        return name.strip(), text.strip()


class ArgumentValue(OptionType):
    """NAME=VALUE, POSITION=VALUE or VALUE."""

    name = "[NAME=]VALUE"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        named = re.match(r"\s*([A-Za-z_$%][\w$]*|[0-9]+)\s*=(?!=)\s*(.*)", value, re.DOTALL)
        name, text = named.groups() if named else ("", value)
        if not text.strip():
            self.fail(f"{value!r} is not NAME=VALUE", parameter, context)
        return name, text.strip()


class TargetName(OptionType):
    """sm_90a and the like."""

    name = "sm_90a"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from ptxsim.spelling import did_you_mean
        from ptxsim.types import TARGETS

        if value not in TARGETS:
            self.fail(f"{value!r} is no target; {did_you_mean(value, TARGETS)}", parameter, context)
        return value


_LAUNCH = [
    click.option("--grid", type=Dim3(), help="CTAs in the grid."),
    click.option("--block", type=Dim3(), help="Threads in a CTA."),
    click.option("--cluster", type=Dim3(), help="CTAs in a cluster."),
    click.option("--shared-mem", type=Size(), metavar="BYTES", help="Dynamic shared memory."),
    click.option(
        "--arg",
        "arguments",
        type=ArgumentValue(),
        multiple=True,
        help="A=ints(64,16):f16, A=a.npy:bf16, n=64; by position 0=64, or in order without a name.",
    ),
    click.option("--expect", "expects", metavar="EXPR", multiple=True, help="As in a file: 'C == A @ B rtol=1e-3'."),
    click.option("--out", "outputs", type=Pair("NAME=FILE"), multiple=True, help="Write an argument after the run."),
    click.option("--target", type=TargetName(), help="The machine that runs it (default: the file's)."),
    click.option("--compiler", type=click.Choice(["nvrtc", "nvcc"]), help="What compiles a .cu file."),
    click.option("--compiler-flags", type=Flags(), default="", help="More for it: '-DN=4 -Iinclude'."),
    click.option("--lineinfo/--no-lineinfo", "lineinfo", default=True, help="Show lines of CUDA or Python (default)."),
    click.option("--gpu", metavar="NAME", help="Whose cycles are predicted, as H100 (default: the target's own)."),
    click.option("--registers", type=Count(255), help="Registers of a thread, as ptxas -v says, for the cycle model."),
    click.option(
        "--cubin",
        type=click.Path(exists=True, dir_okay=False),
        help="Machine code of the same PTX, for the cycle model.",
    ),
    click.option("--engine", type=click.Choice(["compiled", "interpreter"]), help="How to run it."),
    click.option("--seed", type=Size(), help="Chooses data and the order of warps."),
    click.option("--schedules", type=Count(), default=1, help="Run and judge with N seeds, one after another."),
    click.option("--jobs", type=Count(), help="Threads for independent CTAs."),
    click.option("--max-steps", type=Count(), help="Stop after N warp instructions."),
    click.option("--max-seconds", type=Count(), help="Stop each run after N seconds (600)."),
    click.option("--max-memory", type=Count(), metavar="BYTES", help="Device memory that a launch may take (256 MiB)."),
]
_OUTPUT = [
    click.option("--checks", type=click.Choice(["all", "memory", "none"]), default="all", help="What to watch for."),
    click.option("--select", metavar="NAMES", help="Report only these findings."),
    click.option("--ignore", metavar="NAMES", help="Leave these findings out."),
    click.option(
        "--try-fixes",
        is_flag=True,
        help="Run again with each change that a finding proposes for a place in the text; say which help.",
    ),
    click.option("--fail-on", metavar="EXPR", help="Exit 1 if this holds: 'banks.worst > 1'."),
    click.option(
        "--against", metavar="OLD.json|FILE", help="Compare with an earlier --format json, or another kernel."
    ),
    click.option(
        "--print",
        "prints",
        metavar="LINE:OPERAND[:TYPE][@cta0.warp0.time1]",
        multiple=True,
        help="Show an operand at one execution.",
    ),
    click.option(
        "--why", multiple=True, metavar="NAME[INDEX]", help="Say who wrote an element, and what it depends on."
    ),
    click.option("--format", "format", type=click.Choice(FORMATS), default="full", help="How to print."),
    click.option("--report", metavar="OUT.html", help="Write one offline page."),
    click.option("--trace", metavar="OUT.pftrace", help="Write a Perfetto trace."),
    OPTION,
]


@dataclass(slots=True)
class Request:
    """Everything said on the command line of run, banks or profile; `options` are for the launch."""

    file: str
    entry: str | None
    compiler: str | None
    compiler_flags: str
    lineinfo: bool
    options: Options
    outputs: tuple[tuple[str, str], ...]
    select: str | None
    ignore: str | None
    try_fixes: bool
    fail_on: str | None
    against: str | None
    format: str
    report: str | None
    trace: str | None
    why: tuple[str, ...]


def in_order(arguments: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Arguments with names; those without one get their position among them."""
    position = 0
    for name, text in arguments:
        if name:
            yield name, text
        else:
            yield str(position), text
            position += 1


def launches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command FILE, ENTRY and the shared options; it receives them as one `request`, and its own by name."""

    def call(**given: Any) -> Any:
        from ptxsim.session.ptxfile.file import Options

        names = [field.name for field in fields(Request) if field.name != "options"]
        said = {name: given.pop(name) for name in names}
        own = {name: given.pop(name) for name in Options.__dataclass_fields__.keys() & given.keys()}
        own["arguments"] = dict(in_order(own["arguments"]))
        return function(Request(**said, options=Options(**own)), **given)

    call.__doc__ = function.__doc__
    call.__name__ = function.__name__
    call.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]  # where click looks for options
    for option in reversed([click.argument("file"), click.argument("entry", required=False), *_LAUNCH, *_OUTPUT]):
        call = option(call)
    return call

"""The arguments of a file's kernel: from its directives and --arg to what a launch takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxsim.arrays import bad
from ptxsim.demangle import demangle
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.initialiser import Initialiser, parse_initialiser
from ptxsim.session.parameter_names import names_at_hand
from ptxsim.session.ptxfile.directives import Argument, Directives
from ptxsim.source import Source, Span
from ptxsim.spelling import did_you_mean

if TYPE_CHECKING:
    from ptxsim.session.module import Kernel


@dataclass(frozen=True, slots=True)
class Arguments:
    """`given`: NAME or position -> initialiser, over what the file says; `most`: bytes that arrays may take (None: any).

    `written`: where the directives stand. Every method raises PtxError.
    """

    source: Source
    written: Source
    directives: Directives
    kernel: Kernel
    given: Mapping[str, str]
    most: int | None

    def names(self) -> list[str]:
        """One name per parameter: those of the directives, or those of the CUDA text, or the kernel's own."""
        known = names_at_hand(self.source, self.kernel.function)
        own = [known.get(parameter.name, parameter.name) for parameter in self.kernel.parameters]
        given = [argument.name for argument in self.directives.arguments]
        if len(given) > len(own):
            extra = self.directives.arguments[len(own)]
            problem = Finding(
                "bad-directive", f"{demangle(self.kernel.name)} has {len(own)} parameters; {extra.name} is one too many"
            )
            raise PtxError(problem.at(extra.span).of(self.written))
        for argument, name in zip(self.directives.arguments, own):
            if argument.name != name and argument.name in own:
                raise self._elsewhere(argument, own)
        return given + own[len(given) :]

    def _elsewhere(self, argument: Argument, own: list[str]) -> PtxError:
        """A directive in the place of one parameter that has the name of another: its value would go to the wrong one."""
        place = next(i for i, other in enumerate(self.directives.arguments) if other is argument)
        problem = Finding(
            "bad-directive",
            f"{argument.name} stands where {own[place]} belongs: arguments bind by position",
            help=f"give them in the order of the parameters: {', '.join(own)}",
        )
        return PtxError(problem.at(argument.span).of(self.written))

    def bind(self, seed: int) -> tuple[dict[str, Any], list[Any]]:
        """Fresh values for all arguments by name, and as the kernel gets them.

        NAME_in keeps what an array held before the run; the name of a tensor map stands for its array.
        """
        names = self.names()
        initialisers = {argument.name: argument.initialiser for argument in self.directives.arguments}
        own = {parameter.name: name for parameter, name in zip(self.kernel.parameters, names)}
        said = set()
        for name, text in self.given.items():
            if name.isdigit() and int(name) < len(names):
                name = names[int(name)]
            if name not in names and name not in own:
                raise bad(f"{demangle(self.kernel.name)} has no parameter {name}", did_you_mean(name, names))
            name = name if name in names else own[name]
            initialisers[name] = parse_initialiser(text)
            said.add(name)
        if missing := [name for name in names if name not in initialisers]:
            raise self._missing(missing)
        folder = self.source.path.parent if self.source.path else None
        self._check_size(names, initialisers)
        values: dict[str, Any] = {}
        parameters = []
        for position, (name, parameter) in enumerate(zip(names, self.kernel.parameters)):
            # Files on the command line are relative to where the user stands, files in a directive to the PTX file.
            where = (None, ()) if name in said else (folder, self._places(name))
            value = self._build(initialisers[name], (seed, position), *where, values)
            parameters.append(_as_parameter(value, parameter))
            values[name] = getattr(value, "source", value)
            if hasattr(values[name], "dtype"):
                values[f"{name}_in"] = values[name].copy()
        return values, parameters

    def _check_size(self, names: list[str], initialisers: dict[str, Initialiser]) -> None:
        """That the arrays are not too large to be made."""
        most, used = self.most, 0
        for name in names:
            used += initialisers[name].nbytes
            if most is not None and used > most:
                spans = self._places(name)
                message = f"the arguments take {used} bytes up to {name}, the limit is {most}"
                problem = Finding("bad-directive", message, help="raise the limit: --max-memory BYTES")
                raise PtxError(problem.at(spans[0]).of(self.written) if spans else problem)

    def _places(self, name: str) -> tuple[Span, ...]:
        """Where directives give an argument of this name."""
        return tuple(argument.span for argument in self.directives.arguments if argument.name == name)

    def _build(
        self,
        initialiser: Initialiser,
        seed: tuple[int, int],
        folder: Path | None,
        places: tuple[Span, ...],
        known: dict[str, Any],
    ) -> Any:
        try:
            return initialiser.build(seed, folder, known)
        except PtxError as error:
            raise PtxError([finding.at(*places) if places else finding for finding in error.findings]) from None

    def _missing(self, names: list[str]) -> PtxError:
        parameters = dict(zip(self.names(), self.kernel.parameters))
        lines = [f"// ptxsim: arg {name} = {_suggestion(parameters[name])}" for name in names]
        listed = ", ".join(names)
        return PtxError(
            Finding(
                "bad-directive",
                f"{demangle(self.kernel.name)} needs a value for {listed}",
                line=self.kernel.function.line,
                notes=(
                    "arguments bind to the parameters by position; add to the file, with your sizes and types:",
                    *lines,
                ),
                help=f"or say it on the command line: --arg '{names[0]}={_suggestion(parameters[names[0]])}'",
            ).of(self.source)
        )


def _as_parameter(value: Any, parameter: Any) -> Any:
    """An array given for a parameter that is itself an array of bytes is passed by value, as its bytes."""
    return value.tobytes() if parameter.shape and hasattr(value, "tobytes") else value


def _suggestion(parameter: Any) -> str:
    if parameter.shape:
        return f"zeros({parameter.shape[0]}):{parameter.type}"
    return "zeros(1024):f32" if parameter.type in ("u64", "b64", "s64") else "1"

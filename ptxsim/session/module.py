"""Modules and kernels: parse once, launch often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim import lanes
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.decoding.bodies import Bodies
from ptxsim.engine.decoding.decode import Decoder
from ptxsim.engine.decoding.linkage import initial_bytes
from ptxsim.engine.program.operation import Program
from ptxsim.given import a_text
from ptxsim.isa import header
from ptxsim.isa.bind import Binder
from ptxsim.isa.variable_layout import size_of
from ptxsim.session.cache import Known, of_source
from ptxsim.session.execution import execute
from ptxsim.session.launch import KernelCode, Launch
from ptxsim.session.launch_checks import LaunchChecks
from ptxsim.session.module_memory import ModuleMemory
from ptxsim.session.options import Extent, LaunchOptions, Progress
from ptxsim.session.run import KernelError, Run
from ptxsim.session.views import View
from ptxsim.shown import Shown
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.types import TYPES, Target, parse_target


class Module(Shown):
    """A PTX file that parsed. Raises PtxError (has .findings) where it does not.

    A module that a Device has loaded has its variables there, in `home`; another one's are made anew for each launch.
    """

    def __init__(self, source: Source, tree: ast.Module | None = None, home: ModuleMemory | None = None):
        if not isinstance(source, Source):
            message = f"Module is made of a Source, not of a {type(source).__name__}"
            raise _mistaken(message, "write Module.from_text(text) or Module.from_file(path)")
        self.source = source
        self.known = home.known if home else of_source(source) if tree is None else Known(source, tree)
        self.home = home
        self.symbols: dict[str, np.ndarray] = {}  # the variables that `symbol` has given out

    def __repr__(self) -> str:
        return f"Module({self.source.name!r}, {self.known.outline.target}: {', '.join(self.entries) or 'no kernels'})"

    @property
    def ast(self) -> ast.Module:
        """The syntax tree."""
        return self.known.ast

    @property
    def bodies(self) -> Bodies:
        """Flat bodies of its functions."""
        return self.known.bodies

    @classmethod
    def from_file(cls, path: str | Path) -> Module:
        """The module in a file. Raises OSError where it cannot be read."""
        if "\n" in str(path):
            raise _mistaken("from_file takes the path of a file, here is a text", "write Module.from_text(text)")
        return cls(Source.from_file(path))

    @classmethod
    def from_text(cls, text: str, name: str = "<text>") -> Module:
        """The module in a text, without its byte order mark and the zero bytes that end it."""
        a_text("from_text's argument", text, "Module.from_file(path) reads a file")
        if text.endswith(".ptx") and "\n" not in text:
            raise _mistaken("from_text takes PTX, here is the name of a file", "write Module.from_file(path)")
        return cls(Source(text.removeprefix("\ufeff").rstrip("\0"), name))

    @property
    def entries(self) -> list[str]:
        return [f.name for f in self.known.outline.entries()]

    @property
    def target(self) -> Target:
        """The target of the file. Raises PtxError for one ptxsim does not know."""
        return known_target(self.known.outline.target, self.source)

    def kernel(self, name: str | None = None) -> Kernel:
        """A kernel by name; the name may be left out where there is one entry."""
        entries = {f.name: f for f in self.known.outline.entries()}
        if name is None:
            if len(entries) != 1:
                listed = ", ".join(entries) or "none"
                message = f"the file has {len(entries)} entries: {listed}"
                raise PtxError(Finding("bad-directive", message, 1, help="name one").of(self.source))
            name = next(iter(entries))
        if name not in entries:
            message = f"no entry is called {name}; there are: {', '.join(entries)}"
            raise PtxError(Finding("undeclared-name", message, 1).of(self.source))
        return Kernel(self, entries[name])

    def symbol(self, name: str) -> np.ndarray:
        """A module-scope .global or .const variable as an array; what is written into it holds for later launches.

        Raises PtxError where there is none of that name.
        """
        if name not in self.symbols:
            variables = (v for v in self.known.outline.items if isinstance(v, ast.Variable))
            variable = next((v for v in variables if v.name == name), None)
            if variable is None or variable.space not in ("global", "const"):
                message = f"the module has no .global or .const variable {name}"
                raise PtxError(Finding("undeclared-name", message, 1).of(self.source))
            data = np.zeros(size_of(variable), np.uint8) if self.home is None else self.home.view(name)
            if self.home is None and variable.initializer is not None:
                initial = initial_bytes(variable, {}, {})  # addresses in it resolve only inside a launch
                data[: len(initial)] = np.frombuffer(initial, np.uint8)
            shape_ = tuple(d if d is not None else -1 for d in variable.shape)
            self.symbols[name] = data.view(lanes.dtype(TYPES[variable.type])).reshape(shape_ or (variable.vector,))
        return self.symbols[name]


class Kernel(Shown):
    """One entry of a module.

    written: what its author calls its parameters, by their names in the PTX, where a front end knows it; views: how the program sees
    what those point to, by the names that their author gave them.
    """

    def __init__(self, module: Module, function: ast.Function):
        self.module, self.function = module, function
        self.written: Mapping[str, str] = {}
        self.views: Mapping[str, View] = {}

    def __repr__(self) -> str:
        parameters = ", ".join(f".{parameter.type} {parameter.name}" for parameter in self.parameters)
        return f"Kernel({self.name}({parameters}))"

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def parameters(self) -> tuple[ast.Variable, ...]:
        return self.function.parameters

    def code(self, target: str | None = None) -> KernelCode:
        """The kernel decoded; `.target` of the file says what is legal, `target` which machine runs it. Raises PtxError."""
        module, written, home = self.module, self.module.target, self.module.home
        machine = known_target(target, module.source) if target else home.target if home else written
        if home is not None and machine != home.target:
            message = f"the launch is for {machine}, the device that has loaded the module is {home.target}"
            raise PtxError(Finding("wrong-target", message, 1).of(module.source))
        # Code for a newer target does not load on an older machine; architecture-specific code on its own one only.
        if machine.number < written.number or (written.suffix and not machine.meets(written.name)):
            message = f"the file is for {written}, which does not run on {machine}"
            help = f"run it as {written}, or change .target"
            raise PtxError(
                Finding("wrong-target", message, module.known.outline.target_line or 1, help=help).of(module.source)
            )
        try:
            known = module.known
            decoded = home.decode(self.name, written) if home else known.program(self.name, written, machine)
        except PtxError as error:
            raise error.of(module.source) from None
        return KernelCode(module.source, self.function, machine, decoded, module.symbols, home, self.written)

    def program(self, target: str | None = None) -> Program:
        """Its operations, decoded for a target (the file's). Raises PtxError."""
        return self.code(target).decoded.program

    def prepare(self, args: Sequence[Any], options: LaunchOptions, *, is_silent: bool = False) -> Launch:
        """A launch that is ready to be executed. Raises PtxError."""
        if not isinstance(args, Sequence) or isinstance(args, str | bytes):
            names = ", ".join(parameter.name for parameter in self.parameters) or "none"
            message = f"args is a {type(args).__name__}, and arguments are given by position"
            help = f"give a list in the order of the parameters: {names}"
            raise LaunchChecks(self.function, self.module.source).problem(message, help)
        return Launch(self.code(options.target), args, options, is_silent=is_silent)

    def repeat(self, args: Sequence[Any], options: LaunchOptions) -> Launch:
        """An earlier launch on fresh data, for the interpreter, to be inspected: no checks, nothing is printed."""
        return self.prepare(args, options.for_inspection(), is_silent=True)

    def launch(
        self, grid: Extent, block: Extent, args: Sequence[Any] = (), shared_mem: int = 0, *, cluster: Extent = 1,
        target: str | None = None, engine: str | None = None, numerics: str = "target", seed: int = 0,
        jobs: int | None = None, checks: str = "memory", on_error: str = "raise", banks: bool | None = None,
        profile: bool | int = False, gpu: str | None = None, registers: int | None = None,
        cubin: str | PathLike[str] | None = None,
        max_steps: int | None = None, max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> Run:  # fmt: skip
        """Run the kernel.

        grid, block, cluster: an int or up to three; args: by position, arrays are copied in and back in place, numbers
        become the parameter's type; shared_mem: bytes of dynamic shared memory. Raises PtxError where the file or the
        launch is wrong, KernelError (has .run) for error-level findings unless on_error="report". banks: True counts bank
        conflicts while running, None when `run.banks` is asked for, False never. jobs: threads for CTAs whose order cannot
        be observed; None takes all cores where that pays. checks: "memory" watches addresses, alignment and barriers; "all"
        adds races, proxy fences and asynchronous work in flight, as the command line does; "none" watches nothing. gpu: whose cycles
        are predicted ("H100"; the target's own machine unless it is said); registers: of a thread, as the assembler says, for the cycle model; cubin: file
        with machine code of the same PTX for it.
        """
        options = LaunchOptions(
            grid=grid, block=block, cluster=cluster, shared_mem=shared_mem, target=target, engine=engine,
            numerics=numerics, seed=seed, jobs=jobs, checks=checks, banks=banks, profile=profile, gpu=gpu, registers=registers, cubin=cubin,
            max_steps=max_steps, max_seconds=max_seconds, progress=progress,
        )  # fmt: skip
        return self.run(args, options, on_error)

    def run(self, args: Sequence[Any], options: LaunchOptions, on_error: str = "report") -> Run:
        """Run the kernel; `launch` with its keywords as one value."""
        LaunchChecks(self.function, self.module.source).choice("on_error", on_error, "raise")
        launch = self.prepare(args, options)
        run = execute(launch)
        if run.engine == "compiled":
            self.module.known.remember(self.name, launch.target)
        if on_error == "raise" and run.has_errors:
            raise KernelError(run)
        return run


def _mistaken(message: str, help: str) -> PtxError:
    return PtxError(Finding("bad-directive", message, help=help))


def known_target(name: str, source: Source) -> Target:
    """A target ptxsim knows. Raises PtxError naming the nearest one."""
    name = name if isinstance(name, str) else repr(name)
    if why := header.target_problem(name):
        raise PtxError(Finding("wrong-target", why[0], 1, help=why[1]).of(source))
    return parse_target(name)


def check(source: Source | str, target: str | None = None) -> list[Finding]:
    """Parse and bind a file without running it: notes on the text, then every finding, sorted by line."""
    return judge(source if isinstance(source, Source) else Source(source), target)[0]


def judge(source: Source, target: str | None) -> tuple[list[Finding], bool]:
    """The findings of `check`, and whether all statements were bound: those of a text that does not parse are not."""
    try:
        module = Module(source)
        legal = known_target(target, source) if target else module.target
    except PtxError as error:
        return [replace(f, file=source.name, source=source) for f in error.findings], False
    return [*(note.of(source) for note in header.notes(source.text)), *check_module(module, legal)], True


def check_module(module: Module, legal: Target) -> list[Finding]:
    """What is wrong with the statements of every function, for the target that says what is legal."""
    findings: dict[tuple[object, ...], Finding] = {}
    binder = Binder(legal, module.ast.version)
    for function in module.bodies.declared.values():
        if function.body is None:
            continue
        try:
            Decoder(module.bodies, function, binder, legal, alone=True).decode()
        except PtxError as error:
            for finding in error.findings:
                findings[finding.name, finding.line, finding.column, finding.message] = finding.of(module.source)
    return sorted(findings.values(), key=lambda f: (f.line, f.column))

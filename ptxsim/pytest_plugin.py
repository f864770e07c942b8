"""pytest: the fixture `ptx`, `.ptx` files with directives as tests, and array comparisons that say where and who.

Nothing heavy is imported before a test asks for it: the plugin is loaded in every pytest run of an environment that has ptxsim.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ptxsim")
    group.addoption(
        "--ptx", action="append", default=[], metavar="DIR", help="collect .ptx files with directives from here"
    )
    group.addoption("--ptx-engine", choices=["compiled", "interpreter"], help="engine for collected .ptx files")


def pytest_configure(config: pytest.Config) -> None:
    folders = [folder for folder in config.getoption("--ptx") if Path(folder).exists()]
    if missing := set(config.getoption("--ptx")) - set(folders):
        raise pytest.UsageError(f"--ptx: no such file or folder: {', '.join(sorted(missing))}")
    # `pytest --ptx DIR` alone means these files; with paths given they come on top.
    if folders and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = []
    config.args.extend(folders)


# ---- .ptx files as tests --------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".ptx":
        return None
    folders = [Path(folder).resolve() for folder in parent.config.getoption("--ptx")]
    whole = file_path.resolve()
    if not any(folder in (whole, *whole.parents) for folder in folders):
        return None
    return PtxFile.from_parent(parent, path=file_path)


class PtxFile(pytest.File):
    """A `.ptx` file; it is one test if a directive says how to launch it or what to expect."""

    def collect(self) -> Iterator[pytest.Item]:
        if "ptxsim:" in self.path.read_text(encoding="utf-8", errors="replace"):
            yield PtxItem.from_parent(self, name=self.path.stem)


class PtxFailure(Exception):
    """A file whose findings or results are not what it expects."""


class PtxItem(pytest.Item):
    """Runs a file as `ptxsim run` does."""

    def runtest(self) -> None:
        from ptxsim.diagnostic import PtxError
        from ptxsim.report.text import render_all
        from ptxsim.session.ptxfile.file import Options, run_file

        try:
            result = run_file(self.path, options=Options(engine=self.config.getoption("--ptx-engine")))
        except PtxError as error:
            raise PtxFailure(render_all(error.findings)) from None
        if not result.passed:
            raise PtxFailure(render_all(result.findings))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, PtxFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"ptx: {self.name}"


# ---- the fixture ----------------------------------------------------------------------------------------------------


class Ptx:
    """What a test needs of ptxsim, by short names. Kernels launch with all checks on unless a test says otherwise.

    Besides what is defined here it has the names of the package `ptxsim`, such as `snippet` or `TensorMap`.
    """

    _MAKERS = ("zeros", "ones", "eye", "ramp", "ints", "normal", "uniform")

    def __init__(self, request: pytest.FixtureRequest):
        self._request = request

    def module(self, path: str | Path) -> Any:
        """The module in a file; a relative path starts at the working folder, else beside the test file."""
        from ptxsim.session import Module

        return _Checked(Module.from_file(self._place(path)))

    def _place(self, path: str | Path) -> Path:
        found = [place for place in (Path(path), self._request.path.parent / path) if place.exists()]
        if not found:
            where = " or ".join(map(str, dict.fromkeys((Path.cwd(), self._request.path.parent))))
            raise FileNotFoundError(f"there is no file {path} in {where}")
        return found[0]

    def text(self, text: str) -> Any:
        """The module in a text."""
        from ptxsim.session import Module

        return _Checked(Module.from_text(text))

    def run(self, path: str | Path, *, on_error: str = "raise", **options: Any) -> Any:
        """Run a file by its directives; a relative path starts where `module` says.

        on_error: "raise" fails the test where errors or warnings are left or an expectation is not met; "report" returns
        the FileRun (`passed`, `findings`) to be looked at. options: fields of `ptxsim.session.ptxfile.file.Options`, such as
        `seed` or `engine`.
        """
        from ptxsim.report.text import render_all
        from ptxsim.session.ptxfile.file import Options, run_file

        if on_error not in ("raise", "report"):
            raise TypeError(f"on_error={on_error!r} is neither 'raise' nor 'report'")
        result = run_file(self._place(path), options=Options(**options))
        if on_error == "raise" and not result.passed:
            raise AssertionError(render_all(result.findings))
        return result

    def snippet(self, text: str, *given: Any, checks: str = "all", on_error: str = "raise", **named: Any) -> Any:
        """`ptxsim.snippet` with all checks on; an error in it fails the test unless on_error="report"."""
        import ptxsim

        return ptxsim.snippet(text, *given, checks=checks, on_error=on_error, **named)

    def execute(self, form: str, *matrices: Any, **named: Any) -> Any:
        """`ptxsim.execute`; a failed comparison of its result names lane and register."""
        import ptxsim
        from ptxsim.session.ptxfile.compare import as_array

        return as_array(ptxsim.execute(form, *matrices, **named), form)

    def assert_close(
        self, got: Any, expected: Any, rtol: float = 0.0, atol: float = 0.0, form: str | None = None
    ) -> None:
        """Compare arrays; a failure says where, how much, and what the wrong elements share.

        With `form`, the matrix product whose D this is, it names lane and register too.
        """
        from ptxsim.session.ptxfile.compare import fragment_owners
        from ptxsim.session.ptxfile.expectations import explain_difference

        writer = fragment_owners(form) if form else _writer(got)
        finding = explain_difference(got, expected, rtol, atol, name="left", writer=writer)
        if finding is not None:
            raise AssertionError("\n".join([finding.message, *finding.notes]))

    def __getattr__(self, name: str) -> Any:
        if name in self._MAKERS:
            from ptxsim import arrays
            from ptxsim.session.ptxfile.compare import as_array

            return lambda *given, **named: as_array(getattr(arrays, name)(*given, **named))
        import ptxsim

        if name in ptxsim.__all__ and name != "Module":
            return getattr(ptxsim, name)
        own = ", ".join(known for known in vars(Ptx) if not known.startswith("_"))
        raise AttributeError(
            f"the fixture has no {name!r}: a kernel is ptx.module(FILE).kernel() or ptx.text(PTX).kernel(); there are {own}, "
            f"{', '.join(self._MAKERS)} and the names of the package ptxsim"
        )


class _Checked:
    """A module or kernel whose launches check everything by default."""

    def __init__(self, inner: Any):
        self._inner = inner

    def kernel(self, name: str | None = None) -> _Checked:
        return _Checked(self._inner.kernel(name))

    def launch(self, *positional: Any, **named: Any) -> Any:
        import inspect

        from ptxsim.session.options import LaunchOptions
        from ptxsim.session.ptxfile.compare import launch_remembered
        from ptxsim.spelling import did_you_mean

        signature = inspect.signature(self._inner.launch)
        for name in named.keys() - signature.parameters.keys():
            raise TypeError(f"a launch has no {name!r}: {did_you_mean(name, list(signature.parameters))}")
        try:
            given = signature.bind(*positional, **{"checks": "all", **named}).arguments
        except TypeError as error:
            raise TypeError(f"a launch: {error}") from None
        args, on_error = given.pop("args", ()), given.pop("on_error", "raise")
        return launch_remembered(self._inner, args, LaunchOptions(**given), on_error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture
def ptx(request: pytest.FixtureRequest) -> Ptx:
    """ptxsim for tests: ptx.module(file), ptx.text(ptx), ptx.ints(shape, type), ptx.run(file), ptx.execute, ptx.snippet."""
    return Ptx(request)


# ---- whose fault it is ----------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """What is wrong with a kernel, an array or a call is shown at the test's line, without ptxsim's own frames.

    Defects of ptxsim keep theirs, and `--full-trace` shows all.
    """
    if call.excinfo is not None and not item.config.getoption("fulltrace"):
        frames = list(_frames(call.excinfo.tb))
        outside = [frame for frame in frames if not _module(frame).startswith("ptxsim.")]
        if outside and outside[-1] is not frames[-1] and _is_for_author(call.excinfo.value, _module(frames[-1])):
            outside[-1].tb_next = None
    return (yield)


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _module(traceback: TracebackType) -> str:
    return str(traceback.tb_frame.f_globals.get("__name__"))


def _is_for_author(error: BaseException, module: str) -> bool:
    """Whether an error that a module raised is for the author of the test."""
    from ptxsim import KernelError, PtxError

    return module == __name__ or isinstance(error, KernelError | PtxError)


# ---- comparisons ----------------------------------------------------------------------------------------------------


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: Any, right: Any) -> list[str] | None:
    """What a failed `==` says of the fixture's arrays, and of findings that should not be there."""
    if op != "==":
        return None
    diagnostic = sys.modules.get("ptxsim.diagnostic")  # not imported: nothing of it can be here
    if isinstance(left, list) and right == [] and left and diagnostic and isinstance(left[0], diagnostic.Finding):
        from ptxsim.report.text import render_concise

        return ["there are findings", *render_concise(left).splitlines()]
    compare = sys.modules.get("ptxsim.session.ptxfile.compare")
    kinds = () if compare is None else (compare.Verdict, compare.Difference, compare.Array)
    if not isinstance(left, kinds) and not isinstance(right, kinds):
        return None
    from ptxsim.session.ptxfile.expectations import explain_difference

    finding = explain_difference(left, right, name="left", writer=_writer(left))
    return [finding.message, *finding.notes] if finding else None


def _writer(value: Any) -> Any:
    """Who wrote the elements of an array of the fixture, if that is known."""
    origin = getattr(value, "origin", None)
    return origin() if origin is not None else None

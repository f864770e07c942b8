"""Tests in forked processes: which statements each executes, and which of them notices a defect.

One process has collected the tests and imported what they need; each test, or each defect with the tests that execute its
statement, has a fork of it. Text that was compiled once, whoever emitted it, is not compiled again.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import mmap
import os
import pickle
import resource
import signal
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mutants.defects import Defect, compiled, function_of, functions
from ptxsim.jit.compiler import Jit
from ptxsim.jit.store import ObjectStore
from ptxsim.jit.translator import Translator

Place = tuple[str, int]  # a module, and the line where a statement begins, or that of a function that was translated
TICK = os.sysconf("SC_CLK_TCK")
# A test that takes this many times the processor time that it takes without a defect, and some seconds, does not end.
TIMES, SECONDS = 20, 5
ASLEEP = 120  # seconds that a process may take, whatever of the processor it gets, beyond as many times its test's
MEMORY = 6 << 30
QUICK = 1.0  # seconds of a test of kept text that is tried on all defects


@dataclass
class Test:
    """A test without a defect: processor seconds, and what it executes."""

    item: pytest.Item
    seconds: float = 0.0
    reached: frozenset[Place] = frozenset()
    failed: bool = False


@dataclass(frozen=True)
class Verdict:
    """What became of a defect: `outcome` is "results", "text", "endless" or "missed"; `test` has told."""

    defect: Defect
    outcome: str
    test: str = ""


@dataclass
class Fork:
    """A process that runs tests, one after the other: which one, and since which second of its processor time."""

    process: int
    tests: list[Test]
    defect: Defect
    began: float
    state: mmap.mmap = field(repr=False)

    @property
    def now(self) -> tuple[int, float]:
        number, since = struct.unpack_from("=qd", self.state)
        return number, since

    def overdue(self) -> bool:
        """Whether the test that runs does not end."""
        number, since = self.now
        expected = self.tests[number].seconds if 0 <= number < len(self.tests) else 0.0
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
            used = (int(fields[11]) + int(fields[12])) / TICK - since
            total = sum(test.seconds for test in self.tests)
            return used > SECONDS + TIMES * expected or time.monotonic() - self.began > ASLEEP + ASLEEP * total
        return False


class Listener:
    """Keeps whether a test has failed."""

    failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed


def keep_text(folder: Path) -> None:
    """Compile what has been compiled with the same text no second time, in this process and its forks."""
    compile_text = Jit._compile

    def known(self: Jit, text: str, level: int, passes: Any) -> bytes:
        digest = hashlib.blake2b(f"{self.cpu} {self.features} {level} {passes} {text}".encode(), digest_size=20)
        path = folder / digest.hexdigest()
        with contextlib.suppress(OSError):
            return path.read_bytes()
        data = compile_text(self, text, level, passes)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_bytes(data)
        new.replace(path)
        return data

    Jit._compile = known  # type: ignore[method-assign]  # of this process alone


def forget(parts: Iterable[str], put: bool) -> None:
    """What the store knows of these was made without a defect: it is made again, in this process. Nothing that this process
    makes is for others unless `put`."""
    name, get, put_ = Jit.key, ObjectStore.get, ObjectStore.put
    concerned = {*parts}

    def key(self: Jit, *given: str) -> str:
        return ("own-" if given[0] in concerned else "") + name(self, *given)

    def own(self: ObjectStore, key: str) -> bytes | None:
        return self._memory.get(key) if key.startswith("own-") else get(self, key)

    def keep(self: ObjectStore, key: str, data: bytes) -> None:
        if put and not key.startswith("own-"):
            put_(self, key, data)
        else:
            self._memory[key] = data

    Jit.key, ObjectStore.get, ObjectStore.put = key, own, keep  # type: ignore[method-assign]  # of this process alone


def watch(marked: dict[tuple[str, str], ast.FunctionDef]) -> set[Place]:
    """Statements that are executed from now on, and functions that are translated."""
    found: set[Place] = set()
    for (module, name), tree in marked.items():
        function = function_of(module, name)
        function.__globals__["_reached_"] = lambda line, module=module: found.add((module, line))
        function.__code__ = compiled(tree, name, function.__code__)
    translate = Translator.__init__

    def translated(self: Translator, unit: Any, function: Callable[..., Any], kinds: Any) -> None:
        found.add((function.__module__, function.__code__.co_firstlineno))
        translate(self, unit, function, kinds)

    Translator.__init__ = translated  # type: ignore[method-assign]  # of this process alone
    return found


def marked(paths: dict[str, Path]) -> dict[tuple[str, str], ast.FunctionDef]:
    """Functions of modules, with a call before each of their statements that says that it is reached."""
    found = {}
    for module, path in paths.items():
        for name, function in functions(ast.parse(path.read_text())):
            tree = copy.deepcopy(function)
            for node in [*ast.walk(tree)]:
                for part in ("body", "orelse", "finalbody"):
                    if isinstance(statements := getattr(node, part, None), list):
                        setattr(node, part, [each for one in statements for each in (_mark(one), one)])
            found[module, name] = ast.fix_missing_locations(tree)
    return found


def _mark(statement: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name("_reached_", ast.Load()), [ast.Constant(statement.lineno)], [])
    return ast.copy_location(ast.Expr(call), statement)


def _quiet() -> None:
    """In a fork: say nothing, and use no more memory than a test may."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _fails(item: pytest.Item, listener: Listener) -> bool:
    listener.failed = False
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    return listener.failed


def measure(tests: list[Test], parts: Iterable[str], paths: dict[str, Path], jobs: int, listener: Listener) -> None:
    """Fill in what the tests reach and how long they take."""
    trees = marked(paths)
    waiting, running = [*tests][::-1], dict[int, tuple[Test, int]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            test = waiting.pop()
            reader, writer = os.pipe()
            process = os.fork()
            if not process:
                with contextlib.suppress(BaseException):
                    os.close(reader)
                    _quiet()
                    forget(parts, put=True)
                    found = watch(trees)
                    began = time.process_time()
                    failed = _fails(test.item, listener)
                    with os.fdopen(writer, "wb") as out:
                        pickle.dump((time.process_time() - began, found, failed), out)
                os._exit(0)
            os.close(writer)
            running[process] = test, reader
        for process, (test, reader) in [*running.items()]:
            # The pipe is read as it comes: what is written may be more than it holds.
            with os.fdopen(reader, "rb") as source:
                data = source.read()
            os.waitpid(process, 0)
            del running[process]
            if data:
                test.seconds, reached, test.failed = pickle.loads(data)
                test.reached = frozenset(reached)
            else:
                test.failed = True
            break


def judge(
    found: list[Defect], tests: list[Test], parts: Callable[[Defect], Iterable[str]], is_text: Callable[[str], bool],
    jobs: int, most: float, listener: Listener,
) -> Iterator[Verdict]:  # fmt: skip
    """What notices each of the defects, as it becomes known. `most`: seconds of tests that are tried on one."""
    by_place: defaultdict[Place, list[Test]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: (is_text(test.item.nodeid), test.seconds)):
        for place in test.reached:
            by_place[place].append(test)
    told: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by module, and by function
    waiting, running = found[::-1], dict[int, Fork]()

    def chosen(defect: Defect) -> list[Test]:
        known = Counter({name: count / 100 for name, count in told[defect.module].items()})
        known.update(told[defect.module + defect.function])
        seen = dict[str, Test]()
        first = function_of(defect.module, defect.function).__code__.co_firstlineno
        for line in (defect.statement, first):
            seen |= {test.item.nodeid: test for test in by_place[defect.module, line]}
        order = sorted(
            seen.values(), key=lambda test: (is_text(test.item.nodeid), -known[test.item.nodeid], test.seconds)
        )
        left, taken = most, []
        for test in order:
            left -= test.seconds
            if left > 0 or (is_text(test.item.nodeid) and test.seconds < QUICK):
                taken.append(test)
        return taken

    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                defect = waiting.pop()
                fork = _start(defect, chosen(defect), parts(defect), listener)
                running[fork.process] = fork
            time.sleep(0.01)
            for process, fork in [*running.items()]:
                done, status = os.waitpid(process, os.WNOHANG)
                late = not done and fork.overdue()
                if late:
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)
                if done or late:
                    del running[process]
                    number = fork.now[0]
                    if number < 0:
                        raise RuntimeError(f"{fork.defect} was not put in")
                    if number == len(fork.tests):
                        yield Verdict(fork.defect, "missed")
                        continue
                    name = fork.tests[number].item.nodeid
                    for where in (fork.defect.module, fork.defect.module + fork.defect.function):
                        told[where][name] += 1
                    outcome = "endless" if late else "text" if is_text(name) else "results"
                    yield Verdict(fork.defect, outcome, name)
    finally:
        for process in running:
            os.kill(process, signal.SIGKILL)


def _start(defect: Defect, tests: list[Test], parts: Iterable[str], listener: Listener) -> Fork:
    """The process that runs the tests until one fails, or it does itself."""
    state = mmap.mmap(-1, 16)
    struct.pack_into("=qd", state, 0, -1, 0.0)
    process = os.fork()
    if process:
        return Fork(process, tests, defect, time.monotonic(), state)
    with contextlib.suppress(BaseException):
        _quiet()
        forget(parts, put=False)
        defect.install()
        struct.pack_into("=qd", state, 0, 0, time.process_time())
        for number, test in enumerate(tests):
            struct.pack_into("=qd", state, 0, number, time.process_time())
            if _fails(test.item, listener):
                os._exit(1)
        struct.pack_into("=qd", state, 0, len(tests), 0.0)
    os._exit(0)

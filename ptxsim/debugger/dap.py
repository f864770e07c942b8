"""The Debug Adapter Protocol: what an editor asks of a debugger, as JSON with headers on standard streams."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ptxsim.cuda.files import read_file
from ptxsim.debugger import state
from ptxsim.debugger.execution import number_of
from ptxsim.debugger.expression import Expression, ExpressionError
from ptxsim.debugger.session import Session
from ptxsim.diagnostic import PtxError, one_line
from ptxsim.machine.cta import Warp
from ptxsim.report.origins import told
from ptxsim.session.ptxfile.file import Options

CAPABILITIES = {
    "supportsConfigurationDoneRequest": True, "supportsConditionalBreakpoints": True, "supportsStepBack": True,
    "supportsEvaluateForHovers": True, "supportsTerminateRequest": True, "supportsSingleThreadExecutionRequests": False,
    "supportsSteppingGranularity": True,
    "exceptionBreakpointFilters": [{"filter": "findings", "label": "Findings", "default": True}],
}  # fmt: skip
SCOPES = ("Registers of the lane", "Registers by lane", "Operands", "Shared memory", "mbarriers and work in flight")


class Refused(Exception):
    """A request that cannot be met; the message says why."""


class Adapter:
    """One debug session. A thread of a debugger is a warp; frames have one variable a register."""

    def __init__(self, source: BinaryIO, sink: BinaryIO):
        self.source, self.sink = source, sink
        self.session: Session | None = None
        self.asked: dict[str, list[tuple[str, str]]] = {}  # places of breakpoints and their conditions, by file
        self.number = 0
        self.lock = threading.Lock()
        self.moving: threading.Thread | None = None
        self.is_running = False  # until the kernel stands still; what is said then comes after
        self.after: list[Callable[[], None]] = []  # what is sent once the request is answered
        self.references: list[Callable[[], Iterator[dict[str, Any]]]] = []
        self.stop_on_entry = True

    # ---- messages ----

    def serve(self) -> None:
        """Answer requests until the editor leaves."""
        while (message := self._read()) is not None:
            if message.get("type") != "request":
                continue
            name = str(message.get("command"))
            answer: dict[str, Any] = {
                "type": "response",
                "request_seq": message.get("seq", 0),
                "command": name,
                "success": True,
            }
            try:
                handler = getattr(self, f"on_{name}", None)
                if handler is None:
                    raise Refused(f"ptxsim does not know the request {name}")
                answer["body"] = handler(message.get("arguments") or {}) or {}
            except (Refused, ExpressionError, OSError) as problem:
                answer |= {"success": False, "message": str(problem)}
            except PtxError as error:
                answer |= {
                    "success": False,
                    "message": "\n".join(one_line(told(finding)) for finding in error.findings),
                }
            self._send(answer)
            for action in self.after:
                action()
            self.after.clear()
            if name in ("disconnect", "terminate"):
                break
        self._end()

    def _read(self) -> dict[str, Any] | None:
        length = 0
        while True:
            line = self.source.readline()
            if not line:
                return None
            if not line.strip():
                break
            key, _, value = line.partition(b":")
            if key.strip().lower() == b"content-length" and value.strip().isdigit():
                length = int(value)
        try:
            found = json.loads(self.source.read(length))
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _send(self, message: dict[str, Any]) -> None:
        with self.lock:
            self.number += 1
            data = json.dumps({"seq": self.number, **message}).encode()
            self.sink.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            self.sink.flush()

    def _event(self, name: str, **body: Any) -> None:
        self._send({"type": "event", "event": name, "body": body})

    # ---- the beginning and the end ----

    def on_initialize(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return CAPABILITIES

    def on_launch(self, arguments: dict[str, Any]) -> None:
        program = arguments.get("program")
        if not isinstance(program, str):
            raise Refused("launch needs `program`, the path of a .ptx or .cu file")
        self.stop_on_entry = bool(arguments.get("stopOnEntry", True))
        known = {name: arguments[name] for name in ("grid", "block", "cluster", "target", "seed") if name in arguments}
        given = {str(name): str(value) for name, value in (arguments.get("args") or {}).items()}
        shared = arguments.get("sharedMem")
        options = Options(**known, arguments=given, shared_mem=shared)
        entry = arguments.get("entry")
        self.session = Session(read_file(program, entry, known.get("target")), entry, options)
        self.after.append(lambda: self._event("initialized"))

    def on_configurationDone(self, arguments: dict[str, Any]) -> None:
        if self.stop_on_entry:
            self.after.append(lambda: self._stopped("entry"))
        else:
            self._move(self._session.go)

    def on_disconnect(self, arguments: dict[str, Any]) -> None:
        pass

    on_terminate = on_disconnect

    def _end(self) -> None:
        if self.session is not None:
            self.session.execution.interrupted = True
            if self.moving is not None:
                self.moving.join()
            self.session.close()

    @property
    def _session(self) -> Session:
        if self.session is None:
            raise Refused("nothing has been launched")
        return self.session

    # ---- breakpoints ----

    def on_setBreakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        session = self._session
        self._still()
        path = str((arguments.get("source") or {}).get("path") or session.source.written.name)
        is_ptx = Path(path).resolve() == Path(session.source.name).resolve()
        file = "ptx" if is_ptx else Path(path).name
        self.asked[path] = [
            (f"{file}:{int(one['line'])}", str(one.get("condition") or ""))
            for one in arguments.get("breakpoints") or []
        ]
        session.breakpoints.clear()
        answers: list[dict[str, Any]] = []
        for owner, places in self.asked.items():
            for place, condition in places:
                try:
                    found = session.set_breakpoint(place, condition)
                    answer: dict[str, Any] = {"verified": True, "line": int(found.rpartition(":")[2])}
                except ExpressionError as problem:
                    answer = {"verified": False, "message": str(problem)}
                if owner == path:
                    answers.append(answer)
        return {"breakpoints": answers}

    def on_setExceptionBreakpoints(self, arguments: dict[str, Any]) -> None:
        """Findings always stop."""

    # ---- moves ----

    def _still(self) -> None:
        if self.is_running:
            raise Refused("the kernel is running: pause it first")

    def _move(self, move: Callable[[], None]) -> dict[str, Any]:
        """Run the kernel in the background, so that it can be paused."""
        self._still()

        def run() -> None:
            try:
                try:
                    move()
                finally:
                    self.is_running = False
                self._stopped(self._session.why)
            except Exception as problem:  # shown by the editor: the session goes on
                self._event("output", category="stderr", output=f"{type(problem).__name__}: {problem}\n")
                self._event("terminated")

        self.references.clear()
        self.is_running = True
        self.moving = threading.Thread(target=run, daemon=True)
        self.after.append(self.moving.start)
        return {"allThreadsContinued": True}

    def _stopped(self, why: str) -> None:
        session = self._session
        self.references.clear()
        here = session.here
        if here is None:
            for finding in session.execution.findings:
                self._event("output", category="stderr", output=one_line(told(finding)) + "\n")
            self._event("output", category="console", output="the launch has ended\n")
            self._event("terminated")
            self._event("exited", exitCode=int(any(f.level == "error" for f in session.execution.findings)))
            return
        body: dict[str, Any] = {"threadId": _thread(here.warp), "allThreadsStopped": True}
        if why == "finding" and session.finding is not None:
            self._event("output", category="stderr", output=one_line(told(session.finding)) + "\n")
            body |= {"reason": "exception", "description": session.finding.name, "text": session.finding.message}
        else:
            body["reason"] = {"line": "goto"}.get(why, why)
        self._event("stopped", **body)

    def _focus(self, arguments: dict[str, Any]) -> Session:
        session = self._session
        thread = arguments.get("threadId")
        if isinstance(thread, int):
            session.choose((thread - 1) >> 6, (thread - 1) & 63)
        return session

    def on_continue(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._move(self._focus(arguments).go)

    def on_next(self, arguments: dict[str, Any]) -> dict[str, Any]:
        session = self._focus(arguments)
        return self._move(session.step)

    on_stepIn = on_next

    def on_stepOut(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """To the next block."""
        return self._move(self._focus(arguments).block)

    def on_stepBack(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._move(self._focus(arguments).step_back)

    def on_reverseContinue(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._move(self._session.go_back)

    def on_pause(self, arguments: dict[str, Any]) -> None:
        self._session.execution.interrupted = True

    # ---- what is seen ----

    def on_threads(self, arguments: dict[str, Any]) -> dict[str, Any]:
        warps = [warp for cta in state.ctas(self._session.execution) for warp in cta.warps if not warp.done]
        named = [{"id": _thread(warp), "name": f"CTA {warp.cta.linear} warp {warp.index}"} for warp in warps]
        return {"threads": named or [{"id": 1, "name": "the launch has ended"}]}

    def _warp(self, thread: int) -> Warp:
        for cta in state.ctas(self._session.execution):
            for warp in cta.warps:
                if _thread(warp) == thread:
                    return warp
        raise Refused(f"no warp has the number {thread}")

    def on_stackTrace(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """One frame for each group of lanes that stand together."""
        self._still()
        session = self._session
        warp = self._warp(int(arguments.get("threadId", 0)))
        frames = []
        for number, (line, mask, said) in enumerate(state.places(session.execution, warp, session.here)):
            name = f"{mask.bit_count()} lanes ({mask:#x}){': ' + said if said else ''}"
            source, origin = session.source, session.source.origin(line)
            original = source.original(origin.file) if origin is not None and source.made_from is not None else None
            if origin is not None and original is not None:  # who wrote CUDA sees that, and the instruction
                name += f"; PTX {line}: {' '.join(source.line(line).split())}"
                source, line = original, origin.line
            path = str(Path(source.name).resolve())
            frames.append({
                "id": _thread(warp) << 6 | number, "name": name, "line": line, "column": 1,
                "source": {"name": Path(path).name, "path": path},
            })  # fmt: skip
        return {"stackFrames": frames, "totalFrames": len(frames)}

    def on_scopes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._still()
        warp = self._warp(int(arguments.get("frameId", 0)) >> 6)
        session = self._session
        execution = session.execution
        names = list(state.slots(execution))

        def of_lane() -> Iterator[dict[str, Any]]:
            for name in names:
                yield _variable(name, _shown(state.register(execution, warp, name)[session.lane]))

        def by_lane() -> Iterator[dict[str, Any]]:
            for name in names:
                values = state.register(execution, warp, name)
                few = [_shown(value) for value in values[:4]]
                yield _variable(name, f"[{', '.join(few)}, ...]", self._reference(partial(_lanes, values)))

        def operands() -> Iterator[dict[str, Any]]:
            here = session.here
            if here is not None and here.warp is warp:
                for name, text in state.operands(execution, here.op, warp):
                    head, _, rest = text.partition("\n")
                    yield _variable(name, head, self._reference(partial(_rows, rest)) if rest else 0)

        def shared() -> Iterator[dict[str, Any]]:
            for name, (address, size) in execution.launch.shared_variables.items():
                rows = min(64, max(1, size // 32))
                text = state.shared_text(execution, warp.cta, name, "b32", rows, min(8, max(1, size // 4)))
                yield _variable(name, f"{address:#x}, {size} bytes", self._reference(partial(_rows, text)))

        def flight() -> Iterator[dict[str, Any]]:
            for text in (state.barriers_text(execution), state.flight_text(execution)):
                yield from _rows(text)

        makers = (of_lane, by_lane, operands, shared, flight)
        return {
            "scopes": [
                {"name": name, "variablesReference": self._reference(make), "expensive": make is not of_lane}
                for name, make in zip(SCOPES, makers)
            ]
        }

    def _reference(self, make: Callable[[], Iterator[dict[str, Any]]]) -> int:
        self.references.append(make)
        return len(self.references)

    def on_variables(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._still()
        number = int(arguments.get("variablesReference", 0))
        if not 1 <= number <= len(self.references):
            raise Refused("these variables are of an earlier stop")
        return {"variables": list(self.references[number - 1]())}

    def on_evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """A watch expression for the lane that is looked at, and below it by lane; `lane 5` looks at another lane."""
        self._still()
        session = self._session
        text = str(arguments.get("expression", "")).strip()
        word, _, rest = text.partition(" ")
        if word == "lane" and rest.strip().isdigit() and int(rest) < 32:
            session.lane = int(rest)
            self.after.append(lambda: self._event("invalidated", areas=["variables"]))
            return {"result": f"lane {session.lane}", "variablesReference": 0}
        if session.here is None:
            raise Refused("the launch has ended")
        frame = arguments.get("frameId")
        warp = self._warp(int(frame) >> 6) if isinstance(frame, int) else session.focus
        values = state.evaluate(session.execution, session.here, Expression(text), warp)
        return {
            "result": f"{_shown(values[session.lane])} in lane {session.lane}",
            "variablesReference": self._reference(partial(_lanes, values)),
        }


def _thread(warp: Warp) -> int:
    """The number of a warp as a thread of the protocol, from 1."""
    return number_of(warp) + 1


def _variable(name: str, value: str, reference: int = 0) -> dict[str, Any]:
    return {"name": name, "value": value, "variablesReference": reference}


def _lanes(values: np.ndarray) -> Iterator[dict[str, Any]]:
    for lane, value in enumerate(values):
        yield _variable(f"lane {lane}", _shown(value))


def _rows(text: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n")):
        yield _variable(str(number), line)


def _shown(value: Any) -> str:
    if np.ndim(value):
        return ":".join(_shown(part) for part in value)
    kind = np.asarray(value).dtype.kind
    if kind in "bi":
        return str(int(value))
    return f"{int(value)} ({int(value):#x})" if kind == "u" else f"{float(value):.6g}"

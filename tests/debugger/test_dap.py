"""`ptxsim dap` as an editor sees it: requests and events over standard streams."""

import io
import json
import queue
import subprocess
import sys
import threading

import pytest

from ptxsim.debugger.dap import Adapter
from ptxsim.source import Source
from tests.helpers import ROOT, SAMPLES

GEMM = SAMPLES / "mma_gemm_conflicts.ptx"


class Client:
    """A client of the Debug Adapter Protocol; a thread reads, so that events come when they come."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ptxsim", "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        self.number = 0
        self.messages = queue.Queue()
        self.kept = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        stream = self.process.stdout
        while header := stream.readline():
            size = int(header.split(b":")[1])
            assert stream.readline() == b"\r\n"
            self.messages.put(json.loads(stream.read(size)))

    def _wait(self, is_wanted):
        for place, message in enumerate(self.kept):
            if is_wanted(message):
                return self.kept.pop(place)
        while True:
            message = self.messages.get(timeout=60)
            if is_wanted(message):
                return message
            self.kept.append(message)

    def ask(self, command, fails=False, **arguments):
        self.number += 1
        sent = {"seq": self.number, "type": "request", "command": command, "arguments": arguments}
        data = json.dumps(sent).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()
        answer = self._wait(lambda m: m["type"] == "response" and m["request_seq"] == self.number)
        assert answer["success"] is not fails, answer
        return answer["message"] if fails else answer["body"]

    def event(self, name):
        return self._wait(lambda m: m["type"] == "event" and m["event"] == name)["body"]


@pytest.fixture
def client():
    made = Client()
    yield made
    made.ask("disconnect")
    assert made.process.wait(30) == 0


@pytest.mark.slow
def test_a_session_of_an_editor(client):
    lines = GEMM.read_text().split("\n")
    product = next(n for n, text in enumerate(lines, 1) if text.strip().startswith("mma.sync"))
    assert client.ask("initialize", adapterID="ptxsim")["supportsStepBack"] is True
    assert "no such" in client.ask("launch", fails=True, program="/none.ptx").lower()
    client.ask("launch", program=str(GEMM), stopOnEntry=True)
    client.event("initialized")
    asked = [{"line": product, "condition": "lane == 3 && warp == 1"}, {"line": product, "condition": "%none > 1"}]
    first, second = client.ask("setBreakpoints", source={"path": str(GEMM)}, breakpoints=asked)["breakpoints"]
    assert first == {"verified": True, "line": product} and not second["verified"]
    client.ask("configurationDone")
    assert client.event("stopped")["reason"] == "entry"
    client.ask("continue", threadId=1)
    stop = client.event("stopped")
    assert stop["reason"] == "breakpoint"
    threads = client.ask("threads")["threads"]
    assert {"id": stop["threadId"], "name": "CTA 0 warp 1"} in threads
    (frame, *_) = client.ask("stackTrace", threadId=stop["threadId"])["stackFrames"]
    assert frame["line"] == product and frame["source"]["path"] == str(GEMM)
    scopes = {
        scope["name"]: scope["variablesReference"] for scope in client.ask("scopes", frameId=frame["id"])["scopes"]
    }

    def variables(reference):
        return {one["name"]: one for one in client.ask("variables", variablesReference=reference)["variables"]}

    operands = variables(scopes["Operands"])
    assert operands["a"]["value"] == "16x16 float16"
    assert len(variables(operands["a"]["variablesReference"])) >= 17
    assert variables(scopes["Registers of the lane"])["%lane"]["value"].startswith("3 ")
    assert len(variables(variables(scopes["Registers by lane"])["%lane"]["variablesReference"])) == 32
    assert "tile_a" in variables(scopes["Shared memory"])
    assert client.ask("evaluate", expression="%lane + 1", frameId=frame["id"])["result"] == "4 in lane 3"
    assert "did you mean" in client.ask("evaluate", fails=True, expression="%lan", frameId=frame["id"])
    for command in ("next", "stepBack", "stepOut", "stepBack"):
        client.ask(command, threadId=stop["threadId"])
        assert client.event("stopped")["reason"] == "step"
    client.ask("setBreakpoints", source={"path": str(GEMM)}, breakpoints=[])
    client.ask("continue", threadId=stop["threadId"])
    client.event("terminated")
    client.ask("reverseContinue", threadId=1)
    assert client.event("stopped")["reason"] == "entry"
    assert "does not know" in client.ask("nosuch", fails=True)


@pytest.mark.slow
def test_a_finding_stops_it(client):
    file = SAMPLES / "broken" / "misaligned_ldmatrix.ptx"
    client.ask("initialize")
    client.ask("launch", program=str(file), stopOnEntry=False)
    client.event("initialized")
    client.ask("configurationDone")
    stop = client.event("stopped")
    assert (stop["reason"], stop["description"]) == ("exception", "misaligned-address")


def test_lines_of_cuda_are_shown_and_taken(monkeypatch):
    path = ROOT / "tests" / "cuda" / "broken" / "missing_barrier.ptx"
    written = path.with_suffix(".cu")
    source = Source(path.read_text(), path.name, path, Source.from_file(written))
    monkeypatch.setattr("ptxsim.debugger.dap.read_file", lambda *asked: source)
    adapter = Adapter(io.BytesIO(), io.BytesIO())
    adapter.on_launch({"program": str(written)})
    asked = {"source": {"path": str(written)}, "breakpoints": [{"line": 9}]}
    assert adapter.on_setBreakpoints(asked) == {"breakpoints": [{"verified": True, "line": 9}]}
    adapter.session.go()
    (frame, *_) = adapter.on_stackTrace({"threadId": 1})["stackFrames"]
    assert (frame["line"], frame["source"]["path"]) == (9, str(written)) and "; PTX " in frame["name"]
    adapter.session.close()

"""A language client over the standard streams of `ptxsim lsp`, made of the protocol's public types."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.helpers import ROOT


class Client:
    """Starts the server, opens a text, asks. `seen` holds the diagnostics as they came, by URI."""

    def __init__(self) -> None:
        self.client = LanguageClient("test", "1")
        self.seen: dict[str, list[list[types.Diagnostic]]] = {}
        self.versions: dict[str, int | None] = {}  # of the texts that they are of
        self.arrived = asyncio.Condition()
        self.messages: list[str] = []

        async def publish(params: Any) -> None:
            async with self.arrived:
                self.seen.setdefault(params.uri, []).append(list(params.diagnostics))
                self.versions[params.uri] = params.version
                self.arrived.notify_all()

        def show(params: Any) -> None:
            self.messages.append(params.message)

        def refresh(params: Any) -> None:
            pass

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)
        self.client.feature(types.WINDOW_SHOW_MESSAGE)(show)
        self.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)(refresh)

    async def __aenter__(self) -> Client:
        await self.client.start_io(sys.executable, "-m", "ptxsim", "lsp", "--stdio", cwd=str(ROOT))
        hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
        capabilities = types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(inlay_hint=hint))
        self.server = (
            await self.client.initialize_async(types.InitializeParams(capabilities, process_id=None))
        ).capabilities
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.shutdown_async(None)
        server = self.client._server
        self.client.exit(None)
        assert server is not None and await server.wait() == 0
        stop: Any = self.client.stop  # which has no types
        await stop()

    def open(self, uri: str, text: str) -> None:
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "ptx", 1, text)))

    def change(self, uri: str, start: Sequence[int], end: Sequence[int], text: str, version: int) -> None:
        """Replace what lies between two (line, character)."""
        edit = types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version, uri), [edit])
        )

    async def diagnostics(
        self, uri: str, wanted: Callable[[list[types.Diagnostic]], bool] = lambda found: True
    ) -> list[types.Diagnostic]:
        """The newest diagnostics, once they are as wanted."""
        async with self.arrived:
            await asyncio.wait_for(self.arrived.wait_for(lambda: uri in self.seen and wanted(self.seen[uri][-1])), 30)
            return self.seen[uri][-1]

    @staticmethod
    def at(uri: str, line: int, character: int) -> dict[str, Any]:
        return {"text_document": types.TextDocumentIdentifier(uri), "position": types.Position(line, character)}


def place_of(text: str, piece: str, inside: int = 0, nth: int = 0) -> tuple[int, int]:
    """Line and character of the n-th occurrence of a piece of a text."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(piece, offset + 1)
    offset += inside
    return text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1


def apply(text: str, edits: Sequence[Any]) -> str:
    """A text after the edits of a WorkspaceEdit for one document of ASCII."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        first = starts[edit.range.start.line] + edit.range.start.character
        last = starts[edit.range.end.line] + edit.range.end.character
        text = text[:first] + edit.new_text + text[last:]
    return text

"""The protocol: requests of an editor, answered from documents. The only file that knows pygls."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ptxsim import __version__, instructions
from ptxsim.diagnostic import Finding
from ptxsim.editor import completion, hover, names
from ptxsim.editor.document import Document
from ptxsim.editor.quick import SHORT, QuickCheck, judge
from ptxsim.editor.runs import LastRun, run_text
from ptxsim.editor.symbols import Symbol
from ptxsim.editor.worker import Worker
from ptxsim.edits import Change, changes

RUN = "ptxsim.run"
PAUSE = 0.15  # seconds without a key before a whole long text is read again
MOST = 200  # findings that an editor is told of one text
SEVERITY = {
    "error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}  # fmt: skip
ITEM = {
    "instruction": types.CompletionItemKind.Function, "modifier": types.CompletionItemKind.EnumMember,
    "name": types.CompletionItemKind.Variable, "special": types.CompletionItemKind.Constant,
    "directive": types.CompletionItemKind.Keyword,
}  # fmt: skip
SYMBOL = {"function": types.SymbolKind.Function, "label": types.SymbolKind.Key, "variable": types.SymbolKind.Variable}


class PtxServer:
    """What is open in an editor, and handlers of its requests."""

    def __init__(self) -> None:
        self.server = LanguageServer("ptxsim", __version__)
        self.documents: dict[str, Document] = {}
        self.checks: dict[str, QuickCheck] = {}
        self.last: dict[str, LastRun] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.whole = ThreadPoolExecutor(1)  # texts are read one after the other,
        self.quick = ThreadPoolExecutor(1)  # and a key waits for none of that
        self.worker = Worker()
        self.whole.submit(_prepare)  # the first mistake need not wait for it
        for method, handler, options in self._handlers():
            self.server.feature(method, options)(_function(handler))
        self.server.command(RUN)(self._run_command())

    def _handlers(self) -> list[tuple[str, Callable[[Any], Any], Any]]:
        return [
            (types.TEXT_DOCUMENT_DID_OPEN, self.changed, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self.changed, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self.closed, None),
            (types.TEXT_DOCUMENT_HOVER, self.hover, None),
            (types.TEXT_DOCUMENT_DEFINITION, self.definition, None),
            (types.TEXT_DOCUMENT_REFERENCES, self.references, None),
            (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, self.highlights, None),
            (types.TEXT_DOCUMENT_PREPARE_RENAME, self.prepare_rename, None),
            (types.TEXT_DOCUMENT_RENAME, self.rename, types.RenameOptions(prepare_provider=True)),
            (types.TEXT_DOCUMENT_COMPLETION, self.complete, types.CompletionOptions(trigger_characters=[".", "%"])),
            (types.TEXT_DOCUMENT_CODE_ACTION, self.actions,
             types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])),
            (types.TEXT_DOCUMENT_INLAY_HINT, self.hints, None),
            (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self.symbols, None),
            (types.TEXT_DOCUMENT_CODE_LENS, self.lenses, None),
        ]  # fmt: skip

    # ---- texts and their findings ----

    def document(self, uri: str) -> Document:
        """The newest version of an open text."""
        open = self.server.workspace.get_text_document(uri)
        known = self.documents.get(uri)
        if known is None or known.version != open.version or open.version is None:
            try:
                text = open.source.replace("\r\n", "\n")
            except OSError:  # asked after it was closed, and it lies nowhere
                text = ""
            if known is None or known.text != text:
                known = Document(text, to_fs_path(uri) or uri)
            known.version = open.version
            self.documents[uri] = known
        return known

    def changed(self, params: Any) -> None:
        uri = params.text_document.uri
        if uri in self.tasks:
            self.tasks[uri].cancel()
        self.tasks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        """Publish what an edit changed at once, and after a pause what the whole text says."""
        document = self.document(uri)
        check = self.checks.setdefault(uri, QuickCheck())
        loop = asyncio.get_running_loop()
        quick = await loop.run_in_executor(self.quick, check.quick, document)
        if quick is not None:
            self._publish(uri, document, quick)
            await asyncio.sleep(PAUSE)
        by = judge if len(document.lines) < SHORT else self.worker.judge
        self._publish(uri, document, await loop.run_in_executor(self.whole, check.whole, document, by))

    def _publish(self, uri: str, document: Document, findings: list[Finding]) -> None:
        if self.documents.get(uri) is not document:
            return
        document.findings = findings[:MOST]
        known = [self._diagnostic(uri, document, finding) for finding in document.findings]
        if len(findings) > MOST:
            known[-1].message += f"\n(findings after the first {MOST} are not shown)"
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, known, document.version))

    def _diagnostic(self, uri: str, document: Document, finding: Finding) -> types.Diagnostic:
        words = [finding.message, *finding.notes, *([f"help: {finding.help}"] if finding.help else [])]
        labels = [
            types.DiagnosticRelatedInformation(
                types.Location(
                    uri, self._range(document, *self._label(document, label.line, label.column, label.length))
                ),
                label.text,
            )
            for label in finding.labels
        ]
        return types.Diagnostic(
            self._range(document, *document.extent(finding)), "\n".join(words), SEVERITY[str(finding.level)],
            code=finding.name, source="ptxsim", related_information=labels or None,
        )  # fmt: skip

    @staticmethod
    def _label(document: Document, line: int, column: int, length: int) -> tuple[int, int]:
        start = document.offset(line - 1, column - 1)
        return start, start + length

    def closed(self, params: Any) -> None:
        uri = params.text_document.uri
        if task := self.tasks.pop(uri, None):
            task.cancel()
        for known in (self.documents, self.checks, self.last):
            known.pop(uri, None)
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    # ---- places: the editor counts UTF-16 units or what was agreed ----

    def _offset(self, document: Document, position: types.Position) -> int:
        place = self.server.workspace.position_codec.position_from_client_units(document.lines, position)
        return document.offset(place.line, place.character)

    def _position(self, document: Document, offset: int) -> types.Position:
        line, column = document.place(offset)
        units = self.server.workspace.position_codec.client_num_units(document.lines[line][:column])
        return types.Position(line, units)

    def _range(self, document: Document, start: int, end: int) -> types.Range:
        return types.Range(self._position(document, start), self._position(document, end))

    def _edits(self, uri: str, document: Document, found: list[Change]) -> types.WorkspaceEdit:
        edits = [types.TextEdit(self._range(document, one.start, one.end), one.text) for one in found]
        return types.WorkspaceEdit(changes={uri: edits})

    def _at(self, params: Any) -> tuple[str, Document, int]:
        uri = params.text_document.uri
        document = self.document(uri)
        return uri, document, self._offset(document, params.position)

    # ---- requests ----

    def hover(self, params: Any) -> types.Hover | None:
        uri, document, offset = self._at(params)
        text = hover.hover(document, offset, self.last.get(uri))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    def definition(self, params: Any) -> types.Location | None:
        uri, document, offset = self._at(params)
        found = names.definition(document, offset)
        return self._location(uri, document, found) if found else None

    def _location(self, uri: str, document: Document, symbol: Symbol) -> types.Location:
        return types.Location(uri, self._range(document, symbol.start, symbol.start + len(symbol.name)))

    def references(self, params: Any) -> list[types.Location]:
        uri, document, offset = self._at(params)
        found = names.references(document, offset, params.context.include_declaration)
        return [types.Location(uri, self._range(document, one.start, one.end)) for one in found]

    def highlights(self, params: Any) -> list[types.DocumentHighlight]:
        _, document, offset = self._at(params)
        found = names.references(document, offset)
        return [types.DocumentHighlight(self._range(document, one.start, one.end)) for one in found]

    def prepare_rename(self, params: Any) -> types.PrepareRenamePlaceholder | None:
        _, document, offset = self._at(params)
        found = document.tokens.at(offset)
        if found is None or found.symbol is None:
            return None
        return types.PrepareRenamePlaceholder(self._range(document, found.start, found.end), found.name)

    def rename(self, params: Any) -> types.WorkspaceEdit:
        uri, document, offset = self._at(params)
        try:
            return self._edits(uri, document, names.rename(document, offset, params.new_name))
        except names.CannotRename as problem:
            raise JsonRpcInvalidParams(str(problem)) from None

    def complete(self, params: Any) -> list[types.CompletionItem]:
        _, document, offset = self._at(params)
        items = []
        for number, one in enumerate(completion.complete(document, offset)):
            edit = types.TextEdit(self._range(document, one.start, offset), one.text)
            order = f"{one.order:03}{number:05}"
            items.append(
                types.CompletionItem(one.text, kind=ITEM[one.kind], detail=one.detail, text_edit=edit, sort_text=order)
            )
        return items

    def actions(self, params: Any) -> list[types.CodeAction]:
        """The fixes of the findings that the selection touches."""
        uri = params.text_document.uri
        document = self.document(uri)
        first, last = self._offset(document, params.range.start), self._offset(document, params.range.end)
        found = []
        for finding in document.findings:
            start, end = document.extent(finding)
            if start > last or end < first:
                continue
            for fix in finding.fixes:
                found.append(
                    types.CodeAction(
                        f"{fix.title} ({fix.tried})" if fix.tried else fix.title,
                        types.CodeActionKind.QuickFix,
                        [self._diagnostic(uri, document, finding)],
                        is_preferred=fix is finding.fixes[0],
                        edit=self._edits(uri, document, changes(document.text, fix.edits, (start, end))),
                    )  # fmt: skip
                )
        return found

    def hints(self, params: Any) -> list[types.InlayHint]:
        """Wavefronts and stalls of the last run, at the ends of its lines."""
        uri = params.text_document.uri
        document, last = self.document(uri), self.last.get(uri)
        found = []
        for then, words in last.hints.items() if last is not None else ():
            line = last.since(document).now(then) if last is not None else None
            if line is not None and params.range.start.line <= line <= params.range.end.line:
                place = self._position(document, document.offset(line, len(document.lines[line])))
                found.append(types.InlayHint(place, words, padding_left=True))
        return found

    def symbols(self, params: Any) -> list[types.DocumentSymbol]:
        document = self.document(params.text_document.uri)
        found = []
        for symbol in document.tokens.module.symbols.values():
            end = symbol.start + len(symbol.name)
            if symbol.kind == "function":
                end = min(document.tokens.scope_at(symbol.start).end, len(document.text))
            whole = self._range(document, symbol.start, end)
            own = self._range(document, symbol.start, symbol.start + len(symbol.name))
            kind = SYMBOL.get(symbol.kind, types.SymbolKind.Variable)
            found.append(types.DocumentSymbol(symbol.name, kind, whole, own, detail=symbol.text))
        return found

    # ---- runs ----

    def lenses(self, params: Any) -> list[types.CodeLens]:
        """`run` above every kernel of a file whose directives say how to launch it."""
        uri = params.text_document.uri
        document = self.document(uri)
        if "ptxsim: launch" not in document.text:
            return []
        kernels = [one for one in document.tokens.functions if ".entry" in one.text]
        return [
            types.CodeLens(
                self._range(document, one.start, one.start + len(one.name)),
                types.Command("run with ptxsim", RUN, arguments=[uri]),
            )
            for one in kernels[:1]
        ]

    def _run_command(self) -> Callable[..., Any]:
        async def run(uri: str) -> str:
            return await self.run(uri)

        return run

    async def run(self, uri: str) -> str:
        """Run a file; its numbers become hints, its findings diagnostics. Returns a sentence."""
        document = self.document(uri)
        path = to_fs_path(uri)
        found = await asyncio.get_running_loop().run_in_executor(None, run_text, document, Path(path) if path else None)
        if isinstance(found, str):
            message, kind = found, types.MessageType.Error
        else:
            self.last[uri] = found
            self.checks.setdefault(uri, QuickCheck()).ran(found)
            message, kind = found.sentence, types.MessageType.Info
            self.changed(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "ptx", 0, "")))
            workspace = self.server.client_capabilities.workspace
            if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
                self.server.workspace_inlay_hint_refresh(None)
        self.server.window_show_message(types.ShowMessageParams(kind, message))
        return message


def _prepare() -> None:
    """Load the instructions, and let garbage collection, for which a hover waits, leave out what stays for ever and come seldom.

    Measured (tools/bench/editor.py): of 22 collections of up to 54 ms of processor time, 4 of up to 43 are left.
    """
    instructions.load_families()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def _function(handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A plain function, which pygls can mark as its own."""

    def call(params: Any) -> Any:
        return handler(params)

    return call


def serve() -> None:
    """Serve one editor on standard input and output until it says goodbye."""
    server = PtxServer()
    try:
        server.server.start_io()
    finally:
        server.worker.close()

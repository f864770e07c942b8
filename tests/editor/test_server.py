"""`ptxsim lsp` as an editor sees it: over standard streams, with a client of the public protocol."""

import asyncio

import pytest

pytest.importorskip("pygls", reason="the extra `editor` is not installed")

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.editor.client import Client, apply, place_of
from tests.helpers import SAMPLES, text_of

TEXT = text_of("editor/loop.ptx")

URI = "file:///k.ptx"


def session(steps):
    """Run `steps(client)` against a fresh server that has opened TEXT."""

    async def whole():
        async with Client() as client:
            client.open(URI, TEXT)
            assert await client.diagnostics(URI) == []
            await steps(client)

    asyncio.run(asyncio.wait_for(whole(), 120))


@pytest.mark.slow
def test_a_session_of_edits():
    async def steps(client):
        lsp, document = client.client, types.TextDocumentIdentifier(URI)
        # A mistake is found, and its fix applied.
        start = place_of(TEXT, "x4.shared")
        client.change(URI, start, (start[0], start[1] + 2), "x3", 2)
        (found,) = await client.diagnostics(URI, lambda found: bool(found))
        assert (found.code, found.severity) == ("illegal-form", types.DiagnosticSeverity.Error)
        assert found.range.start.line == start[0]
        params = types.CodeActionParams(document, found.range, types.CodeActionContext([found]))
        (action, *_) = await lsp.text_document_code_action_async(params)
        assert action.title.startswith("Change ldmatrix")
        fixed = apply(TEXT.replace("x4.shared", "x3.shared"), action.edit.changes[URI])
        assert fixed in (TEXT, TEXT.replace("x4.shared", "x2.shared"))
        client.change(URI, start, (start[0], start[1] + 2), "x4", 3)
        await client.diagnostics(URI, lambda found: not found)
        # Names.
        place = client.at(URI, *place_of(TEXT, "[%r2]", 2))
        found = await lsp.text_document_definition_async(types.DefinitionParams(**place))
        assert (found.range.start.line, found.range.start.character) == place_of(TEXT, "%r<8>")
        context = types.ReferenceContext(include_declaration=False)
        found = await lsp.text_document_references_async(types.ReferenceParams(context=context, **place))
        assert [one.range.start.line for one in found] == [place_of(TEXT, piece)[0] for piece in ("%r2, tile", "%r2]")]
        edit = await lsp.text_document_rename_async(types.RenameParams(new_name="%row", **place))
        assert "[%row];" in apply(TEXT, edit.changes[URI])
        with pytest.raises(JsonRpcException, match="used already"):
            await lsp.text_document_rename_async(types.RenameParams(new_name="%r4", **place))
        # What an editor shows.
        told = await lsp.text_document_hover_async(types.HoverParams(**client.at(URI, *place_of(TEXT, "%r5", 1))))
        assert "operand `d` of `ldmatrix`, 3 of 4" in told.contents.value
        asked = types.CompletionParams(**client.at(URI, *place_of(TEXT, "add.u32", 4)))
        assert "u64" in {item.label for item in await lsp.text_document_completion_async(asked)}
        (kernel,) = await lsp.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert kernel.name == "k" and kernel.range.end.line == TEXT.count("\n") - 1
        # Nothing that is typed ends the server.
        for version, text in enumerate(["", "}{", ".reg", "\x0c\u2028é😀 \x00", TEXT[: len(TEXT) // 2], "@", "mov."]):
            client.change(URI, (0, 0), (10_000, 0), text, version + 4)
            await lsp.text_document_hover_async(types.HoverParams(**client.at(URI, 0, 1)))
            await lsp.text_document_completion_async(types.CompletionParams(**client.at(URI, 0, 4)))
        client.change(URI, (0, 0), (10_000, 0), "// 😀é\n" + TEXT, 20)
        (note, *_) = await client.diagnostics(URI, lambda found: any("ASCII" in one.message for one in found))
        assert note.range.start.character == 3
        # A question that comes after the file was closed, and is written nowhere.
        nowhere = "file:///nowhere.ptx"
        assert await lsp.text_document_hover_async(types.HoverParams(**client.at(nowhere, 0, 1))) is None

    session(steps)


@pytest.mark.slow
def test_a_run_leaves_hints_findings_and_fixes_that_it_tried():
    file = SAMPLES / "mma_gemm_conflicts.ptx"
    uri, text = file.as_uri(), file.read_text().replace("    bar.sync        0;\n", "")

    async def whole():
        async with Client() as client:
            lsp = client.client
            client.open(uri, text)
            place = client.at(uri, *place_of(text, "ldmatrix.sync"))  # asked before anything has been read
            told = await lsp.text_document_hover_async(types.HoverParams(**place))
            assert "sm_75" in told.contents.value
            await client.diagnostics(uri)
            (lens,) = await lsp.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
            said = await lsp.workspace_execute_command_async(
                types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
            )
            assert "2 findings" in said  # the race, and results that are wrong
            found = await client.diagnostics(uri, lambda found: any(one.code == "race-shared" for one in found))
            race = next(one for one in found if one.code == "race-shared")
            context = types.CodeActionContext([race])
            document = types.TextDocumentIdentifier(uri)
            params = types.CodeActionParams(document, race.range, context)
            (fix, *_) = await lsp.text_document_code_action_async(params)
            assert "tried: no finding is left" in fix.title
            assert "bar.sync 0;" in apply(text, fix.edit.changes[uri])
            everything = types.Range(types.Position(0, 0), types.Position(10_000, 0))
            asked = types.InlayHintParams(types.TextDocumentIdentifier(uri), everything)
            hints = await lsp.text_document_inlay_hint_async(asked)
            conflicting = [hint for hint in hints if "wavefronts, ideal" in hint.label]
            assert any("ldmatrix" in text.split("\n")[hint.position.line] for hint in conflicting)
            # Two lines above: the hints move with their lines.
            client.change(uri, (0, 0), (0, 0), "// one\n// two\n", 2)
            moved = await lsp.text_document_inlay_hint_async(asked)
            assert [h.position.line for h in moved] == [h.position.line + 2 for h in hints]

    asyncio.run(asyncio.wait_for(whole(), 120))

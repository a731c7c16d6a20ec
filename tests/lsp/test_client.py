"""The language server as an editor meets it: a client starts it and speaks the protocol with it."""

import asyncio
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.extras
pytest_lsp = pytest.importorskip("pytest_lsp")
pytest_asyncio = pytest.importorskip("pytest_asyncio")
from lsprotocol import types as t  # noqa: E402
from pytest_lsp.client import (  # noqa: E402
    DEFAULT_CLIENT_FEATURES,
    LanguageClient,
    default_converter,
    register_lsp_features,
)

PROGRAM = """\
import "std/list"

type Layer[o: Dim, i: Dim] { Layer { w: Tensor[(o, i), float32], b: Tensor[(o,), float32] } }

// One layer: a product and a bias.
def @layer(%l: Layer[o, i], %x: Tensor[(n, i), float32]) {
  let %y = nn.dense(%x, %l.w);
  nn.relu(%y + %l.b)
}

def @main(%l: Layer[4, 3], %x: Tensor[(2, 3), float32]) {
  let %z = @layer(%l, %x);
  sum(%z, axis=1)
}
"""


class Published:
    """The last diagnostics of each document that nobody has asked for.

    The library's own way to wait for a notification misses one that comes together with another.
    """

    def __init__(self) -> None:
        self.last: dict[str, t.PublishDiagnosticsParams] = {}
        self.changed = asyncio.Event()

    def take(self, params: t.PublishDiagnosticsParams) -> None:
        self.last[params.uri] = params
        self.changed.set()

    async def of(self, uri: str, version: int) -> list[t.Diagnostic]:
        """Those of a version of a document, each given once."""
        while (found := self.last.get(uri)) is None or found.version != version:
            self.changed.clear()
            await self.changed.wait()
        del self.last[uri]
        return list(found.diagnostics)


@pytest_asyncio.fixture
async def client(tmp_path: Path):
    config = pytest_lsp.ClientServerConfig(server_command=[sys.executable, "-m", "relay", "lsp"])
    made = LanguageClient(converter_factory=default_converter)
    published = Published()

    def publish(client: LanguageClient, params: t.PublishDiagnosticsParams) -> None:
        published.take(params)

    register_lsp_features(made, {**DEFAULT_CLIENT_FEATURES, t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: publish})
    made.published = published
    await made.start_io(*config.server_command)
    params = t.InitializeParams(
        capabilities=pytest_lsp.client_capabilities("visual-studio-code"),
        workspace_folders=[t.WorkspaceFolder(tmp_path.as_uri(), "folder")],
    )
    await made.initialize_session(params)
    yield made
    await made.shutdown_session()
    await made.stop()


class Editor:
    """A file that is open in a client."""

    def __init__(self, client, path: Path, text: str) -> None:
        self.client, self.path, self.text = client, path, text
        self.uri = path.as_uri()
        self.document = t.TextDocumentIdentifier(self.uri)
        self.version = 1
        item = t.TextDocumentItem(self.uri, "relay", 1, text)
        client.text_document_did_open(t.DidOpenTextDocumentParams(item))

    def at(self, mark: str, skip: int = 0) -> t.Position:
        """The position of the `skip`th occurrence of a text, behind its first character."""
        offset = -1
        for _ in range(skip + 1):
            offset = self.text.index(mark, offset + 1)
        return self.position(offset + 1)

    def position(self, offset: int) -> t.Position:
        before = self.text[:offset]
        line = before.rpartition("\n")[2]
        return t.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def shown(self, where: t.Range) -> str:
        """The text of a range within one line."""
        assert where.start.line == where.end.line
        line = self.text.split("\n")[where.start.line].encode("utf-16-le")
        return line[2 * where.start.character : 2 * where.end.character].decode("utf-16-le")

    def change(self, text: str) -> None:
        self.version += 1
        self.text = text
        self.client.text_document_did_change(
            t.DidChangeTextDocumentParams(
                t.VersionedTextDocumentIdentifier(self.version, self.uri),
                [t.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def diagnostics(self) -> list[t.Diagnostic]:
        """Those of the text as it is now."""
        return await self.client.published.of(self.uri, self.version)


@pytest.fixture
def editor(client, tmp_path: Path):
    def opened(text: str = PROGRAM, name: str = "program.relay") -> Editor:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return Editor(client, path, text)

    return opened


@pytest.mark.asyncio
async def test_diagnostics_have_codes_hints_and_pages(editor):
    e = editor("def @main(%x: int32) { %y + 1 }\n")
    (found,) = await e.diagnostics()
    assert found.code == "unknown-variable"
    assert found.source == "relay"
    assert "hint:" in found.message
    assert found.code_description.href.endswith("/errors/unknown-variable.md")
    assert e.shown(found.range) == "%y"
    e.change("def @main(%x: int32) { %x + 1 }\n")
    assert await e.diagnostics() == []


@pytest.mark.asyncio
async def test_positions_count_utf16_units(editor):
    e = editor('def @main() {\r\n  let %s = "\U0001f600e\u0301"; %y\r\n}\r\n')
    (found,) = await e.diagnostics()
    assert e.shown(found.range) == "%y"


@pytest.mark.asyncio
async def test_hover_shows_types_and_manuals(editor, client):
    e = editor()

    async def text(mark: str, skip: int = 0) -> str:
        found = await client.text_document_hover_async(t.HoverParams(e.document, e.at(mark, skip)))
        return found.contents.value

    assert "%y: Tensor[(n, o), float32]" in await text("%y")
    assert "fully connected" in (await text("nn.dense")).lower() or "units" in await text("nn.dense")
    assert "One layer: a product and a bias." in await text("@layer(%l, %x)")
    assert "Layer { w: Tensor[(o, i), float32]" in await text("Layer[4, 3]")
    assert "b: Tensor[(o,), float32]" in await text("b)")
    assert "axis" in await text("axis=1")


@pytest.mark.asyncio
async def test_definitions_are_found_also_in_the_library(editor, client):
    e = editor(PROGRAM + "\ndef @count(%q) { @length(%q) }\n")
    params = t.DefinitionParams(e.document, e.at("%y", 1))
    found = await client.text_document_definition_async(params)
    assert found.range.start == t.Position(6, 6)
    found = await client.text_document_definition_async(t.DefinitionParams(e.document, e.at("@length")))
    assert found.uri.endswith("/std/list.relay")


@pytest.mark.asyncio
async def test_a_rename_changes_every_file_that_names_it(editor, client):
    a = editor("def @double(%x: float32) { %x * 2f }\n", "a.relay")
    b = editor('import "a"\ndef @main() { @double(1f) }\n', "b.relay")
    await b.diagnostics()
    (a.path.parent / "c.relay").write_text('import "a"\ndef @main() { @double(@double(1f)) }\n')
    found = await client.text_document_rename_async(t.RenameParams(a.document, a.at("@double"), "twice"))
    assert {uri.rpartition("/")[2]: len(edits) for uri, edits in found.changes.items()} == {
        "a.relay": 1,
        "b.relay": 1,
        "c.relay": 2,
    }
    assert all(edit.new_text == "@twice" for edits in found.changes.values() for edit in edits)


@pytest.mark.asyncio
async def test_a_rename_that_would_capture_is_refused(editor, client):
    e = editor()
    with pytest.raises(Exception, match="`x` already"):
        await client.text_document_rename_async(t.RenameParams(e.document, e.at("%y"), "x"))


@pytest.mark.asyncio
async def test_the_outline_has_definitions_types_and_fields(editor, client):
    e = editor()
    found = await client.text_document_document_symbol_async(t.DocumentSymbolParams(e.document))
    assert [s.name for s in found] == ["Layer", "@layer", "@main"]
    assert [s.name for s in found[0].children[0].children] == ["w", "b"]
    folds = await client.text_document_folding_range_async(t.FoldingRangeParams(e.document))
    assert (5, 7) in [(f.start_line, f.end_line) for f in folds]


@pytest.mark.asyncio
async def test_references_and_highlights_are_every_use(editor, client):
    e = editor()
    found = await client.text_document_references_async(
        t.ReferenceParams(t.ReferenceContext(True), e.document, e.at("@layer"))
    )
    assert len(found) == 2
    params = t.DocumentHighlightParams(e.document, e.at("%x"))
    assert len(await client.text_document_document_highlight_async(params)) == 2


@pytest.mark.asyncio
async def test_requests_at_once_after_an_edit_are_answered(editor, client):
    e = editor()
    e.change(PROGRAM.replace("let %y", "let %k = 3; let %y"))
    found = await client.text_document_hover_async(t.HoverParams(e.document, e.at("%k")))
    assert "%k: int32" in found.contents.value


@pytest.mark.asyncio
async def test_completion_has_documentation_and_works_where_nothing_parses(editor, client):
    e = editor("def @main(%x: Tensor[(2, 3), float32]) { nn.re }\n")
    at = e.position(e.text.index(" }"))
    found = await client.text_document_completion_async(t.CompletionParams(e.document, at))
    relu = next(i for i in found.items if i.label == "nn.relu")
    assert e.shown(relu.text_edit.range) == "nn.re"
    resolved = await client.completion_item_resolve_async(relu)
    assert "nn.relu(" in resolved.documentation.value
    e.change('import "std/list"\ndef @main(%x: List[int32]) { @ }\n')
    at = e.position(e.text.index(" }"))
    found = await client.text_document_completion_async(t.CompletionParams(e.document, at))
    assert {"@main", "@map"} <= {i.label for i in found.items}


@pytest.mark.asyncio
async def test_a_definition_of_the_library_is_completed_with_its_import(editor, client):
    e = editor("def @main(%x) { @leng }\n")
    at = e.position(e.text.index(" }"))
    found = await client.text_document_completion_async(t.CompletionParams(e.document, at))
    item = next(i for i in found.items if i.label == "@length")
    assert item.additional_text_edits[0].new_text == 'import "std/list"\n'


@pytest.mark.asyncio
async def test_signatures_inlays_and_colours(editor, client):
    e = editor()
    at = e.position(e.text.index("%l.w)"))
    found = await client.text_document_signature_help_async(t.SignatureHelpParams(e.document, at))
    assert found.signatures[0].label.startswith("nn.dense(data, weight")
    assert found.active_parameter == 1
    everything = t.Range(t.Position(0, 0), t.Position(99, 0))
    inlays = await client.text_document_inlay_hint_async(t.InlayHintParams(e.document, everything))
    assert ": Tensor[(n, o), float32]" in [i.label for i in inlays]
    tokens = await client.text_document_semantic_tokens_full_async(t.SemanticTokensParams(e.document))
    delta = await client.text_document_semantic_tokens_full_delta_async(
        t.SemanticTokensDeltaParams(e.document, str(tokens.result_id))
    )
    assert list(delta.edits) == []
    assert list(tokens.data[:5]) == [0, 0, 6, 8, 0]
    params = t.SemanticTokensRangeParams(e.document, everything)
    assert (await client.text_document_semantic_tokens_range_async(params)).data == tokens.data


@pytest.mark.asyncio
async def test_a_document_is_formatted_and_hints_are_applied(editor, client):
    e = editor("// kept\ndef @main(%x:int32){%x+1}\n")
    options = t.FormattingOptions(2, True)
    (edit,) = await client.text_document_formatting_async(t.DocumentFormattingParams(e.document, options))
    assert edit.new_text == "// kept\ndef @main(%x: int32) {\n  %x + 1\n}\n"
    e.change("def @main(%xs: int32) { %xz }\n")
    (found,) = await e.diagnostics()
    context = t.CodeActionContext([found])
    params = t.CodeActionParams(e.document, found.range, context)
    (action,) = await client.text_document_code_action_async(params)
    assert action.edit.changes[e.uri][0].new_text == "%xs"


@pytest.mark.asyncio
async def test_calls_are_found_both_ways(editor, client):
    e = editor()
    (item,) = await client.text_document_prepare_call_hierarchy_async(
        t.CallHierarchyPrepareParams(e.document, e.at("@layer"))
    )
    params = t.CallHierarchyIncomingCallsParams(item)
    (caller,) = await client.call_hierarchy_incoming_calls_async(params)
    assert caller.from_.name == "@main"
    params = t.CallHierarchyOutgoingCallsParams(caller.from_)
    (callee,) = await client.call_hierarchy_outgoing_calls_async(params)
    assert callee.to.name == "@layer"


@pytest.mark.asyncio
async def test_what_a_file_imports_may_change_beside_it(editor, client):
    (editor("", "c.relay").path.parent / "a.relay").write_text("def @f(%x: int32) { %x }\n")
    e = editor('import "a"\ndef @main() { @f(1) + @g(2) }\n', "b.relay")
    assert [d.code for d in await e.diagnostics()] == ["unknown-global"]
    (e.path.parent / "a.relay").write_text("def @f(%x: int32) { %x }\ndef @g(%x: int32) { %x }\n")
    change = t.FileEvent((e.path.parent / "a.relay").as_uri(), t.FileChangeType.Changed)
    client.workspace_did_change_watched_files(t.DidChangeWatchedFilesParams([change]))
    assert await e.diagnostics() == []

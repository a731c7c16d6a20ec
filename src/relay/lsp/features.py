"""The server with every feature, each request answered by the module that is for it."""

from typing import Any

from relay.lsp import assistance, navigation
from relay.lsp.coloring import KINDS, MODIFIERS
from relay.lsp.server import Server


def make_server() -> Server:
    """A server with all features (`no-language-server`)."""
    server = Server()
    t = server.types
    server.feature(t.TEXT_DOCUMENT_DID_OPEN, server.did_open)
    server.feature(t.TEXT_DOCUMENT_DID_CHANGE, server.did_change)
    server.feature(t.TEXT_DOCUMENT_DID_CLOSE, server.did_close)
    server.feature(t.WORKSPACE_DID_CHANGE_WATCHED_FILES, server.did_change_files)
    options = options_of(t)
    for name, answer in {**navigation.reading_features(t), **assistance.writing_features(t)}.items():
        server.feature(name, server.about(answer), options.get(name))
    for name, answer in assistance.plain_features(t).items():
        server.feature(name, server.with_server(answer))
    return server


def options_of(t: Any) -> dict[str, Any]:
    """What clients are told about features; `t` are the types of the protocol."""
    legend = t.SemanticTokensLegend(list(KINDS), list(MODIFIERS))
    return {
        t.TEXT_DOCUMENT_RENAME: t.RenameOptions(prepare_provider=True),
        t.TEXT_DOCUMENT_COMPLETION: t.CompletionOptions(
            trigger_characters=["%", "@", ".", '"', "/"], resolve_provider=True
        ),
        t.TEXT_DOCUMENT_SIGNATURE_HELP: t.SignatureHelpOptions(trigger_characters=["(", ",", "="]),
        t.TEXT_DOCUMENT_CODE_ACTION: t.CodeActionOptions(code_action_kinds=[t.CodeActionKind.QuickFix]),
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: legend,
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: legend,
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: legend,
    }

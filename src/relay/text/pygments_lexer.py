"""A lexer of Pygments, which colours programs of Relay in pages and notebooks.

Pygments finds it by the names `relay` and `.relay`, as an entry point of this distribution.
"""

from collections.abc import Callable
from typing import Any, ClassVar, cast

from pygments import lexer
from pygments.lexer import RegexLexer, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from relay.ir.dtype import ALIASES, DTYPES

bygroups = cast("Callable[..., Any]", lexer.bygroups)  # pyright: ignore[reportUnknownMemberType]
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_QUOTED = r'"(?:\\.|[^"\\\n])*"?'
_DECLARING = ("let", "rec", "fn", "fun", "def", "type", "data", "extern", "free_var", "attributes", "options")
_SHAPING = ("where", "with", "as", "and")
_CHOOSING = ("if", "else", "match", "case", "return", "ret")
_CHANGING = ("grad", "vjp", "jvp", "vmap", "ref", "ref_read", "ref_write")
_TYPES = ("Tensor", "Tuple", "Ref", "Dim", "Shape", "Type")


class RelayLexer(RegexLexer):
    """Programs of Relay, in each of its versions of text."""

    name = "Relay"
    aliases = ("relay",)
    filenames = ("*.relay", "*.rly")
    mimetypes = ("text/x-relay",)
    url = ""
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r"#\[\s*[A-Za-z_][^\]\n]*\]?", Comment.Preproc),
            (r"#[^\n]*", Comment.Single),
            (
                rf"(def)(\s+)(@?(?:{_NAME}|{_QUOTED}))",
                bygroups(Keyword.Declaration, Whitespace, Name.Function),
            ),
            (rf"(type)(\s+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (r"import\b", Keyword.Namespace),
            (rf"%(?:{_NAME}|[0-9]+|{_QUOTED})", Name.Variable),
            (rf"@(?:{_NAME}|{_QUOTED})", Name.Function),
            (_QUOTED, String),
            (r"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)[A-Za-z0-9_]*", Number.Float),
            (r"[0-9]+[A-Za-z0-9_]*", Number.Integer),
            (rf"({_NAME})(\s*)(=)(?![=>])", bygroups(Name.Attribute, Whitespace, Operator)),
            (words(_CHOOSING, prefix=r"\b", suffix=r"\b"), Keyword),
            (words((*_DECLARING, *_SHAPING), prefix=r"\b", suffix=r"\b"), Keyword.Declaration),
            (words(("True", "False", "None", "true", "false"), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words((*DTYPES, *ALIASES, *_TYPES), prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (words(_CHANGING, prefix=r"\b", suffix=r"\b(?=\s*\()"), Name.Builtin),
            (r"[A-Z][A-Za-z0-9_]*\b", Name.Class),
            (rf"{_NAME}(?:\.{_NAME})+|[a-z_][A-Za-z0-9_]*(?=\s*\()", Name.Builtin),
            (_NAME, Name),
            (r"\[\||\|\]|[(){}\[\],;:]", Punctuation),
            (r"->|=>|==|!=|<=|>=|&&|\|\||\*\*|\.\.\.?|…|[-+*/%@<>=!?|.]", Operator),
        ],
        "comment": [
            (r"[^*/]+", Comment.Multiline),
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[*/]", Comment.Multiline),
        ],
    }

"""Names in text: when to quote, how to escape, and which names a type parameter may not take."""

import re
from collections.abc import Iterable

from relay.ir.dtype import ALIASES, DTYPES

DIM_CALLS = ("min", "max", "broadcast")
"""Functions of dimensions."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z").match
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z").match
_PATH = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*((/|::)[A-Za-z0-9_]+|(\.[0-9]+)*\.[A-Za-z_][A-Za-z0-9_]*)*\Z"
).match

KEYWORDS = frozenset(
    {
        "and",
        "attributes",
        "case",
        "data",
        "def",
        "else",
        "extern",
        "fn",
        "free_var",
        "fun",
        "grad",
        "if",
        "import",
        "jvp",
        "let",
        "match",
        "meta",
        "rec",
        "ref",
        "ref_read",
        "ref_write",
        "ret",
        "return",
        "type",
        "vjp",
        "where",
        "True",
        "False",
        "None",
        "Constant",
        "_",
    }
)
TYPE_WORDS = frozenset(
    {
        "_",
        "Tensor",
        "Tuple",
        "Ref",
        "ref",
        "fn",
        "fun",
        "min",
        "max",
        "broadcast",
        "Type",
        "Shape",
        "Dim",
        "BaseType",
        "Constraint",
        "AdtHandle",
        "where",
        "string",
        *DTYPES,
        *ALIASES,
    }
)


def is_plain(name: str) -> bool:
    """Whether a name needs no quotes."""
    return _PLAIN(name) is not None


def is_path(name: str) -> bool:
    """Whether a name is plain but for slashes, colons and dots within, as variables of version 0.0.5 have."""
    return _PATH(name) is not None


def is_dotted(name: str) -> bool:
    """Whether a name is plain names joined by dots, as operators have."""
    return _DOTTED(name) is not None


def quote(text: str) -> str:
    """A string literal."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    if not out.isprintable():
        out = "".join([c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in out])
    return f'"{out}"'


def local(name: str) -> str:
    """`%x`, or `%"features.0/weight"`."""
    return f"%{name}" if _PLAIN(name) else f"%{quote(name)}"


def global_(name: str) -> str:
    """`@f`, or `@"my.fn"`."""
    return f"@{name}" if _PLAIN(name) else f"@{quote(name)}"


def type_name(name: str) -> str:
    """The name of a data type; `@"…"` if it is not a plain name, or is a keyword."""
    return name if _PLAIN(name) and name not in KEYWORDS and name not in TYPE_WORDS else f"@{quote(name)}"


def constructor(name: str) -> str:
    """The name of a constructor; `@"…"` if it is not a plain name, or is a keyword."""
    # `None` is a word of attributes alone, and the constructor of the standard option.
    return name if _PLAIN(name) and (name not in KEYWORDS or name == "None") else f"@{quote(name)}"


class Fresh:
    """Gives out names that are not taken: `x` if it is free, else `x_1`, `x_2`, …"""

    __slots__ = ("suffixes", "taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """`taken` are names that are in use already."""
        self.taken = set(taken)
        self.suffixes: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """`name` or a similar one, taken from here on; in constant time, however many there are."""
        new, i = name, self.suffixes.get(name, 0)
        while new in self.taken:
            i += 1
            new = f"{name}_{i}"
        self.suffixes[name] = i
        self.taken.add(new)
        return new

    def release(self, name: str) -> None:
        """A name is free again."""
        self.taken.discard(name)
        self.suffixes.clear()


def type_parameter(name: str, fresh: Fresh) -> str:
    """A name for a type parameter: its own where that is plain and free, else a similar one."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name) or "t"
    if not _PLAIN(plain):
        plain = f"t{plain}"
    if plain in KEYWORDS or plain in TYPE_WORDS or plain == "_":
        plain = f"{plain}_"
    return fresh(plain)

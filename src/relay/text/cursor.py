"""A position in the tokens, and the errors found there.

A rule of the grammar that contains itself is a generator, which `relay.ir.walk.run` drives: it yields another
rule and receives what that one returns, so that no depth of nesting meets Python's stack.
"""

from collections.abc import Generator
from typing import Any, NoReturn

from relay.diagnostic import Diagnostic, Note, RelayError, Report, Span, readable
from relay.text.lexer import MOST_ERRORS, Tokens
from relay.text.literals import short
from relay.text.other_languages import FLOOR_DIVISION, TOKENS, WORDS

Rule = Generator[Any, Any, Any]


class ParseError(Exception):
    """A fault at a place; the innermost block around it reports it and goes on behind it."""

    def __init__(self, diagnostic: Diagnostic, at: int) -> None:
        """`at` is the index of the token where it was noticed."""
        super().__init__(diagnostic)
        self.diagnostic = diagnostic
        self.at = at


class GivenUpError(Exception):
    """Ends a parse that has nothing useful to say any more."""


class Cursor:
    """Tokens, a position, and what went wrong so far."""

    def __init__(self, tokens: Tokens, report: Report) -> None:
        """Begin at the first token."""
        self.tokens = tokens
        self.source = tokens.source
        self.strict = tokens.strict
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.i: int = 0
        self.report = report
        self._last_fault = -1
        self._partner: dict[int, int] | None = None
        self._angle_partner: dict[int, int] | None = None
        self._enclosing: list[int] | None = None

    @property
    def partner(self) -> dict[int, int]:
        """For each bracket that has one, the index of its partner."""
        if self._partner is None:
            self._partner = self.tokens.brackets()
        return self._partner

    @property
    def enclosing(self) -> list[int]:
        """For each token the bracket it is directly inside of, or -1."""
        if self._enclosing is None:
            self._enclosing = self.tokens.enclosing()
        return self._enclosing

    @property
    def angle_partner(self) -> dict[int, int]:
        """For each `<` that could open a list of types, the index of its `>`."""
        if self._angle_partner is None:
            self._angle_partner = self.tokens.angles()
        return self._angle_partner

    def span(self, first: int, last: int | None = None) -> Span:
        """From token `first` to token `last` (or `first` alone)."""
        return Span(self.source, self.starts[first], self.ends[first if last is None else last])

    def here(self, i: int) -> Span:
        """Token `i` as a place for a message: the end of the text is shown behind its last token."""
        if self.kinds[i] == "END" and i:
            return Span(self.source, self.ends[i - 1], self.ends[i - 1] + 1)
        return self.span(i)

    def spelled(self, i: int) -> str:
        """Token `i` as messages call it."""
        return "the end of the text" if self.kinds[i] == "END" else f"`{self.source_text(i)}`"

    def source_text(self, i: int) -> str:
        """The text of token `i` as written, cut to a readable length."""
        return readable(short(self.source.text[self.starts[i] : self.ends[i]]))

    def on_new_line(self, i: int) -> bool:
        """Whether a newline stands between token `i` and the one before it."""
        return "\n" in self.source.text[self.ends[i - 1] : self.starts[i]]

    def fault(
        self,
        code: str,
        message: str,
        at: int,
        *,
        to: int | None = None,
        label: str = "",
        hint: str = "",
        notes: tuple[Note, ...] = (),
    ) -> NoReturn:
        """Raise a fault at token `at` (up to token `to`)."""
        span = self.here(at) if to is None else self.span(at, to)
        raise ParseError(Diagnostic(code, message, span, label, notes, hint), at)

    def mistake(
        self,
        code: str,
        message: str,
        at: int,
        *,
        to: int | None = None,
        label: str = "",
        hint: str = "",
        notes: tuple[Note, ...] = (),
    ) -> None:
        """Report an error at token `at` (up to token `to`) and go on."""
        span = self.here(at) if to is None else self.span(at, to)
        self.add(Diagnostic(code, message, span, label, notes, hint))

    def defined_twice(self, what: str, at: int, first: int) -> ParseError:
        """The fault that token `at` defines again what token `first` defines."""
        note = Note("the first definition is here", self.span(first))
        diagnostic = Diagnostic("duplicate-name", f"{what} is defined twice", self.span(at), notes=(note,))
        return ParseError(diagnostic, at)

    def lint(self, code: str, message: str, at: int, *, to: int | None = None, hint: str) -> None:
        """Warn about an old form at token `at`; `hint` shows the modern one."""
        self.report.warn(code, message, self.span(at, to), hint=hint)

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep an error; the hundredth is the last."""
        self.report.add(diagnostic)
        if len(self.report.diagnostics) > MOST_ERRORS and len(self.report.errors) >= MOST_ERRORS:
            self.report.error(
                "too-many-errors",
                f"{MOST_ERRORS} errors are enough for one run",
                diagnostic.span,
                hint="fix the first ones; later ones often follow from them",
            )
            raise GivenUpError

    def recovered(self, fault: ParseError) -> None:
        """Keep a fault, unless the one before it was noticed at the same token and so led to it."""
        if fault.at != self._last_fault:
            self._last_fault = fault.at
            self.add(fault.diagnostic)

    def located(self, error: RelayError, at: int, to: int | None = None) -> ParseError:
        """A fault found without a place (a number, an attribute), put at tokens `at` to `to`."""
        d = error.diagnostics[0]
        span = d.span or self.span(at, to)
        return ParseError(Diagnostic(d.code, d.message, span, d.label, d.notes, d.hint), at)

    def expected(self, what: str, *, hint: str = "", opener: int | None = None) -> NoReturn:
        """Raise `unexpected-token` here: `what` should stand here; `opener` is the bracket that waits."""
        i = self.i
        notes: tuple[Note, ...] = ()
        if opener is None and self.kinds[i] == "END":
            opener = self.tokens.unclosed()
        if opener is not None:
            notes = (Note(f"the `{self.texts[opener]}` that waits for it is here", self.span(opener)),)
        message = f"expected {what}, found {self.spelled(i)}"
        missing = what in ("`;`", "`,`", "`)`", "`]`", "`|]`", "`}`") and i > 0 and self.on_new_line(i)
        if missing or (self.kinds[i] == "END" and i > 0):
            span = Span(self.source, self.ends[i - 1], self.ends[i - 1] + 1)
        else:
            span = self.span(i)
        hint = (self.kinds[i] == "NAME" and WORDS.get(self.texts[i])) or hint or self._guess(what)
        raise ParseError(Diagnostic("unexpected-token", message, span, "", notes, hint), i)

    def _guess(self, what: str) -> str:
        """A hint by what was found, and `what` was expected."""
        kind, i = self.kinds[self.i], self.i
        if self.is_commented_out(what, i):
            return FLOOR_DIVISION
        if kind == "PROJ" and what == "an expression":
            return f"write `0{self.source_text(i)}`"
        if kind in ("LOCAL", "GRAPH") and i and self.kinds[i - 1] in _CAN_END and not self.on_new_line(i):
            return "the remainder operator `%` is followed by white space"
        if i and self.kinds[i - 1] in _CAN_END and not self.on_new_line(i):
            if kind in TOKENS:
                return TOKENS[kind]
            if kind == "GLOBAL":
                return "a product of matrices is `a @ b`, with white space; what begins with `@` is a global"
        if kind == ":" and what == "`{`":
            return "the type of a result follows `->`: `def @f(%x: A) -> B { … }`; it may be left out"
        if kind == "=":
            return "equality is `==`; a binding begins with `let`"
        return _FORMS.get(what, "")

    def is_commented_out(self, what: str, i: int) -> bool:
        """Whether `what` is missing before token `i` because it is behind a `//` that was meant to divide."""
        between = self.source.text[self.ends[i - 1] : self.starts[i]] if i else ""
        line = between.partition("\n")[0].lstrip()
        return line.startswith("//") and any(c in line for c in what if c in ";,)]}")

    def take(self, kind: str, *, what: str = "", opener: int | None = None) -> int:
        """Step over a token of that kind; its index."""
        i = self.i
        if self.kinds[i] != kind:
            self.expected(what or f"`{kind}`", opener=opener)
        self.i = i + 1
        return i

    def take_angle(self, opener: int) -> int:
        """Step over the `>` that closes a list of types, also as the beginning of `>=`."""
        i = self.i
        if self.kinds[i] == ">=":
            self.kinds[i] = self.texts[i] = "="
            self.starts[i] += 1
            return i - 1
        return self.take(">", opener=opener)

    def is_word(self, i: int, *words: str) -> bool:
        """Whether token `i` is one of these words."""
        return self.kinds[i] == "NAME" and self.texts[i] in words


_FORMS = {
    "`;`": "a binding ends with `;`, then comes what it is for",
    "`=`": "a binding is `let %x = value;`",
    "`)`": "every bracket is closed by its own kind",
    "`]`": "every bracket is closed by its own kind",
    "`|]`": "a list is `[| a, b |]`, or `[| a, ..%rest |]` before another one",
    "`}`": "every bracket is closed by its own kind",
    "`,` or `)`": "what stands in brackets is separated by commas, and ends with `)`",
    "`(` around the condition": "write `if (%c) { … } else { … }`",
    "an expression": "an expression is a name, a number, a call `f(…)`, or something in brackets",
    "a parameter": "a parameter is `%x` or `%x: Type`",
    "a type": "a type is `int32`, `Tensor[(2, 3), float32]`, `(A, B)`, `fn(A) -> B` or a name",
    "a constructor or `}`": "constructors are separated by commas: `Nil, Cons(a, List[a])`",
    "the name of a relation": "`where` is followed by relations: `where Broadcast(a, b, c)`",
}
"""The usual correction where something else was found, by what was expected."""

_CAN_END = frozenset({"LOCAL", "GRAPH", "GLOBAL", "NAME", "NUMBER", "PROJ", ")", "]", "|]", "}"})

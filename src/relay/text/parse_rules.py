"""The rules of the grammar that contain each other, by name; and what is said of old forms.

Each part of the grammar is a class above the parts it is made of.  What a part needs of those above it is
declared here.
"""

from typing import Any

from relay.ir.expr import Constant, Var
from relay.ir.type import Kind
from relay.text.cursor import Rule
from relay.text.literals import unescape
from relay.text.scope import Names


class Rules(Names):
    """Names in scope, and the rules that `parse_types` to `parse_body` supply."""

    # --- old forms ------------------------------------------------------------------------------------------

    def old_form(self, i: int, code: str, message: str, hint: str) -> None:
        """A form of the early drafts: a lint, and an error in the strict dialect."""
        say = self.mistake if self.strict else self.lint
        say(code, message, i, hint=hint)

    def no_sigil(self, i: int, what: str = "local", sigil: str = "%") -> None:
        """A name without the sign that it has today."""
        name = self.texts[i]
        self.old_form(i, "missing-sigil", f"the {what} `{name}` has no sigil", f"write {sigil}{name}")

    def full_language_only(self, i: int, what: str, instead: str) -> None:
        """A fault at token `i` in the strict dialect, which lacks the form."""
        if self.strict:
            self.fault(
                "unexpected-token",
                f"version 0.0.5 has no {what}",
                i,
                hint=f"write `{instead}`, or leave the version out for the full language",
            )

    # --- texts ----------------------------------------------------------------------------------------------

    def string(self, i: int) -> str:
        """The text that string token `i` means."""
        return unescape(self.texts[i], self.span(i), self.report)

    # --- rules ----------------------------------------------------------------------------------------------

    def type_(self, kind: Kind | None = Kind.Type) -> Any:
        """A type, shape, dimension or dtype."""
        raise _missing()

    def rule_type(self, kind: Kind | None) -> Rule:
        """Parse an identifier inside a type."""
        raise _missing()

    def expression(self, by_line: bool = False) -> Rule:
        """An expression within one statement; `by_line` lets it end where a line does."""
        raise _missing()

    def constant(self, start: int) -> Rule:
        """`Constant(v, shape, dtype)`; the word is read already."""
        raise _missing()

    def tensor_literal(self) -> Rule:
        """`[a, b]`; the bracket is read already."""
        raise _missing()

    def number(self, first: int, i: int) -> Constant:
        """The number at token `i`; a minus before it is token `first`."""
        raise _missing()

    def list_literal(self) -> Rule:
        """`[| a, b, ..%rest |]`; the bracket is read already."""
        raise _missing()

    def function(self, start: int, var: Var | None = None, key: str | None = None) -> Rule:
        """A function; `fn` is read already."""
        raise _missing()

    def if_(self, start: int) -> Rule:
        """A choice; `if` is read already."""
        raise _missing()

    def match(self, start: int) -> Rule:
        """A `match`, which is read already."""
        raise _missing()

    def group(self) -> Rule:
        """`()`, `(e)`, `(a, b)`, `(e : T)`; the parenthesis is read already."""
        raise _missing()

    def braces(self) -> Rule:
        """`{ … }`."""
        raise _missing()

    def sequence(self, *, is_value: bool = False, by_line: bool = False, opener: int | None = None) -> Rule:
        """Statements and a result."""
        raise _missing()


def _missing() -> AssertionError:
    return AssertionError("a part of the grammar above this one supplies the rule")

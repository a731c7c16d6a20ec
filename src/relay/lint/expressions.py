"""Rules about expressions that say less than they are long."""

import re
from collections.abc import Iterator

from relay.diagnostic import Span
from relay.ir.equal import structural_equal
from relay.ir.expr import Call, Constant, Expr, If, Let, Var
from relay.ir.type import TensorType
from relay.lint.finding import Edit, Finding, finding, has_comment, rule
from relay.lint.names import nodes
from relay.lsp.index import Document
from relay.op.cast import Cast

ATOM = re.compile(r"[%@]?[A-Za-z_][\w.]*")
WITH_BOOL = re.compile(r"(?P<left>.+?)\s*(?P<op>==|!=)\s*(?P<right>True|False)", re.DOTALL)


def here(document: Document, e: Expr) -> Span | None:
    """The place of an expression, if it is in the text."""
    return e.span if e.span is not None and e.span.source is document.source else None


@rule("needless-let")
def needless_lets(document: Document) -> Iterator[Finding]:
    """A variable that is bound only to be the value of the block."""
    for let in nodes(document):
        if not isinstance(let, Let) or let.body is not let.var or let.var.name.startswith("_"):
            continue
        span = here(document, let)
        places = [] if let.var.span is None else _uses(document, let.var)
        if span is None or len(places) != 1:
            continue
        text = document.text[span.start : places[0][1]]
        value = text.partition("=")[2].rpartition(";")[0].strip()
        edit = (
            None
            if has_comment(text) or not value
            else Edit("Return the value", span.start, places[0][1], value)
        )
        message = f"`%{let.var.name}` is bound only to be returned"
        yield finding("needless-let", message, span, hint="write the value in its place", edit=edit)


def _uses(document: Document, var: Var) -> list[tuple[int, int]]:
    assert var.span is not None
    defined = document.occurrence(var.span.start)
    if defined is None:
        return []
    return [(o.start, o.end) for o in document.by_symbol[defined.symbol] if not o.is_definition]


@rule("needless-cast")
def needless_casts(document: Document) -> Iterator[Finding]:
    """A cast to the dtype that its operand has."""
    for e in nodes(document):
        span = here(document, e)
        if span is None or not isinstance(e, Call) or not isinstance(e.attrs, Cast):
            continue
        t = document.type_at(span.start, e.args[0])
        if not isinstance(t, TensorType) or t.dtype != e.attrs.dtype:
            continue
        text = document.text[span.start : span.end]
        operand = here(document, e.args[0])
        edit = None
        if text.startswith("cast(") and operand is not None and not has_comment(text):
            inner = document.text[span.start + len("cast(") : text.rindex(",") + span.start]
            edit = Edit("Remove the cast", span.start, span.end, parenthesised(inner.strip()))
        message = f"the operand of this cast is {t.dtype} already"
        yield finding("needless-cast", message, span, hint="remove the cast", edit=edit)


def parenthesised(text: str) -> str:
    """A text as an operand; the formatter takes brackets away that are not needed."""
    return text if ATOM.fullmatch(text) else f"({text})"


@rule("compared-with-bool")
def compared_with_bool(document: Document) -> Iterator[Finding]:
    """A bool that is compared with `True` or `False`."""
    for e in nodes(document):
        span = here(document, e)
        if span is None or not isinstance(e, Call) or len(e.args) != 2 or not _is_bool(e.args[1]):
            continue
        found = WITH_BOOL.fullmatch(document.text[span.start : span.end])
        if found is None or e.attrs.name not in ("equal", "not_equal"):
            continue
        keeps = (found["op"] == "==") == (found["right"] == "True")
        left = parenthesised(found["left"].strip())
        text = left if keeps else f"!{left}"
        edit = None if has_comment(found[0]) else Edit(f"Write `{text}`", span.start, span.end, text)
        message = f"a bool is compared with `{found['right']}`"
        hint = "a bool is a condition as it is; `!` is the other one"
        yield finding("compared-with-bool", message, span, hint=hint, edit=edit)


def _is_bool(e: Expr) -> bool:
    return isinstance(e, Constant) and e.value.dtype == bool and not e.value.shape


@rule("constant-condition")
def constant_conditions(document: Document) -> Iterator[Finding]:
    """An `if` whose condition is `True` or `False`."""
    for e in nodes(document):
        span = here(document, e)
        if span is not None and isinstance(e, If) and isinstance(e.cond, Constant):
            taken = "first" if bool(e.cond.value) else "second"
            hint = "write that branch alone"
            yield finding("constant-condition", f"only the {taken} branch is ever taken", span, hint=hint)


@rule("same-branches")
def same_branches(document: Document) -> Iterator[Finding]:
    """An `if` with the same expression in both branches."""
    for e in nodes(document):
        span = here(document, e)
        if span is not None and isinstance(e, If) and structural_equal(e.true_branch, e.false_branch):
            hint = "write the expression without the `if`, or correct one of them"
            yield finding("same-branches", "both branches are the same", span, hint=hint)

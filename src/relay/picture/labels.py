"""The words on nodes: what an expression is called, and what of its operands stands inside."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    GlobalVar,
    Grad,
    Op,
    Tuple,
    Var,
    VMap,
)
from relay.ir.pattern import PatternConstructor, PatternLiteral, PatternTuple, PatternVar
from relay.ir.type import TensorType, Type
from relay.text.attributes import attribute_list, operator_attributes
from relay.text.print_literals import scalar_text
from relay.typecheck.messages import show

OPERAND = "·"
"""What stands in a label for an operand that an edge brings."""
MAX_LABEL_CHARS = 36
MAX_NAMED_OPERATORS = 3
"""Operators that the label of a group mentions at most."""


def cut(text: str, limit: int = MAX_LABEL_CHARS) -> str:
    """A text of at most so many characters, on one line."""
    line = " ".join(text.split()) if "\n" in text else text
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


@lru_cache(maxsize=4096)
def type_label(t: Type | None) -> str:
    """A type as edges have it: `(2, 3) float32` for a tensor."""
    if t is None:
        return ""
    if isinstance(t, TensorType):
        return f"{show(t.shape)} {show(t.dtype)}" if t.shape else show(t)  # pyright: ignore[reportArgumentType]
    return show(t)


def inline_text(e: Expr) -> str | None:
    """The text of an expression that has no node of its own: a number, a name, the derivative of one."""
    before: list[str] = []
    while isinstance(e, Grad | VMap):
        before.append(e.kind)
        e = e.function
    match e:
        case Constant() if e.value.ndim == 0:
            text = scalar_text(e.value[()], str(e.value.dtype) if e.type is None else str(e.type.dtype))
        case Op(name=text):
            pass
        case GlobalVar():
            text = str(e)
        case Constructor(name_hint=name) | Call(op=Constructor(name_hint=name), args=()):
            text = name
        case Tuple(fields=()):
            text = "()"
        case _:
            return None
    return "(".join([*before, cut(text)]) + ")" * len(before)


def mentioned(es: Iterable[Expr]) -> tuple[str, ...]:
    """The definitions that expressions name, through derivatives too."""
    found: dict[str, None] = {}
    for e in es:
        while isinstance(e, Grad | VMap):
            e = e.function
        if isinstance(e, GlobalVar):
            found[e.name_hint] = None
    return tuple(found)


def call_label(e: Call, texts: Sequence[str | None]) -> tuple[str, str]:
    """The name of a call with the operands that stand inside, and its attributes."""
    match e.op:
        case Var(name_hint=name):
            head = f"%{name}"
        case op:
            head = inline_text(op) or "call"
    if any(text is not None for text in texts):
        head += f"({', '.join([OPERAND if text is None else text for text in texts])})"
    details = operator_attributes(e.attrs) if isinstance(e.op, Op) else ", ".join(attribute_list(e.attrs))
    return cut(head), cut(details)


def operator_names(calls: Sequence[Call]) -> str:
    """Some operators by their names."""
    names = [e.attrs.name.removeprefix("nn.") for e in calls if isinstance(e.op, Op)]
    more = f" … ({len(names)})" if len(names) > MAX_NAMED_OPERATORS else ""
    return " ".join(names[:MAX_NAMED_OPERATORS]) + more


def pattern_label(p: object) -> str:
    """The outermost part of a pattern: what it asks of a value."""
    match p:
        case PatternConstructor(constructor=c):
            return f"{c.name_hint}{'(…)' if p.patterns else ''}"
        case PatternTuple():
            return "(…)"
        case PatternVar(var=v):
            return f"%{v.name_hint}"
        case PatternLiteral(value=c):
            return inline_text(c) or "…"
        case _:
            return "_"

"""Names, types and attributes in the words of version 0.0.5."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from relay.diagnostic import Span, fail
from relay.ir.type import (
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    TensorType,
    Type,
    TypeRelation,
    TypeVar,
)
from relay.text import names
from relay.text.print_types import TypeText


def cannot(what: str, span: Span | None = None, hint: str = "") -> NoReturn:
    """Report what the format has no words for (`dialect-cannot-express`)."""
    fail("dialect-cannot-express", f"version 0.0.5 has no way to write {what}", span, hint=hint)


def plain_name(name: str, what: str, span: Span | None, written: Callable[[str], str] = str) -> str:
    """The name of something that is defined, where it is written as it is."""
    if not names.is_plain(name) or written(name) != name:
        cannot(f"the name of {what} `{name}`", span)
    return name


class TvmTypes(TypeText):
    """Types in the words of version 0.0.5."""

    def parameters(self, params: Sequence[TypeVar]) -> str:
        for p in params:
            if p.kind is not Kind.Type:
                cannot(
                    f"a type parameter of kind {p.kind.value}, `{p.name_hint}`",
                    hint="specialise the function first, or write `?` for a dimension",
                )
        return super().parameters(params)

    def constraints(self, relations: Sequence[TypeRelation]) -> str:
        if relations:
            cannot("a `where` clause")
        return ""

    def any_kind(self, t: Any) -> str:
        return self(t)

    def _shape(self, shape: tuple[Any, ...]) -> str:
        return f"({', '.join([self(d) for d in shape])})"

    def _leaf(self, t: Type) -> str | None:
        match t:
            case IncompleteType():
                if t.kind is not Kind.Type:
                    cannot("a type that is not known yet", hint="infer types first")
            case GlobalTypeVar():
                plain_name(t.name_hint, "the data type", None, names.type_name)
            case TensorType():
                if str(t.dtype).startswith(("float8", "float4", "string")):
                    cannot(f"the dtype {t.dtype}")
            case _:
                pass
        return super()._leaf(t)

    def _open(self, t: Type) -> list[Any]:
        match t:
            case DimExpr() | DimCall():
                cannot("a symbolic dimension", hint="write `?`")
            case TypeRelation():
                cannot("a `where` clause")
            case FuncType():
                if t.type_params:
                    cannot("the type of a polymorphic function", hint="leave the annotation out")
            case _:
                pass
        return super()._open(t)


def tvm_key_text(key: str) -> str:
    """The name of an attribute."""
    if not names.is_dotted(key) or key in names.KEYWORDS:
        cannot(f"the name of the attribute `{key}`")
    return key


def attribute_text(value: Any, *, exact: bool = False) -> str:
    """An attribute: lists for tuples, `f` behind floats.

    `exact` refuses tuples, which would read back as lists; operators take both.
    """
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | np.integer):
        return str(int(cast(Any, value)))
    if isinstance(value, float | np.floating):
        return _float(float(cast(Any, value)))
    if isinstance(value, list) or (isinstance(value, tuple) and not exact):
        items = cast("Sequence[Any]", value)
        depths = {isinstance(v, list | tuple) for v in items}
        if len(depths) < 2 and not any(isinstance(x, list | tuple) for v in items for x in _inner(v)):
            return f"[{', '.join([attribute_text(v, exact=exact) for v in items])}]"
    text = repr(cast(Any, value))
    cannot(f"an attribute like `{text}`" if len(text) < 40 else "such an attribute")


def _inner(v: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", v) if isinstance(v, list | tuple) else ()


def _string(value: str) -> str:
    if not value.isprintable() or any(c in value for c in '"\\'):
        cannot(f"the text {names.quote(value)}")
    return f'"{value}"'


def _float(value: float) -> str:
    if not np.isfinite(value):
        cannot("the attribute NaN" if np.isnan(value) else "an infinite attribute")
    return f"{str(value).replace('e+', 'e').removesuffix('.0')}f"

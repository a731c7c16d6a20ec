"""The parameters of a Python function as those of a Relay one."""

import builtins
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_origin

from relay.diagnostic import Note, PythonSource, RelayError, Span, fail
from relay.ir.dtype import canonical
from relay.ir.expr import Function, Var
from relay.ir.type import Type


def name_of(python: Callable[..., Any]) -> str:
    """What a Python function is called."""
    return getattr(python, "__name__", "function")


def line_of(file: str, line: int) -> Span:
    """A line of Python."""
    return Span(PythonSource(file), line, line)


@dataclass(frozen=True)
class Header:
    """What a Python function takes: `function` has its traced parameters, with the types that are annotated,
    `chosen` the values of those that are not traced.
    """

    name: str
    function: Function
    chosen: Mapping[str, Any]
    span: Span | None

    @property
    def is_annotated(self) -> bool:
        """Whether all parameters have types."""
        return all(p.type_annotation is not None for p in self.function.params)


def header_of(python: Callable[..., Any]) -> Header:
    """What a Python function takes, by its signature and annotations (`bad-signature`)."""
    code = getattr(python, "__code__", None)
    span = None if code is None else line_of(code.co_filename, code.co_firstlineno)
    fn, chosen = _header(python, span)
    return Header(name_of(python), fn, chosen, span)


def _header(python: Callable[..., Any], span: Span | None) -> tuple[Function, dict[str, Any]]:
    """The function with its parameters, and the values of the parameters that are not traced."""
    try:
        signature = inspect.signature(python)
    except (TypeError, ValueError):
        fail("bad-signature", f"{python!r} is not a Python function whose parameters are known", span)
    chosen: dict[str, Any] = {}
    names: list[str] = []
    types: list[Any] = []
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            fail(
                "bad-signature",
                f"`{p}` stands for any number of arguments, which a Relay function cannot take",
                span,
                hint="name each parameter, or take one tuple",
            )
        if p.default is not p.empty:
            chosen[p.name] = p.default
        elif p.kind is p.KEYWORD_ONLY:
            fail(
                "bad-signature",
                f"the parameter `{p.name}` after `*` has no value",
                span,
                hint="give it a default value, or put it before the `*`",
            )
        else:
            names.append(p.name)
            types.append(_annotation(p.annotation, python))
    if names[:1] == ["self"] and types[0] is None:
        hint = "make it a function, or trace a function inside of it"
        fail("bad-signature", f"`{name_of(python)}` is a method: its `self` is not a value", span, hint=hint)
    returns = _annotation(signature.return_annotation, python)
    try:
        return _parse_header(names, types, returns, span), chosen
    except RelayError as error:
        where = (Note(f"in the annotations of `{name_of(python)}`", span),)
        raise RelayError(
            [dataclasses.replace(d, notes=(*d.notes, *where)) for d in error.diagnostics]
        ) from None


def _annotation(annotation: Any, python: Callable[..., Any]) -> Any:
    """A type, a text of one, or None; one that `from __future__ import annotations` kept is evaluated.

    Classes of Python, such as `dict` or a dataclass, say nothing of Relay's types.
    """
    if annotation is inspect.Parameter.empty or annotation is None:
        return None
    if isinstance(annotation, str):
        text = annotation.strip()
        if text[:1] in "\"'" or text.partition("(")[0].partition("[")[0].partition(".")[1]:
            return _annotation(_evaluated(text, python), python)
        known = getattr(python, "__globals__", {}).get(text.partition("(")[0])
        if known is not None and "(" in text:
            return _annotation(_evaluated(text, python), python)
        return None if _is_class(text.partition("[")[0], python) else text
    if isinstance(annotation, type) or annotation is Any or get_origin(annotation) is not None:
        return None
    return annotation


def _is_class(name: str, python: Callable[..., Any]) -> bool:
    """Whether an annotation begins with the name of a class of Python."""
    if name == "Tensor" or canonical(name) is not None:
        return False
    scope = getattr(python, "__globals__", {})
    return isinstance(scope.get(name, getattr(builtins, name, None)), type)


def _evaluated(text: str, python: Callable[..., Any]) -> Any:
    """What an annotation means where the function was defined: it is Python of the same file."""
    return eval(text, getattr(python, "__globals__", {}))


def _parse_header(names: list[str], types: list[Any], returns: Any, span: Span | None) -> Function:
    """An empty function of those parameters; texts are parsed together, so they share dimension names."""
    from relay.text.names import local
    from relay.text.parser import parse_expression

    written = [local(n) + (f": {t}" if isinstance(t, str) else "") for n, t in zip(names, types, strict=True)]
    arrow = f" -> {returns}" if isinstance(returns, str) else ""
    parsed = parse_expression(f"fn({', '.join(written)}){arrow} {{ () }}", "<annotations>")
    assert isinstance(parsed, Function)
    params: list[Var] = []
    for p, t in zip(parsed.params, types, strict=True):
        if t is not None and not isinstance(t, str | Type):
            fail(
                "bad-signature",
                f"the annotation of `{p.name}` is {t!r}, which is not a type",
                span,
                hint='write a relay type, or a text such as "Tensor[(n, 4), float32]"',
            )
        params.append(Var(p.name, t if isinstance(t, Type) else p.type_annotation, span=span))
    result = returns if isinstance(returns, Type) else parsed.ret_type if arrow else None
    return Function(tuple(params), parsed.body, result, parsed.type_params, span=span)

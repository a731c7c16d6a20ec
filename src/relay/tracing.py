"""`relay.function`: a Relay function from a Python one, by running it once on variables."""

import inspect
import traceback
from collections.abc import Callable
from typing import Any

from relay.diagnostic import Diagnostic, PythonSource, RelayError, Span, fail
from relay.interpreter.machine import Interpreter
from relay.ir import hooks
from relay.ir.expr import Call, Expr, Function, RelayExpr, Var, as_expr, replace
from relay.ir.module import IRModule
from relay.ir.type import Type


class TracedFunction:
    """A Relay function made from a Python one.

    Called on arrays it runs; called on expressions it is a call of it.
    """

    def __init__(self, python: Callable[..., Any], traced: Function) -> None:
        """`traced` is what running `python` on variables built."""
        self.python = python
        self.traced = traced
        self._interpreter: Interpreter | None = None
        self.__name__ = getattr(python, "__name__", "function")
        self.__doc__ = python.__doc__

    @property
    def interpreter(self) -> Interpreter:
        """What runs it, on the module of its own that it is `@main` of."""
        if self._interpreter is None:
            from relay.typecheck.infer import infer

            self._interpreter = Interpreter(infer(IRModule.from_expr(self.traced)))
        return self._interpreter

    @property
    def mod(self) -> IRModule:
        """A module in which it is `@main`, with its types inferred."""
        return self.interpreter.mod

    @property
    def function(self) -> Function:
        """The function, with its types inferred."""
        return self.mod["main"]

    def __call__(self, *args: Any, **named: Any) -> Any:
        if any(isinstance(a, RelayExpr) for a in (*args, *named.values())):
            return self._call(args, named)
        return self.interpreter.evaluate("main", *args, **named)

    def _call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Expr:
        by_name = {p.name: i for i, p in enumerate(self.traced.params)}
        given: list[Any] = [None] * len(by_name)
        given[: len(args)] = args
        for name, value in named.items():
            if name not in by_name:
                fail("argument-count", f"`{self.__name__}` has no parameter `{name}`")
            given[by_name[name]] = value
        if len(given) != len(by_name) or any(g is None for g in given):
            fail(
                "argument-count",
                f"`{self.__name__}` takes {len(by_name)} arguments, not {len(args) + len(named)}",
            )
        return Call(self.traced, tuple([as_expr(g) for g in given]))

    def __repr__(self) -> str:
        return f"<relay.function {self.__name__}>"

    def __str__(self) -> str:
        return str(self.function)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return hooks.display(self.function)


def function(python: Callable[..., Any] | None = None) -> Any:
    """Make a Relay function of a Python one: it is run once, on variables, and what it builds is the body.

    Annotations of parameters and of the result are types, or texts such as `"Tensor[(n, 4), float32]"`; what
    is not annotated is inferred.  A parameter with a default value is not traced but has that value.
    Operators on variables build expressions (for `==` write `relay.equal`); Python's `if` and loops see
    Python values only.

    Raises `traced-control-flow`, `bad-signature`, and what the annotations and the expressions raise.
    """
    return trace if python is None else trace(python)


def trace(python: Callable[..., Any]) -> TracedFunction:
    """`python` run on variables."""
    code = getattr(python, "__code__", None)
    span = None if code is None else _line(code.co_filename, code.co_firstlineno)
    header, chosen = _header(python, span)
    try:
        result = python(*header.params, **chosen)
    except TypeError as error:
        raise _explained(error) from None
    body = _result(result, python, span)
    return TracedFunction(python, replace(header, body=body))


def _line(file: str, line: int) -> Span:
    return Span(PythonSource(file), line, line)


def _header(python: Callable[..., Any], span: Span | None) -> tuple[Function, dict[str, Any]]:
    """The function with its parameters, and the values of the parameters that are not traced."""
    signature = inspect.signature(python)
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
    returns = _annotation(signature.return_annotation, python)
    return _parse_header(names, types, returns, span), chosen


def _annotation(annotation: Any, python: Callable[..., Any]) -> Any:
    """A type, a text of one, or None; one that `from __future__ import annotations` kept is evaluated."""
    if annotation is inspect.Parameter.empty or annotation is None:
        return None
    if isinstance(annotation, str):
        text = annotation.strip()
        if text[:1] in "\"'" or text.partition("(")[0].partition("[")[0].partition(".")[1]:
            return _annotation(_evaluated(text, python), python)
        known = getattr(python, "__globals__", {}).get(text.partition("(")[0])
        return _annotation(_evaluated(text, python), python) if known is not None and "(" in text else text
    return annotation


def _evaluated(text: str, python: Callable[..., Any]) -> Any:
    """What an annotation means where the function was defined: it is Python of the same file."""
    return eval(text, getattr(python, "__globals__", {}))


def _parse_header(names: list[str], types: list[Any], returns: Any, span: Span | None) -> Function:
    """An empty function of those parameters; texts are parsed together, so they share dimension names."""
    from relay.text.parser import parse_expr

    written = [
        f'%"{n}"' + (f": {t}" if isinstance(t, str) else "") for n, t in zip(names, types, strict=True)
    ]
    arrow = f" -> {returns}" if isinstance(returns, str) else ""
    parsed = parse_expr(f"fn({', '.join(written)}){arrow} {{ () }}", "<annotations>")
    assert isinstance(parsed, Function)
    params: list[Var] = []
    for p, t in zip(parsed.params, types, strict=True):
        if t is not None and not isinstance(t, str | Type):
            fail(
                "bad-signature",
                f"the annotation of `{p.name}` is {t!r}, which is no type",
                span,
                hint='write a relay type, or a text such as "Tensor[(n, 4), float32]"',
            )
        params.append(Var(p.name, t if isinstance(t, Type) else p.type_annotation, span=span))
    result = returns if isinstance(returns, Type) else parsed.ret_type if arrow else None
    return Function(tuple(params), parsed.body, result, parsed.type_params, span=span)


def _result(value: Any, python: Callable[..., Any], span: Span | None) -> Expr:
    if value is None:
        fail(
            "bad-signature",
            f"`{getattr(python, '__name__', 'the function')}` returns nothing",
            span,
            hint="return the expression that is its result; `return ()` is the empty tuple",
        )
    return as_expr(value)


UNTRACEABLE = {
    "__bool__": (
        "Python cannot decide on a value that is not known before the program runs",
        "use relay.If(…) or relay.where(…); `and`, `or` and `not` are relay.logical_and, …",
    ),
    "__iter__": (
        "Python cannot loop over a value that is not known before the program runs",
        "project the fields of a tuple with e[0], e[1], …; for a loop write a recursive function",
    ),
}


def _explained(error: TypeError) -> BaseException:
    """A `traced-control-flow` diagnostic where an expression was used as a Python truth value or sequence."""
    frames = list(traceback.walk_tb(error.__traceback__))
    inner = frames[-1][0]
    explanation = UNTRACEABLE.get(inner.f_code.co_name)
    if explanation is None or not isinstance(inner.f_locals.get("self"), RelayExpr):
        return error
    message, hint = explanation
    user, line = frames[-2]
    span = _line(user.f_code.co_filename, line)
    return RelayError(Diagnostic("traced-control-flow", message, span, hint=hint))

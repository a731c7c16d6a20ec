"""`relay.function`: a Relay function from a Python one, by running it once on variables."""

import dataclasses
import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from relay.diagnostic import Diagnostic, Note, PythonSource, RelayError, Span, fail
from relay.interpreter.arguments import arrange
from relay.interpreter.code import Code
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import is_sequence
from relay.ir.expr import Call, Expr, Function, RelayExpr, Tuple, Var, as_expr, replace
from relay.ir.module import IRModule
from relay.ir.type import Type


class TracedFunction:
    """A Relay function made from a Python one.

    Called on arrays it runs; called on expressions it is a call of it.
    """

    def __init__(self, python: Callable[..., Any], traced: Function, chosen: Mapping[str, Any]) -> None:
        """`traced` is what running `python` built; `chosen` has the values of untraced parameters."""
        self.python = python
        self.traced = traced
        self.chosen = dict(chosen)
        self._interpreter: Interpreter | None = None
        self._variants: dict[Any, TracedFunction] = {}
        self.__name__ = name_of(python)
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

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        other = {k: named.pop(k) for k in self.chosen if k in named}
        if other:
            return self.variant(other)(*args, **named)
        if any(isinstance(a, RelayExpr | TracedFunction) for a in (*args, *named.values())):
            return self._call(args, named)
        closure = self.interpreter.value_of(self.mod.get_global_var("main"))
        closure.code.name = self.__name__
        return closure(*args, **named)

    def variant(self, chosen: Mapping[str, Any]) -> "TracedFunction":
        """The function with other values for parameters that are not traced."""
        values = {**self.chosen, **chosen}
        key = tuple(map(repr, values.values()))
        if key not in self._variants:
            self._variants[key] = trace(self.python, values)
        return self._variants[key]

    def _call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Expr:
        code = Code(self.__name__, self.traced, len(self.traced.params))
        return Call(self.traced, tuple([_as_expr(x) for x in arrange(code, args, named)]))

    def __repr__(self) -> str:
        return f"<relay.function {self.__name__}>"

    def __str__(self) -> str:
        return str(self.function)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from relay.text.notebook import display

        return display(self.function)


def name_of(python: Callable[..., Any]) -> str:
    """What a Python function is called."""
    return getattr(python, "__name__", "function")


def function(python: Callable[..., Any] | None = None) -> Any:
    """Make a Relay function of a Python one: it is run once, on variables, and what it builds is the body.

    Annotations of parameters and of the result are types, or texts such as `"Tensor[(n, 4), float32]"`; what
    is not annotated is inferred.  A parameter with a default value is not traced but has that value; a call
    that names another runs the Python function again.  Operators on variables build expressions (for `==`
    write `relay.equal`); Python's `if` and loops see Python values only.

    Raises `traced-control-flow`, `bad-signature`, and what the annotations and the expressions raise.
    """
    return trace if python is None else trace(python)


def trace(python: Callable[..., Any], others: Mapping[str, Any] | None = None) -> TracedFunction:
    """`python` run on variables; `others` are values to use instead of its parameters' default ones."""
    code = getattr(python, "__code__", None)
    span = None if code is None else _line(code.co_filename, code.co_firstlineno)
    header, chosen = _header(python, span)
    chosen |= others or {}
    try:
        result = python(*header.params, **chosen)
    except (TypeError, NameError, RecursionError) as error:
        raise _explained(error, name_of(python), span) from None
    return TracedFunction(python, replace(header, body=_result(result, python, span)), chosen)


def _line(file: str, line: int) -> Span:
    return Span(PythonSource(file), line, line)


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


def _result(value: Any, python: Callable[..., Any], span: Span | None) -> Expr:
    """What a Python function returned, as the body of the Relay one (`bad-signature`)."""
    name = name_of(python)
    if value is None:
        hint = "return the expression that is its result; `return ()` is the empty tuple"
        fail("bad-signature", f"`{name}` returns nothing", span, hint=hint)
    if isinstance(value, bool):
        hint = (
            "`==` and `is` compare expressions as Python objects: write relay.equal(…); else relay.const(…)"
        )
        fail(
            "bad-signature", f"`{name}` returns Python's {value}, whatever its arguments are", span, hint=hint
        )
    try:
        return _as_expr(value)
    except TypeError:
        hint = "return an expression, a number, an array, or a tuple of these"
        fail("bad-signature", f"`{name}` returns {value!r}, which is not an expression", span, hint=hint)


def _as_expr(value: Any) -> Expr:
    """As `relay`'s builders do, and a traced function is an expression too."""
    if is_sequence(value):
        return Tuple(tuple([_as_expr(v) for v in value]))
    return value.traced if isinstance(value, TracedFunction) else as_expr(value)


UNTRACEABLE = {
    "__bool__": (
        "Python cannot branch on a traced value",
        "use relay.If(…) or relay.where(…); `and`, `or` and `not` are relay.logical_and, …",
    ),
    "__iter__": (
        "Python cannot loop over a traced value",
        "project the fields of a tuple with e[0], e[1], …; for a loop write a recursive function",
    ),
}


def _explained(error: Exception, name: str, span: Span | None) -> BaseException:
    """A `traced-control-flow` diagnostic where Python asked what an expression is; else the error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if isinstance(error, RecursionError) or (isinstance(error, NameError) and error.name == name):
        message = f"`{name}` calls itself while it is traced"
        return _refusal(message, span, "write a recursive function in text, for relay.parse(…)")
    inner, line = frames[-1]
    if isinstance(inner.f_locals.get("self"), RelayExpr) and inner.f_code.co_name in UNTRACEABLE:
        message, hint = UNTRACEABLE[inner.f_code.co_name]
        inner, line = frames[-2]
        return _refusal(message, _line(inner.f_code.co_filename, line), hint)
    if isinstance(error, TypeError) and re.search(rf"'({'|'.join(NODES)})'", str(error)):
        message = f"Python cannot use a traced value: {error}"
        hint = "use the operators of Relay: relay.sin(…) for numpy.sin(…), relay.shape_of(…) for len(…)"
        return _refusal(message, _line(inner.f_code.co_filename, line), hint)
    return error


NODES = [c.__name__ for c in RelayExpr.__subclasses__()]


def _refusal(message: str, span: Span | None, hint: str) -> RelayError:
    return RelayError(Diagnostic("traced-control-flow", message, span, hint=hint))

"""The parameters of a Python function as those of a Relay one."""

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_origin

from relay.diagnostic import Diagnostic, Note, PythonSource, RelayError, Span, fail
from relay.ir.dtype import canonical
from relay.ir.expr import Function, Var
from relay.ir.expr import replace as replace_node
from relay.ir.subst import substitute_type
from relay.ir.type import Type, TypeVar

ANNOTATIONS = "<annotations>"
"""The source of a header that is parsed, whose places are those of the Python file in diagnostics."""


def name_of(python: Callable[..., Any]) -> str:
    """What a Python function is called."""
    return getattr(python, "__name__", "function")


def line_of(file: str, line: int) -> Span:
    """A line of Python."""
    return Span(PythonSource(file), line, line, 1, 1)


@dataclass(frozen=True)
class Header:
    """What a Python function takes: `function` has its traced parameters, with the types that are annotated,
    `chosen` the values of those that are not traced.

    `by_name` are the last of the traced ones, which Python takes by name alone.  `rest` and `others` stand
    for `*rest` and `**others`, whose number only a call knows.
    """

    name: str
    function: Function
    chosen: Mapping[str, Any]
    span: Span | None
    by_name: tuple[str, ...] = ()
    rest: Var | None = None
    others: Var | None = None

    @property
    def is_open(self) -> bool:
        """Whether only a call knows how many parameters there are."""
        return self.rest is not None or self.others is not None

    @property
    def is_annotated(self) -> bool:
        """Whether all parameters have types."""
        return not self.is_open and all(p.type_annotation is not None for p in self.function.params)

    def takes(self, name: str) -> bool:
        """Whether there is a parameter of a name."""
        is_traced = any(p.name_hint == name for p in self.function.params)
        return is_traced or name in self.chosen or self.others is not None

    def of_call(self, count: int, names: Iterable[str]) -> "Header":
        """The header of a call with so many arguments by position and with these names (`argument-count`)."""
        params = self.function.params
        positional = len(params) - len(self.by_name)
        first, last = params[:positional], params[positional:]
        if self.rest is not None:
            first += tuple([_like(self.rest, f"{self.rest.name}{i}") for i in range(count - positional)])
        elif count > positional and self.by_name:
            plural = "argument" if positional == 1 else "arguments"
            fail(
                "argument-count",
                f"`{self.name}` takes {positional} {plural} by position, not {count}",
                self.span,
                hint=f"name those behind: {', '.join([f'{p}=…' for p in self.by_name])}",
            )
        if self.others is not None:
            known = {p.name for p in params}
            last += tuple([_like(self.others, n) for n in sorted(names) if n not in known])
        fn = replace_node(self.function, params=(*first, *last))
        return replace(self, function=fn, by_name=tuple([p.name for p in last]), rest=None, others=None)

    def call(self, python: Callable[..., Any], args: Sequence[Any]) -> Any:
        """`python` on one value for each traced parameter."""
        at = len(args) - len(self.by_name)
        return python(*args[:at], **dict(zip(self.by_name, args[at:], strict=True)), **self.chosen)


def _like(p: Var, name: str) -> Var:
    """A parameter of that name, annotated as another is."""
    return Var(name, p.type_annotation, span=p.span)


def renamed(header: Header, name: str) -> Header:
    """The header of what is made of a function: its result has another type, its type parameters are its
    own.
    """
    fn = header.function
    own = {v: TypeVar(v.name_hint, v.kind) for v in fn.type_params}
    params = [
        p
        if p.type_annotation is None
        else Var(p.name_hint, substitute_type(p.type_annotation, own), span=p.span)
        for p in fn.params
    ]
    fn = replace_node(fn, params=tuple(params), ret_type=None, type_params=tuple(own.values()))
    return replace(header, name=f"{name}({header.name})", function=fn)


def header_of(python: Callable[..., Any]) -> Header:
    """What a Python function takes, by its signature and annotations (`bad-signature`)."""
    code = getattr(python, "__code__", None)
    span = None if code is None else line_of(code.co_filename, code.co_firstlineno)
    try:
        signature = inspect.signature(python)
    except (TypeError, ValueError):
        fail("bad-signature", f"{python!r} is not a Python function whose parameters are known", span)
    chosen = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
    asked = [p for p in signature.parameters.values() if p.name not in chosen]
    _check(python, signature, asked, span)
    types = [_annotation(p.annotation, python) for p in asked]
    returns = _annotation(signature.return_annotation, python)
    try:
        fn = _parse_header([p.name for p in asked], types, returns, span)
    except RelayError as error:
        where = (Note(f"in the annotations of `{name_of(python)}`", span),)
        diagnostics = [_in_annotation(d, where) for d in error.diagnostics]
        places = _texts_of([p.name for p in asked], types, returns)
        raise RelayError(
            [replace(d, span=_place_in_python(d.span, span, places)) for d in diagnostics]
        ) from None
    of_kind = {p.kind: v for p, v in zip(asked, fn.params, strict=True)}
    rest, others = of_kind.get(inspect.Parameter.VAR_POSITIONAL), of_kind.get(inspect.Parameter.VAR_KEYWORD)
    params = tuple([v for v in fn.params if v is not rest and v is not others])
    by_name = tuple([p.name for p in asked if p.kind is p.KEYWORD_ONLY])
    fn = replace_node(fn, params=params)
    return Header(name_of(python), fn, chosen, span, by_name, rest, others)


def _in_annotation(d: Diagnostic, where: tuple[Note, ...]) -> Diagnostic:
    """What is wrong in an annotation, where nothing can be declared."""
    hint = d.hint
    if d.code == "unknown-type" and hint.startswith("declare it"):
        hint = "a parameter without an annotation takes records, as any nested values"
    return replace(d, notes=(*d.notes, *where), hint=hint)


def _texts_of(names: list[str], types: list[Any], returns: Any) -> list[tuple[str, str, int]]:
    """Return the name, the text and the offset in the parsed header of each annotation that is a text.

    The name of the result is `return`.
    """
    from relay.text.names import local

    places: list[tuple[str, str, int]] = []
    end = len("fn(")
    for name, t in zip(names, types, strict=True):
        end += len(local(name))
        if isinstance(t, str):
            places.append((name, t, end + len(": ")))
            end += len(": ") + len(t)
        end += len(", ")
    if isinstance(returns, str):
        places.append(("return", returns, end + len(") -> ") - (len(", ") if names else 0)))
    return places


def _place_in_python(
    place: Span | None, function: Span | None, places: Sequence[tuple[str, str, int]]
) -> Span | None:
    """Return where a part of an annotation stands in the file of a function, else the first line of that."""
    if place is None or function is None or place.source.name != ANNOTATIONS:
        return place
    written = _annotations_at(function)
    part = place.source.text[place.start : place.end]
    for name, text, start in places:
        if start <= place.start <= place.end <= start + len(text) and name in written:
            source, line, column = written[name]
            first = source.find(text)
            at = first + place.start - start if first >= 0 else source.find(part)
            if at >= 0:
                before = source[:at]
                column = at - before.rfind("\n") if "\n" in before else column + at + 1
                line += before.count("\n")
                return Span(function.source, line, line, column, column + len(part))
    return function


def _annotations_at(function: Span) -> dict[str, tuple[str, int, int]]:
    """Return the annotations of a function by its parameters, `return` that of the result.

    Each is its source, the line, and the number of characters before it.
    """
    lines = linecache.getlines(function.source.name)
    try:
        nodes = ast.walk(ast.parse("".join(lines)))
    except SyntaxError:
        return {}
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if function.line == min([node.lineno, *[d.lineno for d in node.decorator_list]]):
            own = node.args
            parameters = [*own.posonlyargs, *own.args, own.vararg, *own.kwonlyargs, own.kwarg]
            annotations = {p.arg: p.annotation for p in parameters if p is not None}
            return {
                name: (ast.get_source_segment("".join(lines), e) or "", e.lineno, _column(lines, e))
                for name, e in {**annotations, "return": node.returns}.items()
                if e is not None
            }
    return {}


def _column(lines: Sequence[str], e: ast.expr) -> int:
    """Return the number of characters before an expression in its line: `ast` counts bytes."""
    return len(lines[e.lineno - 1].encode()[: e.col_offset].decode())


def _check(
    python: Callable[..., Any],
    signature: inspect.Signature,
    asked: Sequence[inspect.Parameter],
    span: Span | None,
) -> None:
    """Report parameters that cannot be those of a Relay function (`bad-signature`)."""
    if [p.name for p in asked[:1]] == ["self"] and asked[0].annotation is asked[0].empty:
        hint = "make it a function, or trace a function inside of it"
        fail("bad-signature", f"`{name_of(python)}` is a method: its `self` is not a value", span, hint=hint)
    rest = next((p for p in asked if p.kind is p.VAR_POSITIONAL), None)
    for p in signature.parameters.values():
        if rest is not None and p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty:
            fail(
                "bad-signature",
                f"`{p.name}` has a value before `{rest}`, and would take the first of these",
                span,
                hint=f"put `{p.name}={p.default!r}` behind `{rest}`",
            )


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
    parsed = parse_expression(f"fn({', '.join(written)}){arrow} {{ () }}", ANNOTATIONS)
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

"""Arguments from Python: matched with parameters, converted by their types, and checked."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

from relay.diagnostic import (
    Diagnostic,
    Note,
    PythonSource,
    RelayError,
    Span,
    caller_span,
    did_you_mean,
    fail,
    is_of_python,
    name_of_local,
)
from relay.interpreter.code import Code
from relay.interpreter.conversion import convert, type_of_argument
from relay.interpreter.tensor_conversion import MisfitError, convert_tensor
from relay.interpreter.value import Value, is_sequence
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Function, Var, replace
from relay.ir.module import IRModule
from relay.ir.type import TensorType

PYTHON_DEFINITION = re.compile(r"(?:async )?def (\w+)")


def inputs(args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Arguments by position and by name, where one dict may have all of them by name."""
    if len(args) == 1 and not named and is_mapping(args[0]):
        return (), args[0]
    return args, named


def is_mapping(x: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a Python object is a dict or like one."""
    return isinstance(x, Mapping)


def name_of_function(name: str, span: Span | None) -> str:
    """Return what users call a definition: `@main` of a Python function has the name behind its `def`."""
    if name == "@main" and span is not None and isinstance(span.source, PythonSource):
        line = span.line
        while text := span.source.line_text(line).strip():
            if definition := PYTHON_DEFINITION.match(text):
                return definition[1]
            if line == span.line and not text.startswith("@"):
                break
            line += 1
    return name


def place_of_call(name: str, span: Span | None) -> dict[str, Any]:
    """Return the place of a fault of a call: the caller of a function of Python, else the definition."""
    if not is_of_python(span):
        return {"span": span}
    return {"span": caller_span() or span, "notes": (Note(f"`{name}` is defined", span),)}


def arrange(code: Code, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """One argument for each parameter, by position or name (`argument-count`)."""
    params, span = [p.name for p in code.function.params], code.function.span
    function = name_of_function(code.name, span)
    if len(args) > len(params):
        _count(code, params, len(args) + len(named))
    given: list[Any] = [_MISSING] * len(params)
    given[: len(args)] = args
    for name, value in named.items():
        places = [i for i, p in enumerate(params) if p == name]
        if not places:
            fail(
                "argument-count",
                f"`{function}` has no parameter `{name_of_local(name, span)}`",
                **place_of_call(function, span),
                hint=did_you_mean(name, params) or _takes(params, span),
            )
        if given[places[-1]] is not _MISSING:
            fail(
                "argument-count",
                f"`{function}` is given the parameter `{name_of_local(name, span)}` twice",
                **place_of_call(function, span),
                hint="once by position and once by name",
            )
        given[places[-1]] = value
    if any(g is _MISSING for g in given):
        _count(code, params, len(args) + len(named))
    return given


_MISSING = object()


def _takes(params: Sequence[str], span: Span | None) -> str:
    names = ", ".join(f"`{name_of_local(p, span)}`" for p in params[:8]) + (", …" if len(params) > 8 else "")
    return f"its parameters are {names}" if params else "it takes no arguments"


def _count(code: Code, params: Sequence[str], count: int) -> NoReturn:
    name, span = name_of_function(code.name or "fn", code.function.span), code.function.span
    plural = "argument" if len(params) == 1 else "arguments"
    fail(
        "argument-count",
        f"`{name}` takes {len(params) or 'no'} {plural}, not {count}",
        **place_of_call(name, span),
        hint=_takes(params, span),
    )


def convert_arguments(code: Code, given: Sequence[Any], machine: Any) -> tuple[list[Value], tuple[Any, ...]]:
    """The values of all parameters, and what the hidden ones are bound to (`argument-type`)."""
    fn, name = code.function, code.name or "fn"
    env: dict[Any, Any] = {}
    values: list[Value] = [None] * len(given)
    loose: list[int] = []
    for i, (param, x) in enumerate(zip(fn.params, given, strict=True)):
        t = param.type_annotation
        if _is_loose(x) and t is not None and not t.is_closed:
            loose.append(i)
        else:
            values[i] = convert_argument(name, param, x, env, machine.mod)
    for i in loose:
        values[i] = convert_argument(name, fn.params[i], given[i], env, machine.mod)
    if fn.constraints and values and code.captures <= len(code.hidden):
        check_constraints(name, fn, values, machine.inferred, machine.checked)
    hidden = tuple([to_numpy(env[p]) if p in env else None for p in code.hidden])
    return values, hidden


def _is_loose(x: Any) -> bool:
    """Whether an argument takes its dtype from its surroundings: Python numbers, also in lists."""
    while is_sequence(x) and x:
        x = x[0]
    return isinstance(x, bool | int | float | list)


def convert_argument(name: str, param: Var, x: Any, env: dict[Any, Any], mod: IRModule) -> Value:
    """A Python value for a parameter of function `name`; binds type parameters in `env` (`argument-type`)."""
    t = param.type_annotation
    try:
        if isinstance(t, TensorType):
            return convert_tensor(x, t, env)
        return convert(x, t, env, mod.type_definitions)
    except MisfitError as misfit:
        expected = "" if param.type_annotation is None else f" is {param.type_annotation}"
        function, parameter = name_of_function(name, param.span), name_of_local(param.name, param.span)
        raise RelayError(
            Diagnostic(
                "argument-type",
                f"parameter `{parameter}` of `{function}`{expected}: {misfit.message}",
                label=f"found {misfit.found}",
                hint=misfit.hint,
                **place_of_call(parameter, param.span),
            )
        ) from None


def check_constraints(
    name: str, fn: Function, values: Sequence[Value], mod: IRModule | None, checked: set[Any]
) -> None:
    """Check the relations that a polymorphic function requires, on the types of its arguments; `checked` has
    those that are known to hold (`argument-type`).
    """
    args: list[Var] = []
    for param, value in zip(fn.params, values, strict=True):
        t = type_of_argument(value)
        if t is None:
            return
        args.append(Var(param.name, t, span=param.span))
    key = (fn, tuple([a.type_annotation for a in args]))
    if key in checked:
        return
    from relay.typecheck.infer import infer_expr

    header = replace(fn, body=Var("result", fn.ret_type, span=fn.span))
    try:
        infer_expr(Call(header, tuple(args), span=fn.span), mod)
    except RelayError as error:
        first = error.diagnostics[0]
        raise RelayError(
            Diagnostic(
                "argument-type",
                f"`{name_of_function(name, fn.span)}` cannot take these arguments: {first.message}",
                first.span,
                first.label,
                hint=first.hint,
            )
        ) from None
    checked.add(key)

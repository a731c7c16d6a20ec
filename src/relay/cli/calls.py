"""A call of a definition on inputs: the program in a file, and what comes from the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from relay.cli.files import read_module
from relay.cli.inputs import ARRAY_FILES, Input, arrange
from relay.cli.models import EXPORTED, SUFFIX, input_names, read_exported, read_with
from relay.cli.progress import progress
from relay.diagnostic import Report, Source, Span, did_you_mean, fail
from relay.ir.dtype import dtype_name
from relay.ir.expr import Call, Expr, Function, GlobalVar, Tuple, Var, replace
from relay.ir.module import IRModule
from relay.ir.subst import map_type
from relay.ir.type import (
    ANY,
    HAS_VAR,
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.vars import free_vars


def program_of(
    file: str, entry: str, args: Sequence[str], by_name: Mapping[str, Input]
) -> tuple[IRModule, Expr, list[Input]]:
    """The annotated program in a file, the definition to run, and its inputs; warnings are printed."""
    from relay.typecheck.infer import infer

    if file.endswith(SUFFIX):
        names = input_names(file)
        with progress("importing"):
            mod, inputs = read_with(file, names, arrange(names, args, by_name))
        return mod, entry_of(mod, entry), inputs
    if file.endswith(EXPORTED):
        with progress("importing"):
            mod, state = read_exported(file)
        main = entry_of(mod, entry)
        params = [p.name_hint for p in main.params] if isinstance(main, Function) else []
        return mod, main, arrange(params, args, state | dict(by_name))
    warnings = Report()
    with progress("checking"):
        mod = infer(read_module(file, warnings), warnings=warnings)
    for diagnostic in warnings.diagnostics:
        click.echo(diagnostic.render() + "\n", err=True)
    main = entry_of(mod, entry)
    params = [p.name_hint for p in main.params] if isinstance(main, Function) else []
    return mod, main, arrange(params, args, by_name)


def changed(mod: IRModule, entry: str, check_nan: bool, batch: str | None, precision: str | None) -> IRModule:
    """The program as options ask for it: in a precision, with checks for NaN, with calls in batches."""
    if precision is not None:
        from relay.pipelines import in_precision

        mod, _ = in_precision(mod, [entry], precision=precision)
    if check_nan:
        from relay.pipelines import with_nan_checks

        mod = with_nan_checks(mod)
    if batch is not None:
        from relay.driver.compilation import with_batching

        mod = with_batching(mod, [entry], batch)
    return mod


def converted(mod: IRModule, entry: str, header: Function, inputs: Sequence[Input]) -> tuple[Any, ...]:
    """The values of inputs, of the types that the parameters of a definition say."""
    from relay.interpreter.machine import evaluate as value_of

    types = TupleType([p.type_annotation for p in header.params if p.type_annotation is not None])
    mod = mod.copy()
    mod[entry] = replace(header, body=Tuple(header.params, span=header.span), ret_type=types)
    call, arrays = command(mod, entry, inputs)
    return value_of(mod, call, *arrays)


def entry_of(mod: IRModule, name: str) -> Expr:
    """The definition to run (`unknown-global`)."""
    names = [v.name_hint for v in mod.functions]
    if name not in names:
        own = [n for n in names if n not in mod.imported]
        listing = f"it has {', '.join(f'`--entry {n}`' for n in own[:8])}" if own else "it has no definitions"
        fail("unknown-global", f"the program has no `@{name}`", hint=did_you_mean(name, names) or listing)
    return mod[mod.get_global_var(name)]


def takes_data(fn: Function) -> bool:
    """Whether one compilation of a function does for all inputs: it takes no functions, nor any type."""
    pending = [p.type_annotation for p in fn.params]
    while pending:
        t = pending.pop()
        if t is None or isinstance(t, FuncType | RefType):
            return False
        pending += t.children
    return all(v.kind is Kind.Dim for v in fn.type_params)


def command(mod: IRModule, entry: str, inputs: Sequence[Input]) -> tuple[Expr, list[Any]]:
    """`fn(%a, …) { @entry(%a, literal, …) }` and the arrays for it; the call alone where there are none."""
    heads = [f"{'' if i == 0 else ', '}{x.origin}" for i, x in enumerate(inputs)]
    source = Source("<inputs>", f"@{entry}({''.join(heads)})")
    args: list[Expr] = []
    params: list[Var] = []
    arrays: list[Any] = []
    at = len(entry) + 2
    main = mod[entry]
    declared = main.params if isinstance(main, Function) else ()
    for i, (x, head) in enumerate(zip(inputs, heads, strict=True)):
        span = Span(source, at + len(head) - len(x.origin), at + len(head))
        at += len(head)
        if x.shape is None:
            t = declared[i].type_annotation if i < len(declared) else None
            name = f"<input {i + 1}>"
            if not x.is_json and not reads_as_json(x.text, t):
                args.append(literal(x.text, name, mod))
                continue
            value = json_input(x, name, t, mod)
            param = Var(x.origin, type_of_json(value, t), span=span)
            params.append(param)
            args.append(param)
            arrays.append(value)
            continue
        array = x.array_for(declared[i], span) if i < len(declared) else x.array
        assert array is not None
        if i < len(declared):
            check_dtype(array, declared[i], x.origin, span)
        param = Var(x.origin, TensorType(array.shape, dtype_name(array.dtype)), span=span)
        array = array if array.ndim else array[()]
        params.append(param)
        args.append(param)
        arrays.append(array)
    whole = Span(source, 0, len(source.text))
    call = Call(GlobalVar(entry, span=whole), tuple(args), span=whole)
    return (Function(tuple(params), call, span=whole) if params else call), arrays


def check_dtype(array: np.ndarray[Any, Any], p: Var, origin: str, span: Span) -> None:
    """Demand that an array has the dtype of the parameter it is for (`dtype-mismatch`)."""
    t, found = p.type_annotation, dtype_name(array.dtype)
    if isinstance(t, TensorType) and isinstance(t.dtype, str) and t.dtype != found:
        message = f"`{origin}` is {found}, and the parameter `%{p.name_hint}` {t.dtype}"
        fail("dtype-mismatch", message, span, hint=f'convert the array: x.astype("{t.dtype}") in NumPy')


def reads_as_json(text: str, t: Type | None) -> bool:
    """Whether a text is JSON for a data type: the language has no such literal of one."""
    text = text.lstrip()
    return isinstance(t, TypeCall | GlobalTypeVar) and text[:1] in ("[", "{") and text[:2] != "[|"


def json_input(x: Input, source_name: str, t: Type | None, mod: IRModule) -> Any:
    """The value of an input in JSON, for a parameter of a type (`bad-json-value`)."""
    from relay.cli.json_values import parsed, value_of_json

    span = Span(Source(x.origin if x.is_json else source_name, x.text), 0, len(x.text.rstrip()))
    return value_of_json(parsed(x.text, span), t, mod, span)


def type_of_json(value: Any, t: Type | None) -> Type | None:
    """The type of a value that JSON gave for a parameter of type `t`: its sizes are those of the value, or in
    a data type unknown.
    """
    if t is None or not t.flags & HAS_VAR:
        return t
    if isinstance(t, TensorType):
        from relay.interpreter.value import type_of_value

        return type_of_value(value)
    return map_type(t, lambda leaf: ANY if isinstance(leaf, TypeVar) and leaf.kind is Kind.Dim else leaf)


def literal(text: str, source_name: str, mod: IRModule) -> Expr:
    """An input in the language: a closed expression over the program's definitions (`unknown-variable`)."""
    from relay.text.parser import parse_expression

    e = parse_expression(text, source_name, mod=mod)
    for var in free_vars(e):
        fail(
            "unknown-variable",
            f"an input cannot mention the variable `%{var.name_hint}`",
            var.span,
            hint=f"only files that end in {', '.join(ARRAY_FILES)} are read"
            if Path(text).exists()
            else f"write a value, such as 3, [1.0, 2.0] or '\"text\"', or a {ARRAY_FILES[0]} file",
        )
    return e

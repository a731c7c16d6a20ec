"""`relay run FILE [ARGS]`: a program on inputs."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import numpy as np

from relay.cli.files import COMPILED, FOR_XLA, STDIN, read_module
from relay.cli.inputs import ARRAY_FILES, Input, arrange, read_weights
from relay.cli.models import EXPORTED, SUFFIX, input_names, read_exported, read_with
from relay.cli.outputs import RESULTS, save
from relay.cli.precision import precision_option
from relay.cli.progress import progress
from relay.diagnostic import Report, Source, Span, did_you_mean, fail
from relay.ir.collector import paused
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
from relay.ir.walk import post_order

COMPILING = ("native", "xla")
BACKENDS = (*COMPILING, "interpreter", "debug")
PROFILED_CALLS = 10
"""The number of calls that `--profile` measures."""
OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?", re.DOTALL)
NEGATIVE = ("-inff", "-nanf")


EXAMPLES = """\b
Examples:
  relay run distance.relay '[1.0, 2.0]' '[4.0, 6.0]'
  relay run model.relay image.npy --weights model.safetensors --output scores.npz
  relay run --backend interpreter model.relay image.npy
  relay run model.relay scale=0.5 data.npz
  relay run model.onnx --input image.npy
  relay run model.pt2 --input image.npy
"""


@click.command(context_settings={"ignore_unknown_options": True}, epilog=EXAMPLES)
@click.option("--entry", default="main", metavar="NAME", help="The definition to run (default: main).")
@click.option("--weights", metavar="FILE", help="A .safetensors or .npz file of parameters, by name.")
@click.option(
    "--output", metavar="FILE", help="Write the result to an .npz, .safetensors or .json file; print nothing."
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=BACKENDS[0],
    help="Compile it to machine code (native, the default), or by XLA for the device that JAX finds (xla); "
    "or interpret it (interpreter, or debug).",
)
@click.option("--profile", is_flag=True, help="Compile the program, and print where the time of a call goes.")
@click.option("--trace", metavar="FILE", help="Like --profile, as a trace for Chrome or Perfetto (.json).")
@click.option("--check-nan", is_flag=True, help="Fail at the first operator that makes a NaN or an infinity.")
@click.option(
    "--batch", type=click.Choice(["dynamic"]), help="Compute operators of many calls of a function together."
)
@precision_option
@click.option("--input", "more", multiple=True, metavar="VALUE", help="An input, like those of ARGS.")
@click.argument("file")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    file: str,
    args: Sequence[str],
    entry: str,
    weights: str | None,
    output: str | None,
    backend: str,
    profile: bool,
    trace: str | None,
    check_nan: bool,
    batch: str | None,
    precision: str | None,
    more: Sequence[str],
) -> None:
    """Run the program in FILE (`-` is standard input; or an ONNX model, an exported program of PyTorch,
    or a compiled program) and print its value.

    Each of ARGS is an input: a literal of the language such as 3 or '[1.0, 2.0]', a .npy file, a .json file,
    an .npz or .safetensors file (its arrays go to the parameters of the same names), or - for standard input.
    They fill the parameters in order; NAME=VALUE fills one by name.
    """
    args = (*args, *more)
    refuse_options((file, *args))
    if [file, *args].count(STDIN) > 1:
        raise click.UsageError("standard input can be read only once")
    if output is not None and not output.endswith(RESULTS):
        raise click.BadParameter(f"the name must end in {', '.join(RESULTS)}", param_hint="--output")
    is_profiled = profile or trace is not None
    refuse_combinations(file, output, backend, is_profiled, check_nan, batch, precision)
    name = entry.removeprefix("@")
    by_name = {} if weights is None else read_weights(weights)
    if is_profiled:
        profiled(file, name, args, by_name, trace, batch, precision)
        return
    if file.endswith((COMPILED, FOR_XLA)):
        value = run_compiled(file, name, args, by_name)
    else:
        mod, main, inputs = program_of(file, name, args, by_name)
        mod = changed(mod, name, check_nan, batch, precision)
        with progress("running"):
            value = evaluate(mod, name, isinstance(main, Function), inputs, backend)
    if output is None:
        from relay.interpreter.show import show

        click.echo(show(value))
    else:
        save(output, value)


def refuse_combinations(
    file: str,
    output: str | None,
    backend: str,
    is_profiled: bool,
    check_nan: bool,
    batch: str | None,
    precision: str | None,
) -> None:
    """Wrong usage, where options do not go with each other or with the file."""
    is_compiled, is_native = file.endswith((COMPILED, FOR_XLA)), backend == BACKENDS[0]
    if check_nan and (is_profiled or is_compiled):
        why = "a compiled program needs its source" if is_compiled else "it cannot be profiled"
        raise click.UsageError(f"--check-nan changes the program: {why}")
    if batch is not None and (is_compiled or backend not in COMPILING):
        raise click.UsageError("--batch is for programs that are compiled here")
    if precision is not None and is_compiled:
        raise click.UsageError("--precision is for programs that are compiled here")
    if is_profiled and (output is not None or not is_native):
        other = "--output" if output is not None else f"--backend {backend}"
        raise click.UsageError(f"--profile and --trace print no value: omit {other}")
    if is_compiled and not is_native:
        raise click.UsageError(f"{file} is a compiled program: --backend {backend} needs its source")


def changed(mod: IRModule, entry: str, check_nan: bool, batch: str | None, precision: str | None) -> IRModule:
    """The program as options ask for it: in a precision, with checks for NaN, with calls in batches."""
    if precision is not None:
        from relay.pipelines import in_precision

        mod, _ = in_precision(mod, [entry], precision=precision)
    if check_nan:
        from relay.pipelines import with_nan_checks

        mod = with_nan_checks(mod)
    if batch is not None:
        from relay.driver.build import with_batching

        mod = with_batching(mod, [entry], batch)
    return mod


def refuse_options(args: Sequence[str]) -> None:
    """Wrong usage, where an option that the command does not have would be taken for an input."""
    ctx = click.get_current_context()
    known = [name for p in ctx.command.params if isinstance(p, click.Option) for name in p.opts]
    for arg in args:
        if OPTION.fullmatch(arg) and not arg.startswith(NEGATIVE):
            name = arg.partition("=")[0]
            raise click.NoSuchOption(name, possibilities=get_close_matches(name, known), ctx=ctx)


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


def profiled(
    file: str,
    entry: str,
    args: Sequence[str],
    by_name: Mapping[str, Input],
    trace: str | None,
    batch: str | None,
    precision: str | None,
) -> None:
    """Show where the time of a call goes, and write a trace if there is a file for it."""
    from relay.backend.native.host.compiled_module import CompiledModule
    from relay.driver.build import build, load_module

    if file.endswith((COMPILED, FOR_XLA)):
        built = load_module(file)
        if not isinstance(built, CompiledModule):
            raise click.UsageError(f"--profile and --trace are for machine code, and {file} is for XLA")
        mod, header = IRModule(type_definitions=dict(built.datatypes)), built.header(entry)
        inputs = arrange([p.name_hint for p in header.params], args, by_name)
    else:
        mod, main, inputs = program_of(file, entry, args, by_name)
        header = main if isinstance(main, Function) else Function((), main, span=main.span)
        if not takes_data(header):
            raise click.UsageError("--profile calls functions of numbers, tensors and data types")
        built = build(mod, entries=[entry], batch=batch, precision=precision)
    values = converted(mod, entry, header, inputs)
    with progress("running"):
        found = built.profile(*values, entry=entry, repeat=PROFILED_CALLS)
    click.echo(str(found))
    if trace is not None:
        found.save_trace(trace)


def run_compiled(file: str, entry: str, args: Sequence[str], by_name: Mapping[str, Input]) -> Any:
    """The value of an entry of a compiled program on inputs."""
    from relay.driver.build import load_module

    built = load_module(file)
    header = built.header(entry)
    inputs = arrange([p.name_hint for p in header.params], args, by_name)
    mod = IRModule(type_definitions=dict(built.datatypes))
    values = converted(mod, entry, header, inputs)
    with progress("running"), paused():
        return built.evaluate(entry, *values)


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


def evaluate(
    mod: IRModule, entry: str, is_function: bool, inputs: Sequence[Input], backend: str = BACKENDS[0]
) -> Any:
    """The value of the definition `entry` on inputs; diagnostics about one point into the rendered call."""
    from relay.interpreter.machine import evaluate as value_of

    call, arrays = command(mod, entry, inputs) if is_function else (GlobalVar(entry), [])
    if backend == "xla":
        from relay.driver.executor import create_executor

        function = create_executor(backend, mod).evaluate(call)
        return function(*arrays) if isinstance(call, Function) else function
    if backend != "native":
        return value_of(mod, call, *arrays) if is_function else value_of(mod, entry)
    from relay.driver.build import build
    from relay.driver.executor import NativeExecutor

    main, mentions = mod[entry], [e for e in post_order(call) if e == GlobalVar(entry)]
    if isinstance(main, Function) and takes_data(main) and len(mentions) == 1:
        with paused():  # long lists are made, of which none is a cycle
            values = converted(mod, entry, main, inputs)
            return build(mod, entries=[entry]).program.evaluate(entry, *values)
    fn = call if isinstance(call, Function) else Function((), call, span=call.span)
    return NativeExecutor(mod).apply(fn, tuple(arrays))


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
        if x.array is None:
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
        if i < len(declared):
            check_dtype(x.array, declared[i], x.origin, span)
        array = x.array if x.array.ndim else x.array[()]
        param = Var(x.origin, TensorType(x.array.shape, dtype_name(x.array.dtype)), span=span)
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

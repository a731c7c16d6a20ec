"""`relay run FILE [ARGS]`: a program on inputs."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from relay.cli.calls import changed, command, converted, program_of, takes_data
from relay.cli.devices import device_option
from relay.cli.files import COMPILED, FOR_XLA, STDIN
from relay.cli.inputs import Input, arrange, read_weights
from relay.cli.outputs import RESULTS, described, save
from relay.cli.precision import precision_option
from relay.cli.progress import progress
from relay.cli.reports import json_option
from relay.ir.collector import paused
from relay.ir.expr import Function, GlobalVar
from relay.ir.module import IRModule
from relay.ir.walk import post_order

COMPILING = ("native", "xla")
BACKENDS = (*COMPILING, "interpreter", "debug")
PROFILED = ("native", "interpreter")
"""The backends that `--profile` measures."""
OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?", re.DOTALL)
NEGATIVE = ("-inff", "-nanf")


EXAMPLES = """\b
Examples:
  relay run distance.relay '[1.0, 2.0]' '[4.0, 6.0]'
  relay run model.relay image.npy --weights model.safetensors --output scores.npz
  relay run --backend interpreter model.relay image.npy
  relay run model.relay scale=0.5 data.npz --json
  relay run model.relay image.npy --device cpu=native --device gpu='xla gpu'
  relay run model.onnx --input image.npy
  relay run model.pt2 --input image.npy
"""


@click.command(context_settings={"ignore_unknown_options": True}, epilog=EXAMPLES)
@click.option("--entry", default="main", metavar="NAME", help="The definition to run (default: main).")
@click.option(
    "--weights", metavar="FILE", help="A .safetensors, .npz or .params file of parameters, by name."
)
@click.option(
    "--output", metavar="FILE", help="Write the result to an .npz, .safetensors or .json file; print nothing."
)
@json_option
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=BACKENDS[0],
    help="Compile it to machine code (native, the default), or by XLA for the device that JAX finds (xla); "
    "or interpret it (interpreter, or debug).",
)
@click.option("--profile", is_flag=True, help="Print where the time and the memory of a call go.")
@click.option("--trace", metavar="FILE", help="Like --profile, as a trace for Chrome or Perfetto (.json).")
@click.option("--html", metavar="FILE", help="Like --profile, as a page with a flame graph (.html).")
@click.option("--check-nan", is_flag=True, help="Fail at the first operator that makes a NaN or an infinity.")
@click.option(
    "--batch", type=click.Choice(["dynamic"]), help="Compute operators of many calls of a function together."
)
@precision_option
@device_option
@click.option("--input", "more", multiple=True, metavar="VALUE", help="An input, like those of ARGS.")
@click.argument("file")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    file: str,
    args: Sequence[str],
    entry: str,
    weights: str | None,
    output: str | None,
    as_json: bool,
    backend: str,
    profile: bool,
    trace: str | None,
    html: str | None,
    check_nan: bool,
    batch: str | None,
    precision: str | None,
    devices: Mapping[str, str] | None,
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
    refuse_outputs(output, as_json, html)
    is_profiled = profile or trace is not None or html is not None
    if trace is not None and backend == "interpreter":
        raise click.UsageError("--trace is for machine code: omit --backend interpreter")
    printed = "--output" if output is not None else "--json" if as_json else ""
    refuse_combinations(file, printed, backend, is_profiled, check_nan, batch, precision)
    if devices is not None and (file.endswith((COMPILED, FOR_XLA)) or is_profiled or backend != BACKENDS[0]):
        raise click.UsageError("--device is for programs that are compiled here, and run without a profile")
    name = entry.removeprefix("@")
    by_name = {} if weights is None else read_weights(weights)
    if is_profiled:
        from relay.cli.profiling import profiled

        profiled(file, name, args, by_name, backend, trace, html, batch, precision)
        return
    if file.endswith((COMPILED, FOR_XLA)):
        value = run_compiled(file, name, args, by_name)
    else:
        mod, main, inputs = program_of(file, name, args, by_name)
        mod = changed(mod, name, check_nan, batch, precision)
        with progress("running"):
            value = evaluate(mod, name, isinstance(main, Function), inputs, backend, devices)
    if output is not None:
        save(output, value)
    elif as_json:
        click.echo(described(value))
    else:
        from relay.interpreter.show import show

        click.echo(show(value))


def refuse_outputs(output: str | None, as_json: bool, html: str | None) -> None:
    """Wrong usage, where the result is to go to two places or to a file of another kind."""
    if output is not None and as_json:
        raise click.UsageError("--json prints the result, and --output writes it: give one of them")
    if output is not None and not output.endswith(RESULTS):
        raise click.BadParameter(f"the name must end in {', '.join(RESULTS)}", param_hint="--output")
    if html is not None and not html.endswith(".html"):
        raise click.BadParameter("the name must end in .html", param_hint="--html")


def refuse_combinations(
    file: str,
    printed: str,
    backend: str,
    is_profiled: bool,
    check_nan: bool,
    batch: str | None,
    precision: str | None,
) -> None:
    """Wrong usage, where options do not go with each other or with the file.

    `printed` is the option that says where the value goes, if one does.
    """
    is_compiled, is_native = file.endswith((COMPILED, FOR_XLA)), backend == BACKENDS[0]
    if check_nan and (is_profiled or is_compiled):
        why = "a compiled program needs its source" if is_compiled else "it cannot be profiled"
        raise click.UsageError(f"--check-nan changes the program: {why}")
    if batch is not None and (is_compiled or backend not in COMPILING):
        raise click.UsageError("--batch is for programs that are compiled here")
    if precision is not None and is_compiled:
        raise click.UsageError("--precision is for programs that are compiled here")
    if is_profiled and (printed or backend not in PROFILED):
        other = printed or f"--backend {backend}"
        raise click.UsageError(f"--profile, --trace and --html print no value: omit {other}")
    if is_compiled and not is_native:
        raise click.UsageError(f"{file} is a compiled program: --backend {backend} needs its source")


def refuse_options(args: Sequence[str]) -> None:
    """Wrong usage, where an option that the command does not have would be taken for an input."""
    ctx = click.get_current_context()
    known = [name for p in ctx.command.params if isinstance(p, click.Option) for name in p.opts]
    for arg in args:
        if OPTION.fullmatch(arg) and not arg.startswith(NEGATIVE):
            name = arg.partition("=")[0]
            raise click.NoSuchOption(name, possibilities=get_close_matches(name, known), ctx=ctx)


def run_compiled(file: str, entry: str, args: Sequence[str], by_name: Mapping[str, Input]) -> Any:
    """The value of an entry of a compiled program on inputs."""
    from relay.driver.compilation import load_module

    built = load_module(file)
    header = built.header(entry)
    inputs = arrange([p.name_hint for p in header.params], args, by_name)
    mod = IRModule(type_definitions=dict(built.datatypes))
    values = converted(mod, entry, header, inputs)
    with progress("running"), paused():
        return built.evaluate(entry, *values)


def evaluate(
    mod: IRModule,
    entry: str,
    is_function: bool,
    inputs: Sequence[Input],
    backend: str = BACKENDS[0],
    devices: Mapping[str, str] | None = None,
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
    from relay.driver.compilation import build
    from relay.driver.executor import NativeExecutor

    main, mentions = mod[entry], [e for e in post_order(call) if e == GlobalVar(entry)]
    if isinstance(main, Function) and takes_data(main) and len(mentions) == 1:
        with paused():  # long lists are made, of which none is a cycle
            values = converted(mod, entry, main, inputs)
            return build(mod, devices or BACKENDS[0], entries=[entry]).program.evaluate(entry, *values)
    fn = call if isinstance(call, Function) else Function((), call, span=call.span)
    return NativeExecutor(mod, devices=devices).apply(fn, tuple(arrays))

"""`relay run --profile`: where the time and the memory of a call go."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from relay.cli.calls import changed, converted, program_of, takes_data
from relay.cli.files import COMPILED, FOR_XLA
from relay.cli.inputs import Input, arrange
from relay.cli.progress import progress
from relay.ir.expr import Function
from relay.ir.module import IRModule

if TYPE_CHECKING:
    from relay.backend.native.host.profile import Profile
    from relay.picture.interpreted import InterpreterProfile

PROFILED_CALLS = 10
"""The number of calls of machine code that are measured."""


def profiled(
    file: str,
    entry: str,
    args: Sequence[str],
    by_name: Mapping[str, Input],
    backend: str,
    trace: str | None,
    html: str | None,
    batch: str | None,
    precision: str | None,
) -> None:
    """Show where the time and the memory of a call go, and write a trace and a page if there are files for
    them.
    """
    if backend == "interpreter":
        found = interpreted(file, entry, args, by_name, precision)
    else:
        found = compiled(file, entry, args, by_name, batch, precision)
        if trace is not None:
            found.save_trace(trace)
    click.echo(str(found))
    if html is not None:
        with progress("drawing"):
            found.save_html(html)


def interpreted(
    file: str, entry: str, args: Sequence[str], by_name: Mapping[str, Input], precision: str | None
) -> "InterpreterProfile":
    """The profile of a definition in the interpreter."""
    from relay.picture.interpreted import interpreted_profile

    if file.endswith((COMPILED, FOR_XLA)):
        raise click.UsageError(f"{file} is a compiled program: --backend interpreter needs its source")
    mod, main, inputs = program_of(file, entry, args, by_name)
    mod = changed(mod, entry, False, None, precision)
    if not isinstance(main, Function):
        raise click.UsageError(f"@{entry} is not a function: only a call can be profiled")
    values = converted(mod, entry, main, inputs)
    with progress("running"):
        return interpreted_profile(mod, entry, values)


def compiled(
    file: str,
    entry: str,
    args: Sequence[str],
    by_name: Mapping[str, Input],
    batch: str | None,
    precision: str | None,
) -> "Profile":
    """The profile of a definition as machine code."""
    from relay.backend.native.host.compiled_module import CompiledModule
    from relay.driver.compilation import build, load_module

    if file.endswith((COMPILED, FOR_XLA)):
        built = load_module(file)
        if not isinstance(built, CompiledModule):
            raise click.UsageError(
                f"--profile is for machine code and the interpreter, and {file} is for XLA"
            )
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
        return built.profile(*values, entry=entry, repeat=PROFILED_CALLS)

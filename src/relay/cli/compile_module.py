"""`relay compile FILE`: a program as machine code, in a file, or to be read."""

from collections.abc import Sequence
from pathlib import Path

import click

from relay.cli.files import STDIN, read_module
from relay.cli.inputs import weights_of_main
from relay.cli.progress import progress
from relay.diagnostic import Report
from relay.ir.module import IRModule

KINDS = ("llvm", "asm", "plan")


@click.command("compile")
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write (default: FILE with .rlo at its end)."
)
@click.option("--emit", type=click.Choice(KINDS), help="Print LLVM IR, assembly, or the plan; write nothing.")
@click.option(
    "--entry", multiple=True, metavar="NAME", help="A definition that can be called (default: main)."
)
@click.option(
    "--weights", metavar="FILE", help="A .safetensors or .npz file of parameters, which become constants."
)
@click.argument("file")
def compile_module(
    file: str, output: str | None, emit: str | None, entry: Sequence[str], weights: str | None
) -> None:
    """Compile the program in FILE (`-` is standard input) to machine code of this processor.

    `relay run` runs the file that is written, without the program it was made of.  The plan is the program as
    it is compiled: its definitions, and as `@fused` the groups of operators that are computed in one go.
    """
    if file == STDIN and output is None and emit is None:
        raise click.UsageError("a program from standard input needs -o FILE")
    from relay.building import build, named_entries
    from relay.typecheck.infer import infer

    warnings = Report()
    with progress("checking"):
        mod = infer(read_module(file, warnings), warnings=warnings)
    for diagnostic in warnings.diagnostics:
        click.echo(diagnostic.render() + "\n", err=True)
    if weights is not None:
        mod = with_weights(mod, weights)
    if emit is not None:
        click.echo(shown(mod, named_entries(mod, entry or None), emit).rstrip("\n"))
        return
    with progress("compiling"):
        built = build(mod, entries=entry or None)
    built.export_library(output or str(Path(file).with_suffix(".rlo")))


def with_weights(mod: IRModule, name: str) -> IRModule:
    """The module with parameters of `@main` bound to the arrays of a file that have their names."""
    from relay.driver import with_params

    return with_params(mod, weights_of_main(mod, name))


def shown(mod: IRModule, entries: Sequence[str], kind: str) -> str:
    """What is made of a module on the way to machine code."""
    from relay.backend.native.host.compilation import Compilation
    from relay.backend.native.llvm.codegen import emit_text
    from relay.pipelines import optimize_for_native

    with progress("compiling"):
        made = Compilation(optimize_for_native(mod, entries), entries)
        return str(made.program.mod) if kind == "plan" else emit_text(made.modules(), kind)

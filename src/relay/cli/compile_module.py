"""`relay compile FILE`: a program as machine code, in a file, or to be read."""

from collections.abc import Mapping, Sequence

import click

from relay.backend.native.llvm.machine import MACHINES
from relay.backend.native.llvm.processors import NATIVE
from relay.cli.compile_library import SUFFIXES, compile_to_library, is_library, library_output
from relay.cli.compile_xla import (
    COLLECTIVES,
    STABLEHLO,
    compile_for_xla,
    default_output,
    is_for_xla,
    suffix,
)
from relay.cli.devices import device_option
from relay.cli.files import STDIN, read_module
from relay.cli.inputs import weights_of_main
from relay.cli.precision import precision_option, report_options
from relay.cli.progress import progress
from relay.diagnostic import Report
from relay.ir.module import IRModule

EXAMPLES = """\b
Examples:
  relay compile model.relay --weights model.safetensors
  relay compile model.relay --target x86-64-v3 --target x86-64-v4
  relay compile model.relay --emit shared -o build/libmodel.so
  relay compile model.relay --emit static --target x86-64-v3
  relay compile model.relay --emit loops --entry main
  relay compile model.relay --target 'xla gpu' --platform cuda
"""
KINDS = ("plan", "loops", "llvm", "asm", STABLEHLO, COLLECTIVES, *SUFFIXES)


@click.command("compile", epilog=EXAMPLES)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The file to write.  Default, in the folder of FILE and by its name: model.rlo, for XLA model.rlx; "
    "with --emit shared libmodel.so, static libmodel.a, object model.o.  The header of a library, model.h, "
    "is written beside it.",
)
@click.option(
    "--emit",
    type=click.Choice(KINDS),
    help="Print the plan, its loops, LLVM IR or assembly, or for XLA StableHLO, or with --topology what the "
    "devices send each other; write nothing.  Or write a library for C and its header: shared, static, "
    "object.",
)
@click.option(
    "--machine",
    type=click.Choice(tuple(MACHINES)),
    help="With --emit loops: whose vectors kernels are for (default: this processor's).",
)
@click.option(
    "--kernels/--no-kernels",
    default=True,
    help="With --emit loops: whether the loops of kernels are printed, or only their schedules.",
)
@click.option(
    "--target",
    multiple=True,
    metavar="NAME",
    help="A processor to compile for, several if repeated: native (the default), x86-64-v3, "
    "x86-64-v4+avx512vnni, ...; each machine that loads the file takes the best that it can run. "
    "With --emit shared, static or object one alone, also x86_64-linux-gnu, aarch64-linux-gnu, "
    "apple-m1, ...; with plan, loops, llvm and asm none. "
    "Or alone, xla, 'xla cpu', 'xla gpu', 'xla tpu': a file for what XLA compiles for.",
)
@click.option(
    "--platform",
    multiple=True,
    metavar="NAME",
    help="With --target xla: what the file is for, cuda, rocm, tpu or cpu, several if repeated; none has to "
    "be here (default: those of the target, of xla this machine's).",
)
@click.option(
    "--size",
    multiple=True,
    metavar="NAME=NUMBER",
    help="With --target xla: a size that is a type parameter as a number; others stay open.",
)
@click.option(
    "--topology",
    metavar="NAME",
    help="With --emit collectives: TPUs that need not be here, such as v5e:16x16 (takes the package libtpu).",
)
@click.option("--entry", multiple=True, metavar="NAME", help="An entry point (default: main).")
@click.option(
    "--weights",
    metavar="FILE",
    help="A .safetensors, .npz or .params file of parameters, which become constants.",
)
@click.option(
    "--batch", type=click.Choice(["dynamic"]), help="Compute operators of many calls of a function together."
)
@precision_option
@device_option
@report_options
@click.argument("file")
def compile_module(
    file: str,
    output: str | None,
    emit: str | None,
    machine: str | None,
    kernels: bool,
    target: Sequence[str],
    platform: Sequence[str],
    size: Sequence[str],
    topology: str | None,
    entry: Sequence[str],
    weights: str | None,
    batch: str | None,
    precision: str | None,
    devices: Mapping[str, str] | None,
    report: bool,
    report_all: bool,
) -> None:
    """Compile the program in FILE (`-` is standard input) to machine code, to a library for C, or for XLA.

    `relay run` runs the file that is written, without the program it was made of; C calls a library, which
    needs neither Python nor Relay (docs/deploying.md).  The plan is the program as
    it is compiled: its definitions, and as `@fused` the groups of operators that are computed in one go.  The
    loops are what these groups become, with the vectors and threads that have been chosen, and the kernels
    that they call.
    """
    refuse_beside_loops(emit, machine, kernels)
    for_native = {"--machine": machine, "--batch": batch, "--report": report, "--report-all": report_all}
    is_xla = is_for_xla(target, emit, platform, size, topology, for_native)
    as_library = is_library(
        emit, target, {"--machine": machine, "--report": report, "--report-all": report_all}
    )
    if target and emit is not None and not is_xla and not as_library:
        raise click.UsageError("--target says what the file is for; --emit writes none")
    if devices is not None and (target or emit is not None):
        raise click.UsageError("--device says what targets there are: omit --target and --emit")
    written = written_file(file, output, emit, is_xla=is_xla, as_library=as_library)
    from relay.driver.compilation import build, named_entries, with_batching

    mod = checked_module(file, weights)
    names = named_entries(mod, entry or None)
    if is_xla:
        compile_for_xla(mod, names, target[0], platform, size, topology, precision, written)
        return
    if batch is not None:
        mod = with_batching(mod, names, batch)
    if as_library:
        assert written is not None
        compile_to_library(mod, names, target, precision, written)
        return
    if written is None:
        assert emit is not None
        click.echo(intermediate_code(mod, names, emit, machine, kernels, precision).rstrip("\n"))
        return
    with progress("compiling"):
        built = build(mod, devices or target or NATIVE, entries=names, precision=precision)
    if report or report_all:
        found = built.report()
        click.echo(found.full() if report_all else str(found))
    built.export_library(written)


def refuse_beside_loops(emit: str | None, machine: str | None, kernels: bool) -> None:
    """Wrong usage, where options of `--emit loops` are given without it."""
    if machine is not None and emit != "loops":
        raise click.UsageError("--machine goes with --emit loops")
    if not kernels and emit != "loops":
        raise click.UsageError("--no-kernels goes with --emit loops")


def written_file(
    file: str, output: str | None, emit: str | None, *, is_xla: bool, as_library: bool
) -> str | None:
    """The file that is written; None where something is printed instead.  Wrong usage, where it has no name,
    or one that does not fit.
    """
    if file == STDIN and output is None and (emit is None or as_library):
        raise click.UsageError("a program from standard input needs -o FILE")
    if as_library:
        assert emit is not None
        return library_output(file, emit, output)
    if output is not None and not output.endswith(suffix(is_xla)):
        other = "; `relay export` writes ONNX models" if output.endswith(".onnx") else ""
        raise click.BadParameter(f"the name must end in {suffix(is_xla)}{other}", param_hint="--output")
    return None if emit is not None else output or default_output(file, is_xla)


def checked_module(file: str, weights: str | None) -> IRModule:
    """The program in a file, inferred, with parameters of `@main` bound to the arrays in the file `weights`
    that have their names; its warnings are printed.
    """
    from relay.driver.arguments import with_params
    from relay.typecheck.infer import infer

    warnings = Report()
    with progress("checking"):
        mod = infer(read_module(file, warnings), warnings=warnings)
    for diagnostic in warnings.diagnostics:
        click.echo(diagnostic.render() + "\n", err=True)
    return mod if weights is None else with_params(mod, weights_of_main(mod, weights))


def intermediate_code(
    mod: IRModule,
    entries: Sequence[str],
    kind: str,
    machine: str | None,
    kernels: bool,
    precision: str | None = None,
) -> str:
    """The stages of a module on the way to machine code; `kernels` says whether to include their loops."""
    from relay.backend.native.host.compiler import Compiler
    from relay.backend.native.llvm.codegen import emit_text
    from relay.backend.native.llvm.machine import shaped_for
    from relay.backend.native.program.nests import text_of_nests
    from relay.pipelines import optimize_for_native

    with progress("compiling"), shaped_for(machine):
        made = Compiler(optimize_for_native(mod, entries, precision=precision), entries)
        if kind == "loops":
            return text_of_nests(made.program.nests, kernels)
        return made.program.mod.astext() if kind == "plan" else emit_text(made.modules(), kind)

"""`relay export FILE`: a program as a model of another format."""

from pathlib import Path

import click

from relay.cli.files import STDIN, read_module
from relay.cli.inputs import weights_of_main
from relay.cli.progress import progress
from relay.diagnostic import Report

EXAMPLES = """\b
Examples:
  relay export model.relay -o model.onnx
  relay export net.relay --weights net.safetensors
"""


@click.command("export", epilog=EXAMPLES)
@click.option(
    "-o", "--output", metavar="FILE", help="The model to write (default: FILE with the suffix .onnx)."
)
@click.option(
    "--weights",
    metavar="FILE",
    help="A .safetensors, .npz or .params file of parameters, which become initialisers.",
)
@click.option(
    "--contributed", is_flag=True, help="Use ONNX Runtime's own operators: `MatMulNBits` for small weights."
)
@click.argument("file")
def export(file: str, output: str | None, weights: str | None, contributed: bool) -> None:
    """Write the program in FILE (`-` is standard input) as an ONNX model.

    `@main` must come down to operators on tensors; everything that ONNX has no counterpart of is listed at
    once.  Weights of 2 GiB and more go to a file beside the model.
    """
    if output is not None and not output.endswith(".onnx"):
        raise click.BadParameter("the name must end in .onnx", param_hint="--output")
    if file == STDIN and output is None:
        raise click.UsageError("a program from standard input needs -o FILE")
    from relay.frontend.onnx.export.api import save_onnx, to_onnx

    warnings = Report()
    with progress("exporting"):
        mod = read_module(file, warnings)
        params = {} if weights is None else weights_of_main(mod, weights)
        model = to_onnx(mod, params, contributed=contributed)
    for diagnostic in warnings.diagnostics:
        click.echo(diagnostic.render() + "\n", err=True)
    save_onnx(model, output or str(Path(file).with_suffix(".onnx")))

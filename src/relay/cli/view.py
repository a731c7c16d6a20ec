"""`relay view FILE`: a program as a picture."""

from pathlib import Path

import click

from relay.cli.files import display_name, read_module
from relay.cli.models import EXPORTED, SUFFIX, imported
from relay.cli.progress import progress
from relay.diagnostic import Report

KINDS = (".html", ".svg", ".dot")

EXAMPLES = """\b
Examples:
  relay view model.relay
  relay view model.relay --output model.html
  relay view model.relay --svg > model.svg
  relay view model.onnx --output model.html
  relay view model.relay --dot | dot -Tpdf > model.pdf
"""


@click.command(epilog=EXAMPLES)
@click.option("-o", "--output", metavar="FILE", help="Write the picture to an .html, .svg or .dot file.")
@click.option("--dot", "kind", flag_value=".dot", help="Print the graph as Graphviz reads it.")
@click.option("--svg", "kind", flag_value=".svg", help="Print a drawing, made without a browser.")
@click.option(
    "--no-fusion", is_flag=True, help="Leave out which operators machine code computes in one loop."
)
@click.argument("file")
def view(file: str, output: str | None, kind: str | None, no_fusion: bool) -> None:
    """Draw the program in FILE (`-` is standard input; or an ONNX model, or an exported program of PyTorch),
    and show it in a browser.

    Its page stands alone: definitions, branches and groups of operators open and close, a search finds
    nodes, and the text of the program is beside them.
    """
    if output is not None and kind is not None:
        raise click.UsageError("--dot and --svg print the picture: omit --output, whose name says the kind")
    if output is not None and not output.endswith(KINDS):
        raise click.BadParameter(f"the name must end in {', '.join(KINDS)}", param_hint="--output")
    from relay.picture.view import view as draw

    warnings = Report()
    with progress("drawing"):
        mod = imported(file) if file.endswith((SUFFIX, EXPORTED)) else read_module(file, warnings)
        found = draw(mod, Path(display_name(file)).name, fused=not no_fusion)
        text = None if kind is None else found.kind(kind)()
    if text is not None:
        click.echo(text, nl=False)
    elif output is not None:
        with progress("drawing"):
            found.save(output)
    else:
        click.echo(f"the picture is in {found.open()}")

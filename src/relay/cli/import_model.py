"""`relay import MODEL`: a model of another format as a program."""

import click

from relay.cli.models import EXPORTED, imported
from relay.cli.progress import progress
from relay.diagnostic import fail

MAX_SIZE_DIGITS = 18
"""The most digits that a size may have: it is a 64-bit integer."""
EXAMPLES = """\b
Examples:
  relay import model.onnx -o model.relay
  relay import model.onnx --shape image=1,3,224,224
  relay import model.onnx --report
  relay import model.pt2 -o model.relay
"""


@click.command("import", epilog=EXAMPLES)
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write; its weights go to a file next to it."
)
@click.option("--shape", "shapes", multiple=True, metavar="NAME=SIZES", help="The shape of an input: x=1,3,?")
@click.option("--opset", type=int, help="The version of ONNX's operators, instead of the model's own.")
@click.option("--report", is_flag=True, help="Print what converts each operator, and import nothing.")
@click.argument("model")
def import_model(
    model: str, output: str | None, shapes: tuple[str, ...], opset: int | None, report: bool
) -> None:
    """Print the model in the file MODEL, of ONNX or an exported program of PyTorch (.pt2), as a program, or
    save it.

    Variables have the model's names, and errors point to the model's nodes.
    """
    if output is not None and not output.endswith(".relay"):
        raise click.BadParameter("the name must end in .relay", param_hint="--output")
    if model.endswith(EXPORTED) and (shapes or opset is not None):
        raise click.UsageError("--shape and --opset are for ONNX models")
    if report:
        click.echo(coverage_of(model, opset))
        return
    with progress("importing"):
        mod = imported(model, dict(map(shape_of, shapes)), opset)
    if output is None:
        click.echo(mod.astext().rstrip("\n"))
        return
    from relay.text.weights import save

    save(mod, output)


def coverage_of(model: str, opset: int | None) -> str:
    """How each operator of a model is converted."""
    if model.endswith(EXPORTED):
        from relay.frontend.torch.report import coverage_of_file

        return coverage_of_file(model)
    from relay.frontend.onnx.report import coverage

    return coverage(model, opset)


def shape_of(text: str) -> tuple[str, tuple[object, ...]]:
    """`x=1,3,?` as a name and sizes (`bad-number`)."""
    from relay.ir.type import ANY

    name, _, sizes = text.rpartition("=")
    if not name:
        raise click.BadParameter("write NAME=SIZES, as in x=1,3,?", param_hint="--shape")
    found: list[object] = []
    for size in sizes.strip("()[] ").split(","):
        if not size.strip():
            continue
        if size.strip() != "?" and not (size.strip().isdecimal() and len(size.strip()) <= MAX_SIZE_DIGITS):
            fail(
                "bad-number",
                f"`{size.strip()}` in `--shape {text}` is not a size",
                hint="write 1,3,224,224 or ?",
            )
        found.append(ANY if size.strip() == "?" else int(size))
    return name, tuple(found)

"""`relay fmt FILE…`: programs in the canonical form, comments kept."""

import difflib
from collections.abc import Sequence

import click

from relay.cli.comments import carry_over, scan
from relay.cli.files import STDIN, read_text, shown, write_atomically
from relay.diagnostic import RelayError, fail


@click.command(short_help="Bring programs into the canonical form.")
@click.option("--check", is_flag=True, help="Change nothing; show what would change and exit with 1.")
@click.option(
    "--dialect", type=click.Choice(["relay", "tvm"]), default="relay", help="The text format to write."
)
@click.option(
    "--width", type=click.IntRange(min=20), default=100, help="Characters in a line (default: 100)."
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def fmt(files: Sequence[str], check: bool, dialect: str, width: int) -> int:
    """Rewrite each FILE in the canonical form; `-` reads standard input and prints the result."""
    status = 0
    for name in files:
        try:
            old = read_text(name)
            new = formatted(old, name, dialect, width)
            if check:
                status |= _show_change(old, new, name)
            elif name == STDIN:
                click.echo(new, nl=False)
            elif new != old:
                write_atomically(name, lambda out, text=new: _write(out, text))
                click.echo(f"{name}: formatted", err=True)
        except RelayError as error:
            click.echo(f"{error}\n", err=True)
            status = 1
    return status


def _write(out: object, text: str) -> None:
    out.write(text.encode())  # pyright: ignore[reportAttributeAccessIssue]


def _show_change(old: str, new: str, name: str) -> int:
    if old == new:
        return 0
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), shown(name), f"{shown(name)} (formatted)", lineterm=""
    )
    click.echo("\n".join(lines))
    return 1


def formatted(text: str, name: str, dialect: str = "relay", width: int = 100) -> str:
    """The canonical text of the same program with the same comments (`fmt-comments` where that fails)."""
    from pathlib import Path

    from relay.ir.equal import structural_equal
    from relay.text.parser import parse
    from relay.text.printer import module_text

    path = None if name == STDIN else Path(name)
    mod = parse(text, shown(name), path=path)
    header = text.lstrip().startswith("#[") or dialect == "tvm"
    new = module_text(mod, dialect=dialect, width=width, header=header)
    new = carry_over(text, new.rstrip("\n") + "\n")
    same_comments = sorted(c.text for c in scan(new)[1]) == sorted(c.text for c in scan(text)[1])
    if not same_comments or not structural_equal(parse(new, shown(name), path=path), mod):
        fail(
            "fmt-comments",
            f"`{shown(name)}` has comments in places that its canonical form does not have",
            hint="move them to lines of their own, between statements",
        )
    return new

"""`relay fmt FILE…`: programs in the canonical form, comments kept."""

import difflib
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Any

import click

from relay.cli.comments import carry_over, scan
from relay.cli.files import STDIN, display_name, programs, read_text, write_bytes
from relay.diagnostic import RelayError
from relay.ir.equal import structural_equal
from relay.ir.expr import Constant
from relay.ir.module import IRModule
from relay.ir.type import TypeVar
from relay.text.printer import Dialect, module_text


@click.command()
@click.option(
    "--check", is_flag=True, help="Change nothing; print the difference, and exit with 1 if there is one."
)
@click.option(
    "--dialect", type=click.Choice(["relay", "tvm"]), default="relay", help="The text format to write."
)
@click.option(
    "--width",
    type=click.IntRange(min=20),
    default=100,
    help="The length of a line, in characters (default: 100).",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def fmt(files: Sequence[str], check: bool, dialect: Dialect, width: int) -> int:
    """Rewrite each FILE (of a folder all programs in it) in the canonical form; `-` reads standard input and
    prints the result.
    """
    status = 0
    for name in programs(files):
        try:
            old = read_text(name)
            new = formatted(old, name, dialect, width)
            if check:
                status |= _show_change(old, new, name)
            elif name == STDIN:
                click.echo(new, nl=False)
            elif new != old:
                write_bytes(name, new.encode())
                click.echo(f"{name}: formatted", err=True)
        except RelayError as error:
            click.echo(f"{error}\n", err=True)
            status = 1
    return status


def _show_change(old: str, new: str, name: str) -> int:
    if old == new:
        return 0
    lines = difflib.unified_diff(
        old.splitlines(),
        new.splitlines(),
        display_name(name),
        f"{display_name(name)} (formatted)",
        lineterm="",
    )
    click.echo("\n".join(lines))
    return 1


def formatted(text: str, name: str, dialect: Dialect = "relay", width: int = 100) -> str:
    """The canonical text of the same program with the same comments."""
    implicit: set[TypeVar] = set()
    mod, keep = _read(text, name, implicit)
    header = text.lstrip().startswith("#[version") or dialect == "tvm"

    def print_module(implicit_params: Set[TypeVar]) -> str:
        new = module_text(
            mod, dialect=dialect, width=width, header=header, keep=keep, implicit_params=implicit_params
        )
        return carry_over(text, new.rstrip("\n") + "\n")

    new = print_module(implicit if dialect == "relay" else frozenset())
    if implicit and dialect == "relay" and not structural_equal(_read(new, name)[0], mod):
        new = print_module(frozenset())  # the canonical order of a sum is another order of type parameters
    assert sorted(c.text for c in scan(new)[1]) == sorted(c.text for c in scan(text)[1]), "lost a comment"
    if dialect == "relay":  # the older dialect decides literals as it reads them
        assert structural_equal(_read(new, name)[0], mod), "changed the program"
    return new


def _read(
    text: str, name: str, implicit: set[TypeVar] | None = None
) -> tuple[IRModule, Callable[[Constant], str] | None]:
    """The module, and how it refers to large constants: as before, in place or in its weights file.

    `implicit` receives the dimensions that functions declare by the types of their parameters.
    """
    from relay.text.parser import parse_module
    from relay.text.print_literals import constant_text
    from relay.text.weights import read_constants, weights_path

    path = None if name == STDIN else Path(name)
    if "#[metadata]" in text:
        return parse_module(text, display_name(name), path=path, implicit_params=implicit), None
    beside = read_constants(weights_path(path)) if path is not None and "meta[" in text else []
    index = {id(c.value): i for i, c in enumerate(beside)}

    def keep(c: Constant) -> str:
        if id(c.value) in index:
            return f"meta[relay.Constant][{index[id(c.value)]}]"
        return constant_text(c, str, keep, inline=c.value.size)

    meta: dict[str, list[Any]] = {"relay.Constant": beside}
    return parse_module(text, display_name(name), path=path, init_meta=meta, implicit_params=implicit), keep

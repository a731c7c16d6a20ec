"""`relay compile --emit shared`: a program as a library for C, with its header."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from relay.backend.native.llvm.processors import NATIVE
from relay.cli.progress import progress
from relay.ir.module import IRModule

SUFFIXES = {"shared": ".so", "static": ".a", "object": ".o"}
"""The kinds of files, and what their names end in."""


def is_library(emit: str | None, targets: Sequence[str], others: Mapping[str, Any]) -> bool:
    """Whether a library is asked for (wrong usage, where options do not go with it); `others` has the values
    of options that no library takes.
    """
    if emit not in SUFFIXES:
        return False
    if len(targets) > 1:
        raise click.UsageError(f"--emit {emit} is for one --target")
    for option, given in others.items():
        if given:
            raise click.UsageError(f"{option} does not go with --emit {emit}")
    return True


def library_output(file: str, emit: str, output: str | None) -> str:
    """The name of the file to write."""
    suffix = SUFFIXES[emit]
    if output is None:
        path = Path(file)
        return str(path.with_name(f"{'' if emit == 'object' else 'lib'}{path.stem}{suffix}"))
    if not output.endswith(suffix):
        raise click.BadParameter(f"the name must end in {suffix}", param_hint="--output")
    return output


def compile_to_library(
    mod: IRModule, entries: Sequence[str], targets: Sequence[str], precision: str | None, output: str
) -> None:
    """Compile a module to a library, write it and its header, and print their names."""
    from relay.driver.c_library import write_library

    with progress("compiling"):
        header = write_library(
            mod, output, entries=entries, target=targets[0] if targets else NATIVE, precision=precision
        )
    click.echo(f"wrote {output} and {header}")

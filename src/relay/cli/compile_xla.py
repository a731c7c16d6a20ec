"""`relay compile --target xla`: a program for platforms that XLA compiles for, in a file, or as StableHLO."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from relay.cli.files import COMPILED, FOR_XLA
from relay.cli.progress import progress
from relay.ir.module import IRModule

STABLEHLO = "stablehlo"
COLLECTIVES = "collectives"
XLA = "xla"


def is_for_xla(
    targets: Sequence[str],
    emit: str | None,
    platforms: Sequence[str],
    sizes: Sequence[str],
    topology: str | None,
    for_native: Mapping[str, Any],
) -> bool:
    """Whether XLA is to compile the program (wrong usage, where options do not go with the target);
    `for_native` has the values of options for machine code.
    """
    found = [t for t in targets if t.split()[:1] == [XLA]]
    if not found:
        for option, given in (("--platform", platforms), ("--size", sizes), ("--topology", topology)):
            if given:
                raise click.UsageError(f"{option} goes with --target xla")
        if emit in (STABLEHLO, COLLECTIVES):
            raise click.UsageError(f"--emit {emit} goes with --target xla")
        return False
    if len(targets) > 1:
        raise click.UsageError(f'--target "{found[0]}" goes alone; --platform says what the file is for')
    if (emit == COLLECTIVES) != (topology is not None):
        raise click.UsageError(f"--emit {COLLECTIVES} goes with --topology, such as v5e:2x4")
    if emit == COLLECTIVES and platforms:
        raise click.UsageError("--topology says what the program is for: omit --platform")
    if emit not in (None, STABLEHLO, COLLECTIVES):
        raise click.UsageError(f"--emit {emit} shows machine code: omit --target, or use --emit {STABLEHLO}")
    if emit is not None and len(platforms) > 1:
        raise click.UsageError(f"--emit {emit} is for one --platform")
    for option, given in for_native.items():
        if given:
            raise click.UsageError(f"{option} is for machine code: omit it, or --target")
    return True


def suffix(is_xla: bool) -> str:
    """What the name of the file that is written ends in."""
    return FOR_XLA if is_xla else COMPILED


def compile_for_xla(
    mod: IRModule,
    entries: Sequence[str],
    target: str,
    platforms: Sequence[str],
    sizes: Sequence[str],
    topology: str | None,
    precision: str | None,
    output: str | None,
) -> None:
    """Write the file of a program for platforms, by default those of the target; or without a name, print its
    StableHLO, or what becomes of it on a topology.
    """
    from relay.backend.xla.export import exported_entries, stablehlo_text
    from relay.backend.xla.export_platforms import platforms_of
    from relay.backend.xla.exported_file import save_exported
    from relay.driver.compilation import build

    by_name = dict(map(size_of, sizes))
    if topology is not None:
        with progress("compiling"):
            built = build(mod, "xla cpu", entries=entries, precision=precision)
            report = built.report_for(topology, sizes=by_name)
        click.echo(str(report))
        return
    with progress("compiling"):
        chosen = platforms or platforms_of(target)
        built = build(mod, "xla cpu", entries=entries, precision=precision)
        found = exported_entries(built, chosen if output else chosen[:1], by_name, {})
    if output is None:
        click.echo(stablehlo_text(found).rstrip("\n"))
    else:
        save_exported(found, output)


def size_of(text: str) -> tuple[str, int]:
    """The name and the number of `NAME=NUMBER`."""
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise click.BadParameter(f"{text!r} is not NAME=NUMBER, such as n=32", param_hint="--size")
    return name, int(number)


def default_output(file: str, is_xla: bool) -> str:
    """The name of the file for a program."""
    return str(Path(file).with_suffix(suffix(is_xla)))

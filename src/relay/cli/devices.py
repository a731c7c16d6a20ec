"""`--device NAME=TARGET`: what computes what a program places on the device of that name."""

from collections.abc import Callable, Sequence
from typing import Any

import click


def targets_by_device(
    ctx: click.Context, param: click.Parameter, given: Sequence[str]
) -> dict[str, str] | None:
    """Targets by the names of devices; None where no device is named (wrong usage)."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, target = one.partition("=")
        if not name or not equals or not target:
            message = f"`{one}` is not NAME=TARGET, such as gpu='xla gpu'"
            raise click.BadParameter(message, ctx=ctx, param=param)
        if name in found:
            raise click.BadParameter(f"`{name}` is given twice", ctx=ctx, param=param)
        found[name] = target
    return found or None


def device_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option, as a decorator of a command."""
    return click.option(
        "--device",
        "devices",
        multiple=True,
        metavar="NAME=TARGET",
        callback=targets_by_device,
        help="What computes what the program places on the device NAME, for each of them: cpu=native, "
        "gpu='xla gpu'.  What it does not place is on the first.",
    )(function)

"""The options `--precision`, `--report` and `--report-all`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def precision_option(command: F) -> F:
    """A command with `--precision`, whose name the compiler checks."""
    said = "Compute products on such numbers: bf16, f16, int8 or int4 (default: f32)."
    return click.option("--precision", metavar="NAME", help=said)(command)


def report_options(command: F) -> F:
    """A command with `--report` and `--report-all`."""
    short = "Print what the precision changes, what it does not, and why."
    whole = click.option("--report-all", is_flag=True, help="Like --report, with every place.")
    return click.option("--report", is_flag=True, help=short)(whole(command))

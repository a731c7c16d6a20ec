"""`relay`: the commands, and what every one of them does about faults.

Exit status: 0 when all is well, 1 for a diagnostic, 2 for wrong usage, 130 when interrupted.
"""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

import click

from relay.cli.check import check
from relay.cli.explain import explain
from relay.cli.fmt import fmt
from relay.cli.ops import ops
from relay.cli.run import run
from relay.diagnostic import Diagnostic, RelayError

FAULT, USAGE, INTERRUPTED = 1, 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(version("relay-ir"), prog_name="relay")
def relay() -> None:
    """Relay: a small, typed, functional and differentiable language for machine learning."""


for command in (run, check, fmt, ops, explain):
    relay.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; no fault of the user's ends in a traceback."""
    try:
        status = relay.main(
            args=None if argv is None else list(argv), prog_name="relay", standalone_mode=False
        )
        sys.stdout.flush()
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is None:
            click.echo("Usage: relay [OPTIONS] COMMAND [ARGS]...", err=True)
        error.show(sys.stderr)
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except RelayError as error:
        click.echo(str(error), err=True)
        return FAULT
    except BrokenPipeError:
        return _closed_pipe()
    except MemoryError:
        click.echo(_out_of_memory().render(), err=True)
        return FAULT
    return status if isinstance(status, int) else 0


def _closed_pipe() -> int:
    """Nobody reads any more (`relay … | head`): be quiet, also when Python flushes at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # a stand-in for stdout has no descriptor
        return 0
    return 0


def _out_of_memory() -> Diagnostic:
    return Diagnostic(
        "out-of-memory",
        "the program needs more memory than there is",
        hint="use smaller tensors, or fewer at a time",
    )

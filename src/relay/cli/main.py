"""`relay`: the commands, and what every one of them does about faults.

Exit status: 0 when all is well, 1 for a diagnostic, 2 for wrong usage, 130 when interrupted.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from relay.diagnostic import Diagnostic, RelayError, did_you_mean
from relay.version import VERSION

FAULT, USAGE, INTERRUPTED = 1, 2, 130

COMMANDS = {
    "run": "Run a program on inputs.",
    "compile": "Compile a program to machine code.",
    "test": "Run the tests in programs.",
    "bench": "Time a program on each backend.",
    "generate": "Print what a language model writes after a prompt.",
    "chat": "Talk with a language model.",
    "debug": "Step through a program, at a prompt or from an editor.",
    "serve": "Serve models over HTTP.",
    "playground": "Serve a web page to edit, check and run programs.",
    "repl": "Answer expressions and definitions as they are typed.",
    "new": "Make a folder with a program and its tests.",
    "check": "Print every error and warning of programs.",
    "lint": "Print what could be written better in programs.",
    "lsp": "Serve editors: the language server.",
    "fmt": "Format programs.",
    "upgrade": "Rewrite programs and parameters of older formats.",
    "opt": "Run passes and print the program.",
    "view": "Draw a program, and show it in a browser.",
    "diff": "Print what differs between two programs.",
    "reduce": "Make a program that fails small.",
    "ops": "Show the manual of the operators, or of one.",
    "std": "Show the manual of the standard library, or of a part.",
    "import": "Import a model as a program.",
    "export": "Export a program as a model.",
    "quantize": "Quantise a program, with examples of its input.",
    "passes": "Show the manual of the passes, or of one.",
    "explain": "Explain an error code, or list all codes.",
    "completion": "Have the shell complete commands, options and files.",
}
"""Each command, in `relay.cli.<name>`, and what it does."""
FILES = {"import": "import_model", "compile": "compile_module", "serve": "serve_models"}
"""The names of files and functions where they cannot be those of the commands."""


class Commands(click.Group):
    """The commands; one is imported when it is called, so that `relay --help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order that people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in COMMANDS:
            return None
        name = FILES.get(cmd_name, cmd_name)
        return getattr(import_module(f"relay.cli.{name}"), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The section of the help text that lists them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that arguments begin with; a name that is nearly right is suggested."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = did_you_mean(name, COMMANDS)
            raise click.UsageError(f"No such command '{name}'.{' ' + hint.capitalize() if hint else ''}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="relay")
def relay() -> None:
    """Relay: a small, typed, functional and differentiable language for machine learning."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; no fault of the user's ends in a traceback."""
    try:
        status = relay.main(
            args=None if argv is None else list(argv), prog_name="relay", standalone_mode=False
        )
        if sys.stdout is not None and not sys.stdout.closed:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()  # (it was closed by `>&-`, or by a server at its end)
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
    except BrokenPipeError:  # nobody reads any more: `relay … | head`
        silence()
        return 0
    except OSError as error:
        silence()
        click.echo(_not_written(error).render(), err=True)
        return FAULT
    except MemoryError:
        click.echo(out_of_memory().render(), err=True)
        return FAULT
    return status if isinstance(status, int) else 0


def silence() -> None:
    """Standard output leads nowhere from here on, so that Python does not fail when it flushes at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # a stand-in for stdout has no descriptor
        return


def _not_written(error: OSError) -> Diagnostic:
    """What failed outside of files that were named: the terminal, a pipe, where output is redirected."""
    message = f"standard output cannot be written: {error.strerror or error}"
    return Diagnostic("cannot-write", message, hint="free some space, or write to another place")


def out_of_memory() -> Diagnostic:
    """What is said where Python has no more memory."""
    return Diagnostic(
        "out-of-memory",
        "out of memory",
        hint="use smaller tensors, or fewer at a time",
    )

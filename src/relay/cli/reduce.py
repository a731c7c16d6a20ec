"""`relay reduce FILE --command CMD`: a program that fails, made small."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from relay.cli.files import STDIN, read_text, write_bytes
from relay.cli.terminal import is_watched
from relay.diagnostic import RelayError, fail

EXAMPLES = """\b
Examples:
  relay reduce slow.relay --command 'relay run {} "[1.0, 2.0]"'
  relay reduce wrong.relay --command 'python compare.py {}' --expect-exit 3 -o small.relay
  relay reduce ill.relay --command 'relay check {}' --expect-output 'rank-mismatch' --allow-ill-typed
"""
HELD = "{}"
"""What stands for the file in a command."""


@click.command(epilog=EXAMPLES)
@click.option("--command", required=True, metavar="CMD", help="A command of the shell; {} is the program.")
@click.option(
    "--expect-exit", type=int, metavar="N", help="It fails with this exit status (default: as FILE does)."
)
@click.option("--expect-output", metavar="REGEX", help="It fails with output that has this in it.")
@click.option("--max-tests", type=click.IntRange(min=1), default=1000, help="Run it at most so often (1000).")
@click.option("--time-limit", type=click.FloatRange(min=0), metavar="SECONDS", help="Go on for so long.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.01), default=60.0, help="How long a command may take (60 s)."
)
@click.option("--allow-ill-typed", is_flag=True, help="The program may have errors, and go on having some.")
@click.option("-o", "--output", metavar="FILE", help="Write the small program there; print nothing.")
@click.argument("file")
def reduce(
    file: str,
    command: str,
    expect_exit: int | None,
    expect_output: str | None,
    max_tests: int,
    time_limit: float | None,
    timeout: float,
    allow_ill_typed: bool,
    output: str | None,
) -> int:
    """Make the program in FILE smaller for as long as a command fails on it as it does on FILE.

    Definitions, bindings, parts of expressions, parameters, constructors, fields and attributes are left out
    while the program stays well-typed; what is tried depends on the program alone.
    """
    from relay.reduction.reducer import Reducer, size_of

    if HELD not in command:
        raise click.UsageError("--command needs {} where the program's file is to stand")
    wanted = pattern(expect_output)
    text = read_text(file)
    folder = Path.cwd() if file == STDIN else Path(file).parent
    with candidate(folder) as path:
        test = Command(command, path, timeout, expect_exit, wanted)
        path.write_text(text)
        test.learn(expects=expect_exit is not None or wanted is not None)
        if not allow_ill_typed:
            demand_types(text, file, path)
        with reporting() as report:
            limit_s = float("inf") if time_limit is None else time_limit
            reducer = Reducer(text, file, path, test.fails, not allow_ill_typed, max_tests, limit_s, report)
            small = reducer.run()
        if not test.fails(small):
            fail(
                "not-reproduced",
                "the formatted program does not fail",
                hint="its layout matters to the command",
            )
    click.echo(f"{size_of(text)} before, {size_of(small)} after {reducer.tests} tests", err=True)
    if output is None:
        click.echo(small, nl=False)
    else:
        write_bytes(output, small.encode())
    return 0


def pattern(text: str | None) -> re.Pattern[str] | None:
    """A regular expression that was given."""
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise click.BadParameter(f"no regular expression: {error}", param_hint="--expect-output") from None


def demand_types(text: str, file: str, path: Path) -> None:
    """Refuse a program with errors."""
    from relay.text.parser import parse_module
    from relay.typecheck.infer import infer

    try:
        infer(parse_module(text, file, path=path))
    except RelayError as error:
        click.echo("an ill-typed program is reduced with --allow-ill-typed\n", err=True)
        raise error from None


@contextmanager
def candidate(folder: Path) -> Generator[Path]:
    """A file beside the program, so that its imports are found; it is removed at the end."""
    try:
        descriptor, name = tempfile.mkstemp(".relay", ".reduce-", folder)
    except OSError as error:
        fail("cannot-write", f"no file can be made in `{folder}`: {error.strerror or error}")
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


class Command:
    """The command, and what it is to come to."""

    def __init__(
        self, text: str, path: Path, timeout_s: float, status: int | None, output: re.Pattern[str] | None
    ) -> None:
        """`status` and `output` are what failing means, where they are given."""
        self.shell = text.replace(HELD, shlex.quote(str(path)))
        self.path, self.timeout_s, self.status, self.output = path, timeout_s, status, output

    def ran(self) -> tuple[int | None, str]:
        """The exit status (None where it took too long) and the output."""
        try:
            done = subprocess.run(
                self.shell, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=self.timeout_s,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout.decode(errors="replace")

    def learn(self, *, expects: bool) -> None:
        """Run it on the program as it is, and expect what it does there (`not-reproduced`)."""
        status, output = self.ran()
        if not expects:
            if status == 0:
                hint = "say what is wrong by --expect-exit or --expect-output"
                fail("not-reproduced", "the command succeeds on the program", hint=hint)
            if status is None:
                hint = "give it longer by --timeout"
                fail("not-reproduced", f"the command takes more than {self.timeout_s:g} s", hint=hint)
            self.status = status
        elif not self._is_wanted(status, output):
            last = output.strip().splitlines()[-1:] or ["nothing"]
            message = (
                f"the command does not fail as expected: exit status {status}, output ends in `{last[0]}`"
            )
            fail("not-reproduced", message, hint="run it on the program by itself")

    def _is_wanted(self, status: int | None, output: str) -> bool:
        if self.status is not None and status != self.status:
            return False
        return self.output is None or self.output.search(output) is not None

    def fails(self, text: str) -> bool:
        """Whether it fails on a text as it did on the program."""
        self.path.write_text(text)
        return self._is_wanted(*self.ran())


def _silent(_: Any) -> None:
    pass


@contextmanager
def reporting() -> Generator[Callable[[Any], None]]:
    """What shows how small the program is, on a terminal."""
    if not is_watched(sys.stderr):
        yield _silent
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from relay.reduction.reducer import size_of

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reducing")

        def show(reducer: Any) -> None:
            bar.update(task, description=f"{reducer.tests} tests, {size_of(reducer.text)}")

        yield show

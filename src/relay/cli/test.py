"""`relay test FILE…`: definitions that test others, and the examples in comments."""

import json
from collections.abc import Sequence

import click

from relay.cli.files import display_name, programs
from relay.cli.progress import progress
from relay.cli.tests import Outcome, Program, read_tests
from relay.diagnostic import RelayError

BACKENDS = ("interpreter", "native", "xla")


@click.command()
@click.option("-k", "only", metavar="TEXT", help="Run those whose name has TEXT in it.")
@click.option("-v", "--verbose", is_flag=True, help="List all of them, not only those that fail.")
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="interpreter",
    help="What runs them (default: interpreter).",
)
@click.option("--coverage", is_flag=True, help="Print which lines of the programs were not evaluated.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes in JSON.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def test(
    files: Sequence[str], only: str | None, verbose: bool, backend: str, coverage: bool, as_json: bool
) -> int:
    """Run the tests in each FILE (a folder stands for all programs in it); the exit status is 1 if one fails.

    A test is a definition without parameters with `attributes @name { test: true }`: it passes when it has
    a value, other than `False`.  `assert(…)` says what must hold in it.  An example is a line
    `relay> EXPRESSION` in the comment above a definition; what stands below is what it prints.
    """
    if coverage and backend != "interpreter":
        raise click.UsageError("--coverage goes with the interpreter")
    found: list[Outcome] = []
    ran: list[Program] = []
    with progress("testing"):
        for name in programs(files):
            try:
                program = read_tests(name)
            except RelayError as error:
                found.append(Outcome(display_name(name), 1, "the program", str(error)))
                continue
            ran.append(program)
            found += program.run(only or "", backend, coverage=coverage)
    failed = [o for o in found if o.fault]
    if as_json:
        said = [{"file": o.file, "line": o.line, "name": o.name, "fault": o.fault} for o in found]
        click.echo(json.dumps(said, indent=2))
    else:
        for o in found if verbose else failed:
            click.echo(f"{o.file}:{o.line}: {o.name}: {'fails' if o.fault else 'passes'}")
            if o.fault:
                click.echo("\n".join([f"  {line}".rstrip() for line in o.fault.splitlines()]))
    if coverage:
        covered = {line for program in ran for line in program.covered}
        for program in ran:
            click.echo(program.coverage_text(covered), err=as_json)
    click.echo(outcome_text(len(found), len(failed), files), err=True)
    return 1 if failed or not found else 0


def outcome_text(count: int, failed: int, files: Sequence[str]) -> str:
    """What became of the tests, in a line."""
    if not count:
        where = display_name(files[0]) if len(files) == 1 else "these files"
        return f"no tests in {where}: `attributes @name {{ test: true }}` makes one of a definition"
    tests = f"{count} test{'' if count == 1 else 's'}"
    return f"{tests}: {failed} failed" if failed else f"{tests}: passed"

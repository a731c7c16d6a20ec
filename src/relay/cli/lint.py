"""`relay lint FILE…`: what could be written better, and the edits that do it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from relay.cli.files import STDIN, display_name, programs, read_text, write_bytes
from relay.cli.progress import progress
from relay.cli.reports import diagnostic_object, json_option, print_json
from relay.diagnostic import RelayError


@click.command()
@click.option("--select", metavar="RULES", help="Apply these rules, by names with commas, or `all`.")
@click.option("--ignore", metavar="RULES", help="Leave these rules out.")
@click.option("--fix", is_flag=True, help="Make the edits that are known, and format what they change.")
@json_option
@click.option("--rules", "lists", is_flag=True, help="List the rules.")
@click.argument("files", nargs=-1, metavar="FILE...")
def lint(
    files: Sequence[str], select: str | None, ignore: str | None, fix: bool, as_json: bool, lists: bool
) -> int:
    """Print what could be written better in each FILE (`-` is standard input, a folder all programs in it).

    The exit status is 1 if something is found.
    """
    from relay.lint.names import chosen_rules
    from relay.lint.run import findings

    if lists:
        click.echo(listing(), nl=False)
        return 0
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    if fix and as_json and STDIN in files:
        raise click.UsageError("--fix prints the text of standard input: leave --json out")
    chosen = chosen_rules(select, ignore)
    objects: list[dict[str, Any]] = []
    count = fixes = 0
    with progress("linting"):
        for name in programs(files):
            try:
                text = read_text(name)
                if fix:
                    text, made = with_fixes(name, text, chosen)
                    fixes += made
                document = checked(name, text)
            except RelayError as error:
                found = [(d, False) for d in error.diagnostics]
            else:
                errors = [(d, False) for d in document.diagnostics if d.severity == "error"]
                found = errors or [(f.diagnostic, f.edit is not None) for f in findings(document, chosen)]
            count += sum([d.severity != "note" for d, _ in found])
            objects += [diagnostic_object(d, display_name(name)) | {"fixable": f} for d, f in found]
            if not as_json:
                for d, _ in found:
                    click.echo(d.render() + "\n", err=True)
    if as_json:
        print_json(objects)
    click.echo(counted(count, sum([o["fixable"] for o in objects]), fixes), err=True)
    return 1 if count else 0


def checked(name: str, text: str) -> Any:
    """The document of a text of a file."""
    from relay.lsp.index import check

    return check(text, None if name == STDIN else Path(name), display_name(name))


def with_fixes(name: str, text: str, chosen: Sequence[str]) -> tuple[str, int]:
    """The text with the edits made, also in its file (of standard input printed), and how many they are."""
    from relay.cli.fmt import formatted
    from relay.lint.run import fixed

    new, count = fixed(text, lambda t: checked(name, t), chosen, lambda t: formatted(t, name))
    if name == STDIN:
        click.echo(new, nl=False)
    elif count:
        write_bytes(name, new.encode())
    return new, count


def counted(count: int, fixable: int, fixes: int) -> str:
    """What was found, in a line."""
    made = f"{fixes} fixed, " if fixes else ""
    rest = f"{count or 'nothing'} {'left' if fixes else 'found'}"
    return f"{made}{rest}{f', {fixable} of them can be fixed by --fix' if fixable else ''}"


def listing() -> str:
    """The rules, with what they find."""
    from relay.lint.finding import RULES
    from relay.lint.run import findings  # its import registers them

    assert callable(findings)
    width = max(map(len, RULES))
    lines = [
        f"{r.name:{width}}  {(r.find.__doc__ or '').strip()}{'' if r.is_default else ' (not by default)'}\n"
        for r in RULES.values()
    ]
    return "".join(lines)

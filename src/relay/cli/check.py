"""`relay check FILE…`: every diagnostic of every file, without running anything."""

from collections.abc import Sequence
from typing import Any

import click

from relay.cli.files import display_name, programs, read_module
from relay.cli.reports import diagnostic_object, json_option, print_json
from relay.diagnostic import RelayError, Report
from relay.ir.module import IRModule


@click.command()
@click.option("--types", is_flag=True, help="Print each module with all types filled in.")
@json_option
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def check(files: Sequence[str], types: bool, as_json: bool) -> int:
    """Parse and type-check each FILE (`-` is standard input, a folder all programs in it); print errors and
    warnings.
    """
    if types and as_json:
        raise click.UsageError("--types prints programs: leave --json out")
    bad, objects = 0, list[dict[str, Any]]()
    for name in programs(files):
        report = Report()
        mod = check_one(name, report)
        objects += [diagnostic_object(d, display_name(name)) for d in report.diagnostics]
        for diagnostic in () if as_json else report.diagnostics:
            click.echo(diagnostic.render() + "\n", err=True)
        if report.errors:
            bad += 1
        elif types and mod is not None:
            from relay.text.printer import module_text

            click.echo(module_text(mod).rstrip("\n"))
        click.echo(f"{display_name(name)}: {_count(report)}", err=True)
    if as_json:
        print_json(objects)
    return 1 if bad else 0


def check_one(name: str, report: Report) -> IRModule | None:
    """The annotated module of a file; what is wrong with it goes into the report."""
    from relay.analysis.lints import lint
    from relay.typecheck.infer import infer

    warnings = Report()
    mod = None
    try:
        mod = infer(read_module(name, warnings), warnings=warnings)
        warnings.diagnostics += lint(mod)
    except RelayError as error:
        report.diagnostics += [d for d in error.diagnostics if d not in warnings.diagnostics]
    report.diagnostics += warnings.diagnostics
    report.diagnostics.sort(key=lambda d: d.span.start if d.span is not None else -1)
    return mod


def _count(report: Report) -> str:
    def plural(n: int, word: str) -> str:
        return f"{n or 'no'} {word}{'' if n == 1 else 's'}"

    counts = plural(len(report.errors), "error")
    return counts + (f", {plural(len(report.warnings), 'warning')}" if report.warnings else "")

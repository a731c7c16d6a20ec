"""`relay opt --pass PASSES FILE`: a program after passes."""

import click

from relay.cli.files import read_module
from relay.cli.progress import progress
from relay.diagnostic import Report


@click.command()
@click.option(
    "--pass", "passes", default="", metavar="PASSES", help="Passes in order: 'to_anf,inline(max_size=20)'."
)
@click.option("--print-after", multiple=True, metavar="NAME", help="Print the program after a pass, or all.")
@click.option("--check", is_flag=True, help="Verify the program after every pass.")
@click.option("--timing", is_flag=True, help="Print how long each pass takes.")
@click.argument("file")
def opt(file: str, passes: str, print_after: tuple[str, ...], check: bool, timing: bool) -> None:
    """Run PASSES on the program in FILE (`-` is standard input) and print what comes out.

    Intermediate programs and timings go to standard error.  `relay passes` lists the passes.
    """
    from relay.transform.rewriting.context import PassContext, PassInstrument
    from relay.transform.rewriting.instruments import PassTimingInstrument, PrintAfter, Verify
    from relay.transform.rewriting.pipeline import parse_pipeline
    from relay.transform.rewriting.registry import find
    from relay.typecheck.infer import infer

    steps = parse_pipeline(passes)
    watchers: list[PassInstrument] = []
    clock = PassTimingInstrument()
    if print_after:
        watched = None if "all" in print_after else [find(name).name for name in print_after]
        watchers.append(PrintAfter(watched))
    watchers += [Verify()] if check else []
    watchers += [clock] if timing else []
    warnings = Report()
    mod = infer(read_module(file, warnings), warnings=warnings)
    for diagnostic in warnings.diagnostics:
        click.echo(diagnostic.render() + "\n", err=True)
    with PassContext(instruments=watchers):
        for step in steps:
            with progress(step.rule.name):
                mod = step(mod)
    if timing:
        click.echo(clock.render(), err=True)
    click.echo(mod.astext().rstrip("\n"))

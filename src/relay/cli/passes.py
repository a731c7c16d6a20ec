"""`relay passes [NAME]`: the manual of passes, written from the passes themselves."""

import inspect
from typing import TYPE_CHECKING

import click

from relay.cli.reports import json_option, print_json

if TYPE_CHECKING:
    from relay.transform.rewriting.registry import Rule


@click.command()
@click.argument("name", required=False)
@json_option
def passes(name: str | None, as_json: bool) -> None:
    """Show the page of pass NAME, with its options and an example, or a table of all passes."""
    from relay.transform.rewriting.registry import find, load_all, registry

    if as_json:
        load_all()
        rules = [registry[n] for n in sorted(registry)] if name is None else [find(name)]
        print_json([{"name": r.name, "summary": pass_summary(r), "page": pass_page(r)} for r in rules])
        return
    click.echo(pass_table() if name is None else pass_page(find(name)))


def pass_table() -> str:
    """Every pass, one a line."""
    from relay.transform.rewriting.registry import load_all, registry

    load_all()
    width = max(len(name) for name in registry)
    lines = [f"  {name:{width}}  {pass_summary(registry[name])}" for name in sorted(registry)]
    return "\n".join([f"{len(registry)} passes; `relay passes NAME` shows the page of one.", "", *lines])


def pass_description(rule: "Rule") -> list[str]:
    """The lines of the docstring."""
    return inspect.cleandoc(rule.run.__doc__ or "").splitlines()


def pass_summary(rule: "Rule") -> str:
    """What the pass does, in a line."""
    return " ".join(pass_description(rule)).partition(". ")[0].partition("  ")[0].rstrip(".")


def pass_page(rule: "Rule") -> str:
    """The whole page of one pass."""
    lines = pass_description(rule)
    start = next((i for i, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    prose, example = lines[:start], lines[start:]
    while prose and not prose[-1]:
        prose.pop()
    options = [f"{n}={p.default!r}" for n, p in rule.options.items()]
    head = f"{rule.name}({', '.join(options)})" if options else rule.name
    facts = [f"Level:       {rule.opt_level}"]
    facts += (
        [f"Needs:       {', '.join(f'{f.name} form ({f.by})' for f in rule.needs)}"] if rule.needs else []
    )
    facts += [f"Gives:       {', '.join(f'{f.name} form' for f in rule.gives)}"] if rule.gives else []
    facts += [f"Also called: {rule.public}"] if rule.public else []
    shown = ["", "Example:", *[f"  {line}".rstrip() for line in example]] if example else []
    return "\n".join([head, "", *prose, "", *facts, *shown])


def manual() -> str:
    """All pages of the passes that come with Relay, as a document."""
    from relay.transform.rewriting.registry import load_all, registry

    load_all()
    own = [rule for _, rule in sorted(registry.items()) if (rule.run.__module__ or "").startswith("relay.")]
    lines = [
        "# Passes",
        "",
        "The passes by name, each with its options and an example: what `relay passes NAME` shows."
        "  `pytest --bless` writes this page.",
    ]
    for rule in own:
        head, _, *rest = pass_page(rule).splitlines()
        lines += ["", f"## {rule.name}", "", "```text", head, "", *rest, "```"]
    return "\n".join(lines) + "\n"

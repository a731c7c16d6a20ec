"""`relay explain CODE`: the page of an error."""

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import click

from relay.cli.reports import json_option, print_json
from relay.cli.terminal import fitted, is_watched
from relay.diagnostic import did_you_mean, fail

FORMER_CODES = {
    "cyclic-constant": "constant-cycle",
    "literal-range": "literal-out-of-range",
    "unbound-variable": "unknown-variable",
}
"""What codes are called now that earlier versions printed."""


@cache
def pages() -> Mapping[str, str]:
    """Every error code with its page, in Markdown; read once."""
    found = {f.name.removesuffix(".md"): f for f in files("relay.errors").iterdir() if f.name.endswith(".md")}
    return MappingProxyType({code: found[code].read_text(encoding="utf-8") for code in sorted(found)})


def page_summary(page: str) -> str:
    """The first sentence of a page's explanation."""
    prose = page.partition("\n\n")[2].partition("\n\n")[0]
    return " ".join(prose.split()).partition(". ")[0].rstrip(".").replace("`", "")


def page_object(code: str, page: str) -> dict[str, str]:
    """The page of an error for machines."""
    return {"code": code, "summary": page_summary(page), "page": page}


@click.command()
@click.argument("code", required=False)
@json_option
def explain(code: str | None, as_json: bool) -> None:
    """Explain the error CODE: an example that causes it, and how to fix it.  Lists all without CODE."""
    known = pages()
    if code is None and as_json:
        print_json([page_object(c, known[c]) for c in known])
        return
    if code is None:
        width = max(map(len, known), default=0)
        click.echo(fitted([f"{name:{width}}  {page_summary(page)}" for name, page in known.items()]))
        return
    code = re.sub(r"\A(error|warning|note)\[(.*)\]\Z", r"\2", code.strip())
    code = FORMER_CODES.get(code, code)
    if code not in known:
        fail(
            "unknown-code",
            f"there is no error code `{code}`",
            hint=did_you_mean(code, known) or "`relay explain` lists all codes",
        )
    if as_json:
        print_json([page_object(code, known[code])])
    elif is_watched(sys.stdout):
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(known[code]))
    else:
        click.echo(known[code].rstrip("\n"))

"""How a reader finds a page: the sections of `docs/README.md`, each a page with its part of the contents."""

import re
from collections.abc import Iterator

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
ENTRY = re.compile(r"^- .*?\]\(([^)#]+)\.md\)", re.MULTILINE)
MADE = {
    "Reference": """\
- [Standard library](library.md): the modules that `import "std/…"` brings, function by function.
- [Operators](operators.md): what each computes, its types, attributes, derivative and errors.
- [Python API](api.md): every public name of the package, from its docstring.
"""
}
"""What the site adds to a section: the pages that are generated."""


def sections(landing: str) -> list[tuple[str, str]]:
    """The sections that list pages: their titles, and what stands below."""
    parts = SECTION.split(landing)
    found = [(title, body.strip() + "\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)]
    return [(title, body + MADE.get(title, "")) for title, body in found if ENTRY.search(body)]


def landing_page(landing: str) -> str:
    """The first page: `docs/README.md` with what the site adds, and the contents of the whole site."""
    names = [page_name(title) for title, _ in sections(landing)]
    for title, made in MADE.items():
        head, marker, rest = landing.partition(f"## {title}\n")
        body, following, others = rest.partition("\n## ")
        landing = f"{head}{marker}{body.rstrip()}\n{made}{following}{others}"
    return f"{landing.rstrip()}\n\n{contents(names)}"


def section_pages(landing: str) -> Iterator[tuple[str, str]]:
    """A page for each section, by its path in the site."""
    for title, body in sections(landing):
        yield f"{page_name(title)}.md", f"# {title}\n\n{body}\n{contents(ENTRY.findall(body))}"


def page_name(title: str) -> str:
    """The page of a section: `learn` for `Learn`."""
    return title.lower().replace(" ", "-")


def contents(names: list[str], *options: str) -> str:
    """A table of contents that only the navigation shows."""
    return "\n".join(["```{toctree}", ":hidden:", *options, "", *names, "```", ""])

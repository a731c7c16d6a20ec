"""The manual of the standard library, from its documentation comments: a page for each module."""

from collections.abc import Iterator

from relay.cli.manual import EXAMPLE, examples
from relay.cli.std import Entry, entries, purpose
from relay.text.imports import STANDARD, standard_names
from relay.text.parser import parse_module
from website.navigation import contents

FOLDER = "library/"
ABOUT = """\
# Standard library

The standard library is written in Relay and comes with the package: `import "std/list"` brings a module's
definitions and data types into a program. `relay std NAME` prints the same pages in a terminal.

"""


def library_pages() -> Iterator[tuple[str, str]]:
    """The pages, by their paths in the site."""
    modules = [m for m in standard_names() if entries(m)]
    text = ABOUT + "".join([f"- [`std/{m}`]({FOLDER}{m}.md): {purpose(m)}.\n" for m in modules])
    yield "library.md", f"{text}\n{contents([FOLDER + m for m in modules])}"
    for m in modules:
        yield f"{FOLDER}{m}.md", module_page(m)


def module_page(module: str) -> str:
    """What one module defines."""
    parts = [f"# std/{module}", f"{purpose(module)}.", f'```relay\nimport "{STANDARD}{module}"\n```']
    return "\n\n".join([*parts, *[entry(e) for e in entries(module)]]) + "\n"


def entry(e: Entry) -> str:
    """A definition or a data type: its type, what it does, and examples with the types of their values."""
    lines = list(e.comment)
    start = next((i for i, line in enumerate(lines) if line.startswith(EXAMPLE)), len(lines))
    signature = e.signature if e.signature.startswith("type ") else f"def {e.signature}"
    parts = [f"## {e.name}", f"```relay\n{signature}\n```", "\n".join(lines[:start]).strip()]
    mod = parse_module(f'import "{STANDARD}prelude"\nimport "{e.module}"')
    example = examples(lines[start:], mod)[2:]
    if example:
        shown = "\n".join([line.removeprefix("  ") for line in example])
        parts.append(f"```text\n{shown}\n```")
    return "\n\n".join([p for p in parts if p])

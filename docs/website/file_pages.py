"""Pages that show files of the repository: those that other pages link to, and what is in linked folders."""

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

from website.links import ROOT, page_of

LANGUAGES = {".py": "python", ".relay": "relay", ".md": "markdown", ".json": "json", ".js": "javascript"}
LONGEST_BYTES = 200_000
"""Files that are longer are named, not shown."""


def file_pages(linked: set[str]) -> Iterator[tuple[str, str]]:
    """The pages of files and folders, by their paths in the site, in order."""
    shown = set(linked)
    for path in linked:
        if (ROOT / path).is_dir():
            shown.update(f for f in tracked() if f.startswith(f"{path}/"))
            shown.update(
                str(d) for f in tracked() for d in PurePosixPath(f).parents if d.is_relative_to(path)
            )
    for path in sorted(shown):
        if (ROOT / path).is_dir():
            yield page_of(path), folder(path)
        elif page_of(path).startswith("files/"):
            yield page_of(path), file(path)


@cache
def tracked() -> tuple[str, ...]:
    """The files of the repository, without what was built in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return tuple(sorted(f for f in listed.stdout.split("\0") if f and (ROOT / f).is_file()))


def folder(path: str) -> str:
    """What a folder holds, one a line, with what each file says first."""
    inside = {PurePosixPath(f).relative_to(path).parts[0] for f in tracked() if f.startswith(f"{path}/")}
    here = PurePosixPath(page_of(path)).parent
    lines: list[str] = []
    for name in sorted(inside):
        to = os.path.relpath(page_of(f"{path}/{name}"), here)
        about = first_sentence(f"{path}/{name}")
        lines.append(f"- [`{name}`]({to})" + (f": {about}" if about else ""))
    return f"---\norphan: true\n---\n# {path}/\n\n" + "\n".join(lines) + "\n"


def first_sentence(path: str) -> str:
    """What a program says it is, in its first comment or docstring."""
    if not path.endswith((".py", ".relay")):
        return ""
    head = (ROOT / path).read_text().lstrip('"/# ').partition("\n")[0]
    if not head[:1].isupper():
        return ""
    return head.partition('"""')[0].partition(". ")[0].rstrip(". ")


def file(path: str) -> str:
    """A file as a page."""
    data = (ROOT / path).read_bytes()
    head = f"---\norphan: true\n---\n# {path}\n\n"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or len(data) > LONGEST_BYTES:
        return f"{head}A file of {len(data):,} bytes, which is in the repository.\n"
    fence = "`" * 8
    language = LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return f"{head}{fence}{{code-block}} {language}\n:force:\n\n{text.rstrip()}\n{fence}\n"

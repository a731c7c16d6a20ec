"""Where the files of the repository stand in the site, and the links of a page as the site has them."""

import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^<!-- file: (\S+) -->\n```(\w+)$", re.MULTILINE)
ERRORS, DOCS, FILES = "src/relay/errors/", "docs/", "files/"


def page_of(path: str) -> str:
    """The page that shows a file or folder: `docs/onnx.md` is `onnx.md`, `LICENSE` is `files/LICENSE.md`."""
    if path in ("README.md", "docs"):
        return "index.md"
    if path.startswith(ERRORS) and path.endswith(".md"):
        return f"errors/{path.removeprefix(ERRORS)}"
    if path.startswith(DOCS) and not path.endswith((".md", ".png", ".svg")):
        return f"{FILES}{path}.md"
    if path.startswith(DOCS):
        inside = path.removeprefix(DOCS)
        return str(PurePosixPath(inside).with_name("index.md")) if inside.endswith("README.md") else inside
    if path.endswith(".md") and "/" not in path:
        return path.lower()
    return f"{FILES}{path}.md"


def linked(text: str, source: str) -> tuple[str, set[str]]:
    """A page's text with its links as the site has them, and the files and folders that they lead to.

    `source` is the page's path in the repository.  What leads to no file there stays as it is, and Sphinx
    reports it.
    """
    found: set[str] = set()
    own = PurePosixPath(page_of(source))

    def moved(link: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / link[1])
        if not (ROOT / target).exists():
            return link[0]
        found.add(target)
        return f"]({os.path.relpath(page_of(target), own.parent)}{link[2] or ''})"

    parts = FENCED.split(text)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts), found


def captioned(text: str) -> str:
    """A page with the names of the files that its blocks are kept as."""
    return NAMED.sub(r"```{code-block} \2\n:caption: \1\n", text)


def lenient(text: str) -> str:
    """A page whose programs may be wrong in any way, also for the lexer that colours them."""
    return text.replace("```relay\n", "```{code-block} relay\n:force:\n\n")


def slug(title: str) -> str:
    """The name of a heading in links, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")

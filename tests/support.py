"""What several test files need: the command line in process, and Markdown taken apart."""

import io
import re
import socket
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from relay.cli.main import main

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Ran:
    """What a command printed (both streams in order) and its exit status."""

    status: int
    output: str


def cli(*argv: str, stdin: bytes = b"") -> Ran:
    """Run `relay argv…` in this process."""
    screen = io.StringIO()
    with feeding(stdin), redirect_stdout(screen), redirect_stderr(screen):
        status = main(argv)
    return Ran(status, screen.getvalue())


@contextmanager
def feeding(data: bytes):
    """Standard input that holds `data`."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(data))
    try:
        yield
    finally:
        sys.stdin = before


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, line, the marks before it, and the ```text block behind it."""

    language: str
    text: str
    line: int
    marks: tuple[str, ...]
    expected: str | None


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a page; a mark is an HTML comment on the lines right above a block."""
    fences = list(FENCE.finditer(markdown))
    found: list[Block] = []
    for i, fence in enumerate(fences):
        before = markdown[fences[i - 1].end() if i else 0 : fence.start()]
        last_lines = re.search(r"((?:^<!--[^\n]*-->\n)*)\s*\Z", before, re.MULTILINE)
        marks = tuple(COMMENT.findall(last_lines[1])) if last_lines else ()
        expected = None
        if (
            i + 1 < len(fences)
            and fences[i + 1][1] == "text"
            and not markdown[fence.end() : fences[i + 1].start()].strip()
        ):
            expected = fences[i + 1][2]
        line = markdown.count("\n", 0, fence.start()) + 1
        found.append(Block(fence[1], fence[2], line, marks, expected))
    return found


def free_port() -> int:
    """A port that is free, and the next one too."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = first.getsockname()[1]
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
            except OSError:
                continue
            return port

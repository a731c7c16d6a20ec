"""Whether somebody looks, and lists that fit the terminal."""

import shutil
import sys
from collections.abc import Sequence
from typing import TextIO


def is_watched(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; it is None where it was closed (`2>&-`)."""
    return stream is not None and stream.isatty()


def fitted(lines: Sequence[str]) -> str:
    """Lines as one text; where somebody looks at it, each ends where the terminal does."""
    room = shutil.get_terminal_size().columns if is_watched(sys.stdout) else 0
    return "\n".join([line if not room or len(line) <= room else line[: room - 1] + "…" for line in lines])

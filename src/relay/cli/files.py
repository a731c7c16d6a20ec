"""Files that users name: read and written with a diagnostic for everything that can be wrong."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from relay.diagnostic import Report, did_you_mean, fail
from relay.ir.module import IRModule

STDIN = "-"


def read_bytes(name: str) -> bytes:
    """The whole of a file, or of standard input for `-` (`cannot-read`)."""
    if name == STDIN:
        stream = getattr(sys.stdin, "buffer", None)
        return sys.stdin.read().encode() if stream is None else stream.read()
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        fail("cannot-read", f"there is no file `{name}`", hint=_near(Path(name)))
    except IsADirectoryError:
        fail("cannot-read", f"`{name}` is a directory", hint="name a file in it")
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        fail("cannot-read", f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}")


def _near(path: Path) -> str:
    try:
        return did_you_mean(path.name, sorted(p.name for p in path.parent.iterdir()))
    except (OSError, ValueError):
        return ""


def read_text(name: str) -> str:
    """A file (or standard input) as UTF-8 text (`not-text`)."""
    data = read_bytes(name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(
            "not-text",
            f"`{shown(name)}` is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}",
            hint="a program is a text file; tensors go after it, as inputs",
        )


def shown(name: str) -> str:
    """What a file is called in messages."""
    return "<stdin>" if name == STDIN else name


def read_module(name: str, warnings: Report | None = None) -> IRModule:
    """The program in a file, with its weights file if there is one beside it."""
    from relay.text.parser import parse

    text = read_text(name)
    path = None if name == STDIN else Path(name)
    return parse(text, shown(name), path=path, warnings=warnings)


def write_atomically(name: str, write: Callable[[BinaryIO], None]) -> None:
    """Give a file new content whole or not at all; its permissions stay (`cannot-write`)."""
    path = Path(name)
    if path.is_dir():
        fail("cannot-write", f"`{name}` is a directory", hint="name a file in it")
    temporary = None
    try:
        target = path.resolve()  # a link stays a link
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as out:
            temporary = out.name
            write(out)
        os.chmod(temporary, mode if mode is not None else 0o666 & ~_umask())
        os.replace(temporary, target)
    except (OSError, ValueError) as error:
        fail("cannot-write", f"`{name}` cannot be written: {getattr(error, 'strerror', None) or error}")
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Files of programs: read with a clear word about what is wrong, and replaced as a whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from relay.diagnostic import did_you_mean, fail


def read_file(name: str) -> bytes:
    """The whole of a file (`cannot-read`)."""
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


def as_text(data: bytes, name: str) -> str:
    """What a file holds, as UTF-8 text (`not-text`)."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(
            "not-text",
            f"`{name}` is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}",
            hint="a program is a text file; tensors go after it, as inputs",
        )


def write_atomically(name: str, write: Callable[[BinaryIO], object]) -> None:
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
            write(cast(BinaryIO, out))
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

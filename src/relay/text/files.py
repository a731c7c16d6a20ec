"""Files of programs: read with a clear word about what is wrong, and replaced as a whole or not at all."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, cast

from relay.diagnostic import did_you_mean, fail


def read_file(name: str) -> bytes:
    """The whole of a file (`cannot-read`)."""
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        fail("cannot-read", f"there is no file `{name}`", hint=_nearest_file(Path(name)))
    except IsADirectoryError:
        fail("cannot-read", f"`{name}` is a directory", hint="name a file in it")
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        fail("cannot-read", f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}")


def _nearest_file(path: Path) -> str:
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
            hint=OTHER_KINDS.get(
                Path(name).suffix, "a program is a text file; tensors go after it, as inputs"
            ),
        )


OTHER_KINDS = {
    ".onnx": "`relay import` makes a program of a model; `relay run` runs one at once",
    ".pt2": "`relay import` makes a program of a model; `relay run` runs one at once",
    **dict.fromkeys(
        (".rlo", ".rlx"),
        "a compiled program is run by `relay run`; other commands take the program that it was made of",
    ),
}
"""What to do with files that are not text, by how their names end."""


Write = Callable[[BinaryIO], object]
"""What writes the content of a file."""


def write_atomically(name: str, write: Write) -> None:
    """Give a file new content whole or not at all; its permissions stay (`cannot-write`)."""
    write_files([(name, write)])


def write_files(files: Sequence[tuple[str, Write]]) -> None:
    """Give several files new content, all of them or none (`cannot-write`)."""
    staged: list[tuple[str, str, Path]] = []
    name = ""
    try:
        for name, write in files:
            target = _target(name)
            if target.exists() and not target.is_file():  # a pipe, a terminal, /dev/null
                with target.open("wb") as out:
                    write(out)
                continue
            with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as out:
                staged.append((name, out.name, target))
                write(cast(BinaryIO, out))
            os.chmod(staged[-1][1], _mode(target))
        for name, temporary, target in staged:  # noqa: B007  (the message names the file)
            os.replace(temporary, target)
    except (OSError, ValueError) as error:
        fail("cannot-write", f"`{name}` cannot be written: {getattr(error, 'strerror', None) or error}")
    finally:
        for _, temporary, _ in staged:
            with suppress(OSError):
                os.unlink(temporary)


def _target(name: str) -> Path:
    path = Path(name)
    if path.is_dir():
        fail("cannot-write", f"`{name}` is a directory", hint="name a file in it")
    return path.resolve()  # a link stays a link


def _mode(target: Path) -> int:
    """The permissions of a file: those it has, or those of a new one."""
    return target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

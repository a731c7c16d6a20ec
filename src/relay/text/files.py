"""Files of programs: read with a clear word about what is wrong, and replaced as a whole or not at all."""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from relay.diagnostic import did_you_mean, fail

STAGED_SUFFIX = ".relay-part"
"""The end of the name of a file that is being written."""
PART_BYTES = 1 << 22
"""Bytes that are read at once where it is not known that a file has so many as are wanted."""


def read_file(name: str, most: int | None = None) -> bytes:
    """The whole of a file, or its first bytes, at most so many (`cannot-read`)."""
    try:
        with Path(name).open("rb") as file:
            return file.read() if most is None else read_up_to(file, most)
    except FileNotFoundError:
        fail("cannot-read", f"there is no file `{name}`", hint=_nearest_file(Path(name)))
    except IsADirectoryError:
        fail("cannot-read", f"`{name}` is a directory", hint="name a file in it")
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        fail("cannot-read", f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}")


def read_up_to(file: BinaryIO, most: int) -> bytes:
    """At most so many bytes of a file; memory is taken for those that it has, not for `most`."""
    parts: list[bytes] = []
    while most > 0 and (part := file.read(min(most, PART_BYTES))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


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
    staged: list[tuple[str, StagedFile, Path]] = []
    name = ""
    try:
        for name, write in files:
            target = _target(name)
            if target.exists() and not target.is_file():  # a pipe, a terminal, /dev/null
                with target.open("wb") as out:
                    write(out)
                continue
            new = StagedFile(target.parent)
            staged.append((name, new, target))
            new.fill(write)
            if target.exists():
                os.chmod(new.path, target.stat().st_mode & 0o777)
        for name, new, target in staged:  # noqa: B007  (the message names the file)
            new.replace(target)
    except (OSError, ValueError) as error:
        fail("cannot-write", f"`{name}` cannot be written: {getattr(error, 'strerror', None) or error}")
    finally:
        for _, new, _ in staged:
            new.close()


class StagedFile:
    """A file that is being written in the folder of its target.

    The process that writes it holds a lock on it, which ends with the process: files without one are left
    over from processes that were killed, and the next writer to the folder removes them.
    """

    def __init__(self, folder: Path, mode: int = 0o666) -> None:
        """Create the file with the permissions that the process gives to new ones, at most `mode`."""
        remove_abandoned(folder)
        self.path, self.descriptor = "", -1
        while self.descriptor < 0:
            self.path = str(folder / f".{token_hex(8)}{STAGED_SUFFIX}")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            self.descriptor = os.open(self.path, flags, mode)
            _lock(self.descriptor, waits=True)
            if not os.fstat(self.descriptor).st_nlink:  # it was removed before it had its lock
                os.close(self.descriptor)
                self.descriptor = -1

    def fill(self, write: Write) -> None:
        """Write the content; the lock stays."""
        with open(self.descriptor, "wb", closefd=False) as out:
            write(out)

    def replace(self, target: Path) -> None:
        """Give the file its name."""
        if os.name == "nt":  # Windows renames no open file
            self._unlock()
        os.replace(self.path, target)
        self.path = ""

    def close(self) -> None:
        """Remove the file unless it has its name."""
        self._unlock()
        if self.path:
            with suppress(OSError):
                os.unlink(self.path)

    def _unlock(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def remove_abandoned(folder: Path) -> None:
    """Remove the files that killed processes were writing in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [entry.path for entry in entries if entry.name.endswith(STAGED_SUFFIX)]:
            with suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: str) -> None:
    if os.name == "nt":
        os.unlink(path)  # which fails while it is open
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        if _lock(descriptor, waits=False):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, waits: bool) -> bool:
    """Lock an open file and return whether it is locked now."""
    if os.name == "nt":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:  # another process has it, or the file system has no locks
        return False
    return True


def _target(name: str) -> Path:
    path = Path(os.path.realpath(name))  # a link stays a link
    if path.is_dir():
        fail("cannot-write", f"`{name}` is a directory", hint="name a file in it")
    if path.is_symlink():  # a link to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return path

"""The folder of compiled code that stays from one process to the next.

Its files are code that processes load and run.  So only a folder and files are used that belong to the user
of the process, and that nobody else can write to.  A process does without a folder that it cannot use, and
says so once.
"""

import hashlib
import os
import stat
import sys
import warnings
from functools import cache
from pathlib import Path
from threading import Lock

from relay.backend.native.llvm import jit
from relay.text.files import StagedFile, Write

VARIABLE = "RELAY_CACHE"
"""The environment variable that names the folder, or is `off`."""
DIGEST_BYTES = 16
"""Bytes of the digest before what a file contains."""
OTHERS_CAN_WRITE = stat.S_IWGRP | stat.S_IWOTH
_warning = Lock()
"""Taken for good by the first warning."""


def cache_folder() -> Path | None:
    """Where compiled programs are kept: as `RELAY_CACHE` says, or where the system keeps such things."""
    said = os.environ.get(VARIABLE)
    if said is not None:
        return None if said.lower() in ("", "off", "0") else Path(said)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "relay"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "relay" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "relay"


def usable_cache() -> Path | None:
    """Return the cache folder, or None if there is to be none or it cannot be used (with a warning)."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        about = os.stat(folder)
        reason = lack_of_privacy(about) if stat.S_ISDIR(about.st_mode) else "it is not a folder"
    except FileNotFoundError:
        return folder  # it is made with the first entry
    except (OSError, ValueError) as error:
        reason = _reason(error)
    if reason:
        warn_unusable(folder, reason)
        return None
    return folder


def lack_of_privacy(about: os.stat_result) -> str:
    """Return why code is not loaded from such a file or folder; empty if it may be."""
    if os.name == "nt":  # its access rights are not in `stat`
        return ""
    if about.st_uid != os.geteuid():
        return "it belongs to another user"
    if about.st_mode & OTHERS_CAN_WRITE:
        return "other users can write to it (`chmod go-w` prevents that)"
    return ""


def is_private(path: Path) -> bool:
    """Return whether code may be loaded from a file: it exists, is ours, and is written by nobody else."""
    try:
        return not lack_of_privacy(os.stat(path))
    except (OSError, ValueError):
        return False


def warn_unusable(folder: Path, reason: str) -> None:
    """Warn that the cache cannot be used, once in a process."""
    if _warning.acquire(blocking=False):
        warnings.warn(
            f"the cache of compiled programs `{folder}` is not used: {reason}; "
            f"set {VARIABLE} to another folder, or to `off`",
            stacklevel=2,
        )


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


@cache
def package_key() -> str:
    """A digest of this package's files, by their sizes and times: people edit it."""
    root = Path(__file__).parents[3]
    seen: list[str] = []
    for folder, _, files in sorted(os.walk(root)):
        for name in sorted(f for f in files if f.endswith((".py", ".relay", ".ll"))):
            about = os.stat(os.path.join(folder, name))
            seen.append(f"{name}:{about.st_size}:{about.st_mtime_ns}")
    return hashlib.blake2b("\n".join(seen).encode(), digest_size=16).hexdigest()


def key_of_code(name: str) -> str:
    """The key of code that depends on its name, this package and the processor that it is for alone."""
    around = package_key(), jit.triple(), jit.target_processor(), name
    return hashlib.blake2b(repr(around).encode(), digest_size=16).hexdigest()


def read_kept(path: Path) -> bytes | None:
    """Return the content of a file that `keep` wrote under this name; None if it is not usable."""
    if not is_private(path):
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = data[DIGEST_BYTES:]
    return content if data[:DIGEST_BYTES] == _digest(path.name, content) else None


def keep(path: Path, content: bytes) -> None:
    """Write a file for `read_kept`, if the folder can be written to."""
    write_entry(path, lambda out: out.write(_digest(path.name, content) + content))


def write_entry(path: Path, write: Write) -> bool:
    """Write a file of the cache, whole or not at all, and return whether it was written (if not, warn)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = StagedFile(path.parent, mode=0o600)
        try:
            staged.fill(write)
            staged.replace(path)
        finally:
            staged.close()
    except (OSError, ValueError) as error:
        warn_unusable(path.parent, _reason(error))
        return False
    return True


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES, key=name.encode()[:64]).digest()

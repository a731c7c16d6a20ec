"""Where compiled code is kept from one process to the next."""

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from relay.backend.native.llvm import jit
from relay.diagnostic import RelayError
from relay.text.files import write_atomically

VARIABLE = "RELAY_CACHE"
"""The environment variable that names the folder, or is `off`."""
DIGEST_BYTES = 16
"""Bytes of the digest before what a file contains."""


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
    """What a file contains, if it is there and undamaged."""
    with suppress(OSError):
        said = path.read_bytes()
        if said[:DIGEST_BYTES] == _digest(said[DIGEST_BYTES:]):
            return said[DIGEST_BYTES:]
    return None


def keep(path: Path, content: bytes) -> None:
    """Write a file for `read_kept`, if the folder can be written to."""
    with suppress(OSError, RelayError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(path), lambda out: out.write(_digest(content) + content))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()

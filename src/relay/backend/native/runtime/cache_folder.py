"""Where compiled code is kept from one process to the next."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

VARIABLE = "RELAY_CACHE"
"""The environment variable that names the folder, or is `off`."""


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

"""Where compiled code is kept from one process to the next."""

import os
import sys
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

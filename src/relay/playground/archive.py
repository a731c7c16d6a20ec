"""The package as a zip file, for the interpreter in the browser: sources and pages, nothing compiled."""

import io
import zipfile
from functools import cache
from pathlib import Path

KEPT = (".py", ".relay", ".md", ".js", ".css", ".html")
LEFT_OUT = frozenset({"frontend", "models", "decoding", "serving", "debugger", "static"})
"""Folders that no question of the page needs in a browser, where programs are interpreted."""
DATE = (1980, 1, 1, 0, 0, 0)


@cache
def package_archive() -> bytes:
    """The zip file: the same bytes for the same sources."""
    root = Path(__file__).parents[1]
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root)
            if path.suffix in KEPT and path.is_file() and not LEFT_OUT & set(name.parts[:-1]):
                entry = zipfile.ZipInfo(f"relay/{name.as_posix()}", DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    return data.getvalue()

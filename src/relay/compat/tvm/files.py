"""Folders for a while, and files from the network."""

import tempfile
from pathlib import Path
from urllib.request import urlretrieve

__all__ = ["TempDirectory", "download", "download_testdata", "tempdir"]


class TempDirectory:
    """A folder that is there as long as the object is."""

    def __init__(self, custom_path: str | None = None) -> None:
        """A folder of a fresh name, or `custom_path`, which stays."""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if custom_path is None:
            self._folder = tempfile.TemporaryDirectory()
            custom_path = self._folder.name
        self.temp_dir = custom_path
        Path(self.temp_dir).mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self.temp_dir)

    def relpath(self, name: str) -> str:
        """The path of a file in it."""
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """The names of the files in it."""
        return sorted(p.name for p in self.path.iterdir())

    def remove(self) -> None:
        """Delete it."""
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> "TempDirectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __truediv__(self, name: str) -> Path:
        return self.path / name


def tempdir(custom_path: str | None = None) -> TempDirectory:
    """A folder that is there as long as the object is."""
    return TempDirectory(custom_path)


def download(url: str, path: str | Path, overwrite: bool = False, **_: object) -> str:
    """Fetch a file by its address to a path, unless it is there."""
    if overwrite or not Path(path).exists():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        urlretrieve(url, path)
    return str(path)


def download_testdata(url: str, relpath: str, module: str = "", overwrite: bool = False) -> str:
    """Fetch a file to `~/.tvm_test_data/MODULE/RELPATH`, unless it is there; where it is."""
    return download(url, Path.home() / ".tvm_test_data" / module / relpath, overwrite)

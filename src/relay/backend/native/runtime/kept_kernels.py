"""Kernels as object code, from one compilation to the next: what a kernel does is said by its name alone."""

from pathlib import Path

from relay.backend.native.llvm.jit import is_object_code
from relay.backend.native.llvm.machine import host
from relay.backend.native.runtime.cache_folder import keep, key_of_code, read_kept


class KeptKernels:
    """The object code of kernels in the cache of compiled code."""

    def __init__(self, folder: Path | None = None) -> None:
        """Without a folder nothing is kept."""
        self.folder = folder

    def path(self, name: str) -> Path | None:
        """The file of a kernel."""
        key = key_of_code(f"{host()} {name}")
        return None if self.folder is None else self.folder / f"kernel-{key}.o"

    def code(self, name: str) -> bytes | None:
        """The object code of a kernel, if it is kept."""
        path = self.path(name)
        code = None if path is None else read_kept(path)
        return code if code and is_object_code([code], [name]) else None

    def keep(self, name: str, code: bytes) -> None:
        """Keep the object code of a kernel."""
        path = self.path(name)
        if path is not None:
            keep(path, code)

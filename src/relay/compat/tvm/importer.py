"""Imports of the modules that stand in for others, by their names."""

from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from relay.compat.tvm.modules import module


class Finder(MetaPathFinder, Loader):
    """Answers imports below one name: `Finder("tvm")` those of `tvm`, `tvm.relay` and the rest."""

    def __init__(self, root: str) -> None:
        """`root` is the name that `tvm` has."""
        self.root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of ours by that name, if there is one."""
        if fullname != self.root and not fullname.startswith(f"{self.root}."):
            return None
        found = module(fullname.removeprefix(self.root).removeprefix("."))
        return None if found is None else ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module itself, which may have other names too."""
        found = module(spec.name.removeprefix(self.root).removeprefix("."))
        assert found is not None
        spec.loader_state = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run; the module stays what it was by its own name."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state

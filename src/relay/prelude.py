"""The standard library as a Python object: `p = Prelude(mod); p.cons(x, p.nil())`."""

from typing import Any

from relay.ir.module import IRModule
from relay.text.api import import_standard

SHORT_TYPE_NAMES = {"l": "List", "optional": "Option", "tree": "Tree", "nat": "nat"}


class Prelude:
    """Adds the standard library to a module; its definitions, constructors and types are attributes.

    `p.hd` is the global variable, `p.cons` the constructor, `p.l` the name of the type of lists (others:
    `p.optional`, `p.tree`, `p.nat`); `p.mod.get_type("List")` gives a type with its constructors.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = IRModule() if mod is None else mod
        import_standard(self.mod, "prelude")
        self._constructors = {c.name_hint.lower(): c for c in self.mod.constructors().values()}

    def __getattr__(self, name: str) -> Any:
        """A definition, a constructor (in lower case) or a type of the library."""
        if name in self.mod:
            return self.mod.get_global_var(name)
        if name in self._constructors:
            return self._constructors[name]
        if name in SHORT_TYPE_NAMES:
            return self.mod.get_global_type_var(SHORT_TYPE_NAMES[name])
        raise AttributeError(f"the prelude has no {name!r}")

    def __dir__(self) -> list[str]:
        return sorted([v.name_hint for v in self.mod.functions] + [*self._constructors, *SHORT_TYPE_NAMES])

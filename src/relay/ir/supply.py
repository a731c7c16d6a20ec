"""Fresh names: for variables and definitions that a program makes."""

from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule


class NameSupply:
    """Gives out names that it has not given out before: `x`, `x_1`, `x_2`, …"""

    def __init__(self, prefix: str = "") -> None:
        """`prefix` goes before every name, with an underscore between."""
        self.prefix = prefix
        self._next: dict[str, int] = {}

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """`name`, or the first `name_1`, `name_2`, … that is not taken; it is taken from now on."""
        stem = self._full(name, add_prefix)
        fresh, i = stem, self._next.get(stem, 0)
        while fresh in self._next:
            i += 1
            fresh = f"{stem}_{i}"
        self._next[stem] = i
        self._next.setdefault(fresh, 0)
        return fresh

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Take exactly that name."""
        full = self._full(name, add_prefix)
        self._next.setdefault(full, 0)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether that name is taken."""
        return self._full(name, add_prefix) in self._next

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name


class GlobalVarSupply:
    """Gives out global variables with fresh names."""

    def __init__(self, value: NameSupply | IRModule | list[IRModule] | None = None) -> None:
        """Begins with the names of a supply, or with those that modules define."""
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply()
        self._unique: dict[str, GlobalVar] = {}
        for mod in [value] if isinstance(value, IRModule) else value if isinstance(value, list) else []:
            for var in mod.get_global_vars():
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A global variable whose name nobody has."""
        return GlobalVar(self.name_supply.fresh_name(name, add_prefix))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The one global variable of that name, the same each time."""
        full = self.name_supply.reserve_name(name, add_prefix)
        return self._unique.setdefault(full, GlobalVar(full))

    def reserve_global(self, var: GlobalVar, allow_conflict: bool = False) -> None:
        """Take the name of a global variable; `ValueError` where it is taken and may not be."""
        if not allow_conflict and self.name_supply.contains_name(var.name_hint, add_prefix=False):
            raise ValueError(f"@{var.name_hint} is reserved already")
        self.name_supply.reserve_name(var.name_hint, add_prefix=False)
        self._unique[var.name_hint] = var

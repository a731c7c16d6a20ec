"""What a client of the protocol opens: scopes and values by number, while the program is stopped."""

from collections.abc import Sequence
from typing import Any, cast

from relay.debugger.calls import Variable
from relay.debugger.machine import Layout
from relay.debugger.values import Part, Parts, has_parts, parts_of, shown, type_text
from relay.interpreter.code import Code
from relay.interpreter.value import is_array

MOST_AT_ONCE = 1000
"""How many parts a client is given that asks for all."""


class Handles:
    """The numbers that were given out since the program stopped."""

    def __init__(self, layouts: dict[Code, Layout]) -> None:
        """`layouts` tell what functions have captured."""
        self.layouts = layouts
        self.kept: list[tuple[Any, str]] = []

    def forget(self) -> None:
        """The program goes on: no number is valid."""
        self.kept.clear()

    def add(self, what: Any, name: str) -> int:
        """A number for a value (or a list of variables), whose parts have names that begin with `name`."""
        self.kept.append((what, name))
        return len(self.kept)

    def variables(self, number: int, kind: str, start: int, count: int) -> list[dict[str, Any]]:
        """The parts of what a number stands for: `named`, `indexed` or, by default, all."""
        if not 0 < number <= len(self.kept):
            return []
        what, name = self.kept[number - 1]
        if isinstance(what, list):
            variables = cast("list[Variable]", what)
            return [self.of_value(f"%{v.name}", v.value, v, f"%{v.name}") for v in variables]
        parts = parts_of(what, self.layouts)
        named = [] if kind == "indexed" else [self._of_part(p, name, what) for p in parts.named()]
        return named if kind == "named" else [*named, *self._page(parts, start, count, name, what)]

    def _page(self, parts: Parts, start: int, count: int, name: str, what: Any) -> Sequence[dict[str, Any]]:
        end = min(parts.count, start + (count or MOST_AT_ONCE))
        found = [self._of_part(p, name, what) for p in parts.page(start, end)]
        if not count and end < parts.count:
            rest = {"name": "…", "value": f"{parts.count - end:,} more", "variablesReference": 0}
            found.append(rest)
        return found

    def _of_part(self, part: Part, name: str, what: Any) -> dict[str, Any]:
        if part.text is not None:
            return {"name": part.name, "value": part.text, "variablesReference": 0}
        return self.of_value(part.name, part.value, None, _whole_name(name, part.name, what))

    def of_value(self, label: str, value: Any, v: Variable | None, name: str) -> dict[str, Any]:
        """A value as the protocol has variables."""
        found: dict[str, Any] = {
            "name": label,
            "value": shown(value),
            "type": type_text(value, v.type if v is not None else None),
            **self.opened(value, name),
        }
        return found | ({"evaluateName": name} if name else {})

    def opened(self, value: Any, name: str) -> dict[str, Any]:
        """The number by which a value is opened, and how many parts it has."""
        if not has_parts(value):
            return {"variablesReference": 0}
        parts = parts_of(value, self.layouts)
        counts = {"namedVariables": parts.named_count, "indexedVariables": parts.count}
        return {"variablesReference": self.add(value, name), **{k: n for k, n in counts.items() if n}}


def _whole_name(name: str, part: str, what: Any) -> str:
    """The expression for a part; nothing where there is none."""
    if not name:
        return ""
    if part.startswith(".") or (is_array(what) and part.startswith("[")):
        return name + part
    names = getattr(getattr(what, "constructor", None), "field_names", ())
    return f"{name}.{part}" if part in names else ""

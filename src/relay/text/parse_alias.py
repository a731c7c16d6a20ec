"""Aliases of types in text: `type Params[h: Dim] = (Tensor[(h,), float32], float32)`."""

from collections.abc import Sequence

from relay.diagnostic import Note
from relay.ir.alias import TypeAlias
from relay.ir.type import GlobalTypeVar
from relay.text.parse_body import Bodies

_CAN_END = frozenset({"NAME", "GLOBAL", ")", "]", ">"})
"""What may be the last token of a type."""


class Aliases(Bodies):
    """The rules of aliases."""

    item_starts: frozenset[int]
    """The tokens where items begin."""
    done: dict[int, int]
    """Where the items end that have been read."""

    def next_item(self, i: int) -> int:
        """Where the item behind token `i` begins."""
        i += 1 if self.kinds[i] != "END" else 0
        while (
            self.kinds[i] != "END"
            and i not in self.item_starts
            and not (self.kinds[i] == "def" and self.kinds[i + 1] == "GLOBAL")
        ):
            i += 1
        return i

    def is_alias_item(self, i: int) -> bool:
        """Whether the item at token `i` is an alias."""
        return self.aliases_here.get(self.texts[i + 1].removeprefix("@"), -1) > i

    def alias(self, i: int) -> None:
        """`type Name[params] = T`, up to `;` or the end of the line."""
        name = self.texts[i + 1].removeprefix("@")
        header, params, mark = GlobalTypeVar(name), self.headers[i], len(self.log)
        for p in params:
            self.bind(f"'{p.name_hint}", p)
        self.data_type_declared = name, params, "= …"
        self.i = self.aliases_here[name]
        try:
            t = self.type_()
            if self.kinds[self.i] not in (";", "END") and not self.on_new_line(self.i):
                self.expected("`;` or a new line")
        finally:
            self.data_type_declared = None
            self.leave(mark)
        self.mod.aliases[header] = TypeAlias(header, tuple(params), t, span=self.span(i, i + 1))
        self.mod.imported.discard(name)

    def sort_aliases(self) -> None:
        """Put the aliases of the module into the order of the text."""
        here = self.aliases_here
        aliases = sorted(self.mod.aliases.values(), key=lambda a: here.get(a.header.name_hint, -1))
        self.mod.aliases = {a.header: a for a in aliases}

    def alias_order(self, starts: Sequence[int]) -> list[int]:
        """The aliases among items, each behind those that it mentions; reports a cycle (`alias-cycle`)."""
        items = {self.texts[i + 1].removeprefix("@"): i for i in starts if self.is_alias_item(i)}
        order: list[int] = []
        done: dict[str, bool] = {}
        for name in items:
            path = [(name, iter(self._mentioned(items, name)))]
            while path:
                at, others = path[-1]
                done.setdefault(at, False)
                other = next(others, None)
                if other is None:
                    path.pop()
                    if not done[at]:
                        order.append(items[at])
                    done[at] = True
                elif other not in done:
                    path.append((other, iter(self._mentioned(items, other))))
                elif not done[other]:
                    self._report_cycle(items, [n for n, _ in path], other)
                    done[other] = True
                    self.done[items[other]] = self.next_item(items[other])
        return order

    def _mentioned(self, items: dict[str, int], name: str) -> list[str]:
        """The aliases that the type of an alias mentions."""
        found: list[str] = []
        start = i = self.aliases_here[name]
        outside = self.enclosing[start]
        while self.kinds[i] not in (";", "END"):
            if (
                i > start
                and self.enclosing[i] == outside
                and self.kinds[i - 1] in _CAN_END
                and self.on_new_line(i)
            ):
                break
            other = self.texts[i].removeprefix("@")
            if self.kinds[i] in ("NAME", "GLOBAL") and other in items:
                found.append(other)
            i += 1
        return found

    def _report_cycle(self, items: dict[str, int], path: list[str], name: str) -> None:
        """Report an alias that stands for a type with itself inside."""
        through = [n for n in path[path.index(name) :] if n != name]
        notes = tuple([Note(f"it mentions `{n}`", self.span(items[n] + 1)) for n in through[:3]])
        hint = "a type that contains itself is a data type: `type T { C(T), … }`"
        self.mistake(
            "alias-cycle", f"the alias `{name}` stands for itself", items[name] + 1, hint=hint, notes=notes
        )

"""Who calls whom among the definitions of a module."""

from collections import Counter

from relay.ir.expr import Expr, GlobalVar
from relay.ir.module import IRModule
from relay.ir.walk import post_order


class CallGraph:
    """For each definition, the definitions that it mentions and how often."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self.mentions: dict[GlobalVar, Counter[GlobalVar]] = {v: _mentions(e) for v, e in module.items()}
        self._components: list[list[GlobalVar]] | None = None
        self._recursive: set[GlobalVar] = set()

    def callees(self, var: str | GlobalVar) -> list[GlobalVar]:
        """The definitions that this one mentions, in the order of the text."""
        return list(self.mentions[self._var(var)])

    def callers(self, var: str | GlobalVar) -> list[GlobalVar]:
        """The definitions that mention this one."""
        wanted = self._var(var)
        return [v for v, mentions in self.mentions.items() if wanted in mentions]

    def ref_count(self, var: str | GlobalVar) -> int:
        """How many mentions of this definition there are, all definitions together."""
        wanted = self._var(var)
        return sum(mentions[wanted] for mentions in self.mentions.values())

    def global_call_count(self, var: str | GlobalVar) -> int:
        """How many mentions of definitions there are in this one."""
        return self.mentions[self._var(var)].total()

    def is_recursive(self, var: str | GlobalVar) -> bool:
        """Whether this definition reaches itself."""
        self.components()
        return self._var(var) in self._recursive

    def components(self) -> list[list[GlobalVar]]:
        """Groups of definitions that reach one another, callees before callers (Tarjan, 1972)."""
        if self._components is None:
            self._components = _strong_components({v: list(m) for v, m in self.mentions.items()})
            for group in self._components:
                if len(group) > 1 or group[0] in self.mentions[group[0]]:
                    self._recursive.update(group)
        return self._components

    def print_var(self, var: str | GlobalVar) -> str:
        """One definition with those that it mentions, as text."""
        wanted = self._var(var)
        called = ", ".join(f"@{v.name_hint} x{n}" for v, n in self.mentions[wanted].items())
        return f"@{wanted.name_hint}: {called or 'nothing'}"

    def __str__(self) -> str:
        return "\n".join(self.print_var(v) for v in self.mentions)

    def _var(self, var: str | GlobalVar) -> GlobalVar:
        return self.module.get_global_var(var) if isinstance(var, str) else var


def _mentions(definition: Expr) -> Counter[GlobalVar]:
    """How many uses of each global variable there are; a shared node counts once."""
    found = [c for e in post_order(definition) for c in e.children if type(c) is GlobalVar]
    return Counter([definition]) if isinstance(definition, GlobalVar) else Counter(found)


def _strong_components(edges: dict[GlobalVar, list[GlobalVar]]) -> list[list[GlobalVar]]:
    index: dict[GlobalVar, int] = {}
    low: dict[GlobalVar, int] = {}
    open_nodes: list[GlobalVar] = []
    is_open: set[GlobalVar] = set()
    groups: list[list[GlobalVar]] = []
    for start in edges:
        if start in index:
            continue
        stack = [(start, iter(edges[start]))]
        index[start] = low[start] = len(index)
        open_nodes.append(start)
        is_open.add(start)
        while stack:
            v, rest = stack[-1]
            for w in rest:
                if w not in edges:
                    continue
                if w not in index:
                    index[w] = low[w] = len(index)
                    open_nodes.append(w)
                    is_open.add(w)
                    stack.append((w, iter(edges[w])))
                    break
                if w in is_open:
                    low[v] = min(low[v], index[w])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[v])
                if low[v] == index[v]:
                    at = _last(open_nodes, v)
                    groups.append(open_nodes[at:])
                    is_open.difference_update(open_nodes[at:])
                    del open_nodes[at:]
    return groups


def _last(nodes: list[GlobalVar], v: GlobalVar) -> int:
    """The place of `v`, looked for from the end, where it is near."""
    at = len(nodes) - 1
    while nodes[at] != v:
        at -= 1
    return at

"""Matching: does an expression look like a pattern, and which node plays which part?

A variable that a `let` binds stands for its value where the pattern asks for more than a variable.  Nothing
here recurses over patterns or programs.
"""

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relay.ir.expr import Call, Expr, Function, Let, Op, Var
from relay.ir.walk import post_order, run
from relay.op.attribute import freeze
from relay.op.kind import Fusion
from relay.op.registry import registry

if TYPE_CHECKING:
    from relay.pattern.patterns import CallPattern, DFPattern, DominatorPattern, NodeMap

FUSION_CODES = {
    Fusion.ELEMENTWISE: 0, Fusion.BROADCAST: 1, Fusion.INJECTIVE: 2, Fusion.REDUCTION: 3, Fusion.KERNEL: 4,
    Fusion.OPAQUE: 8,
}  # fmt: skip
"""The numbers that users know for `TOpPattern`."""
Task = Generator[Any, Any, bool]


class Graph:
    """A program as matching looks at it: what variables stand for, and who uses a node."""

    def __init__(self, root: Expr) -> None:
        self.root = root
        self.values: dict[Var, Expr] = {}
        self._users: dict[Expr, list[Expr]] | None = None
        for e in post_order(root):
            if isinstance(e, Let):
                self.values[e.var] = e.value

    def behind(self, e: Expr) -> Expr:
        """What a variable is bound to, the expression itself otherwise."""
        while isinstance(e, Var) and e in self.values:
            e = self.values[e]
        return e

    @property
    def users(self) -> dict[Expr, list[Expr]]:
        """For each node, the nodes that have it as an operand; a `let` uses neither its variable nor its
        value.
        """
        if self._users is None:
            self._users = defaultdict(list)
            for e in post_order(self.root):
                for c in (e.body,) if isinstance(e, Let) else e.children:
                    self._users[self.behind(c)].append(e)
        return self._users


class Matcher:
    """One attempt to match a pattern."""

    def __init__(self, graph: Graph, root: "DFPattern") -> None:
        """`root` is the whole pattern."""
        self.graph = graph
        self.matched: dict[DFPattern, Expr] = {}
        self.log: list[tuple[DFPattern, Expr]] = []
        self.recursive = recursive_patterns(root)

    def matches(self, pattern: "DFPattern", e: Expr) -> bool:
        """Whether `e` matches; `node_map` then tells how."""
        return run(self.visit(pattern, e))

    @property
    def node_map(self) -> "NodeMap":
        """Each pattern with the nodes that it matched, in the order in which they were found."""
        found: dict[DFPattern, dict[Expr, None]] = {}
        for p, e in self.log:
            found.setdefault(p, {})[e] = None
        return {p: list(nodes) for p, nodes in found.items()}

    def visit(self, p: "DFPattern", e: Expr) -> Task:
        """Match, and remember; what a failed attempt remembered is forgotten."""
        known = self.matched.get(p)
        if known is not None and p not in self.recursive:
            return self.graph.behind(known) is self.graph.behind(e)
        mark = len(self.log)
        for candidate in dict.fromkeys((e, self.graph.behind(e))):
            outcome = p.attempt(self, candidate)
            if outcome if isinstance(outcome, bool) else (yield outcome):
                self.matched[p] = candidate
                self.log.append((p, candidate))
                return True
            self.forget(mark)
        return False

    def forget(self, mark: int) -> None:
        """Return to an earlier state."""
        while len(self.log) > mark:
            self.matched.pop(self.log.pop()[0], None)

    def every(self, patterns: "Sequence[DFPattern]", several: Sequence[Expr]) -> Task:
        """Whether all of these match, one by one."""
        if len(patterns) != len(several):
            return False
        for p, e in zip(patterns, several, strict=True):
            if not (yield self.visit(p, e)):
                return False
        return True

    def either(self, patterns: Sequence["DFPattern"], e: Expr) -> Task:
        """Whether one of these matches; the first that does."""
        for p in patterns:
            if (yield self.visit(p, e)):
                return True
        return False

    def call(self, p: "CallPattern", e: Call) -> Task:
        """Whether a call matches; the two arguments of a commutative operator in either order."""
        if not (yield self.visit(p.op, e.op)):
            return False
        if p.args is None:
            return True
        mark = len(self.log)
        if (yield self.every(p.args, e.args)):
            return True
        self.forget(mark)
        if len(e.args) != 2 or not isinstance(e.op, Op) or not e.attrs.commutative:
            return False
        return (yield self.visit(p.op, e.op)) and (yield self.every(p.args, e.args[::-1]))

    def dominated(self, p: "DominatorPattern", e: Expr) -> Task:
        """Whether `e` is the child, and all between it and one parent matches the path and leads to it
        alone.

        Every node in between is computed from the parent; a leaf, such as a bias, may come from outside.
        """
        if not (yield self.visit(p.child, e)):
            return False
        region, parents, stack = {e}, dict[Expr, None](), operands(self.graph, e)
        while stack:
            n = stack.pop()
            if n in region or n in parents:
                continue
            mark = len(self.log)
            if (yield self.once(p.parent, n)):
                parents[n] = None
                continue
            self.forget(mark)
            if not operands(self.graph, n):
                continue
            if not (yield self.once(p.path, n)):
                return False
            region.add(n)
            stack += operands(self.graph, n)
        if len(parents) != 1:
            return False
        above = region | parents.keys()
        return all(not above.isdisjoint(operands(self.graph, n)) for n in region) and all(
            u in region for n in above - {e} for u in self.graph.users[n]
        )

    def once(self, p: "DFPattern", e: Expr) -> Task:
        """As `visit`, for a pattern that may match many nodes."""
        for inner in below(p):
            self.matched.pop(inner, None)
        return (yield self.visit(p, e))


def operands(graph: Graph, e: Expr) -> list[Expr]:
    """The nodes whose values `e` is computed from, operators left out."""
    return [graph.behind(c) for c in e.children if not isinstance(c, Op)]


def below(p: "DFPattern") -> "list[DFPattern]":
    """All patterns inside `p`, itself included."""
    seen: dict[DFPattern, None] = {}
    stack = [p]
    while stack:
        q = stack.pop()
        if q not in seen:
            seen[q] = None
            stack += q.children
            if q.redirection is not None:
                stack.append(q.redirection)
    return list(seen)


def recursive_patterns(root: "DFPattern") -> "frozenset[DFPattern]":
    """The patterns that may match several nodes, because a wildcard is redirected to something around it."""
    targets = [q.redirection for q in below(root) if q.redirection is not None]
    return frozenset([q for t in targets for q in below(t)])


def has_attributes(wanted: Mapping[str, Any], e: Expr) -> bool:
    """Whether an operator, call or function has these attributes; lists and tuples are alike."""
    match e:
        case Op():
            return (
                list(wanted) == ["TOpPattern"]
                and FUSION_CODES[registry[e.name].fusion] == wanted["TOpPattern"]
            )
        case Call(op=Op()):
            found = e.attrs.attributes()
        case Call() | Function():
            found = dict(e.attrs)
        case _:
            return False
    return all(name in found and freeze(found[name]) == freeze(value) for name, value in wanted.items())


def match(pattern: "DFPattern", expr: Expr) -> bool:
    """Whether `expr` as a whole looks like `pattern`; behind `let`s, its result may do so."""
    graph = Graph(expr)
    if Matcher(graph, pattern).matches(pattern, expr):
        return True
    result = expr
    while isinstance(result, Let):
        result = result.body
    return result is not expr and Matcher(graph, pattern).matches(pattern, result)

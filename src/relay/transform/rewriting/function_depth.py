"""How deeply nodes lie inside of functions, each of which may run them many times."""

from collections.abc import Mapping

from relay.ir.expr import Expr, Function
from relay.ir.scope import Scope


class FunctionDepth:
    """Inside of how many functions nodes are evaluated."""

    def __init__(self, where: Mapping[Expr, Scope]) -> None:
        """`where` has the scope that evaluates each node."""
        self.where = where
        self.known: dict[Scope, int] = {}

    def __call__(self, e: Expr) -> int:
        """For one node."""
        path: list[Scope] = []
        s: Scope | None = self.where[e]
        while s is not None and s not in self.known:
            path.append(s)
            s = s.parent
        depth = 0 if s is None else self.known[s]
        for s in reversed(path):
            depth += type(s.owner) is Function
            self.known[s] = depth
        return depth

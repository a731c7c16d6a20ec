"""Variables that a frontend binds its values to, one after another."""

from relay.diagnostic import Span
from relay.frontend.value import Value
from relay.ir.expr import Expr, Let, Var
from relay.ir.type import Type
from relay.ir.vars import free_vars


class Bindings:
    """Variables with what they are bound to, in order."""

    def __init__(self) -> None:
        """There are none."""
        self.made: list[tuple[Var, Expr]] = []

    def bind(self, name: str, value: Value, span: Span | None, sized: Type | None = None) -> Value:
        """Bind a value to a variable, unless it is one or a constant; `sized` says more of its type."""
        if value.array is not None or (isinstance(value.expr, Var) and sized is None):
            return value
        var = Var(name, sized, span=span)
        self.made.append((var, value.expr))
        found = value.named(var)
        found.type = value.type if sized is None else sized
        return found

    def around(self, result: Expr) -> Expr:
        """`result` within those bindings that it needs."""
        needed = set(free_vars(result))
        for var, e in reversed(self.made):
            if var in needed:
                needed.update(free_vars(e))
                result = Let(var, e, result, span=var.span)
        return result

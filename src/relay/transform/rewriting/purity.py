"""What may go, move or double: effects of a module's expressions, for nothing where it has no references."""

from relay.analysis.effects import Effect, Effects
from relay.ir.expr import Call, Expr, Op, RefCreate, RefRead, RefWrite
from relay.ir.module import IRModule
from relay.ir.walk import post_order

FACTS = "touches references"
_TOUCHING = (RefCreate, RefRead, RefWrite)


class Purity:
    """The effects of the expressions of one module."""

    def __init__(self, mod: IRModule) -> None:
        """Looks for references in definitions that nobody has looked at before."""
        known: dict[Expr, bool] = mod.facts.get(FACTS, {})
        found = {e: known[e] if e in known else touches(e) for e in mod.functions.values()}
        mod.facts[FACTS] = found
        self.effects = Effects(mod) if any(found.values()) else None

    def of(self, e: Expr) -> Effect:
        """What evaluating `e` may do."""
        return Effect.NONE if self.effects is None else self.effects.of(e)

    def of_call(self, callee: Expr) -> Effect:
        """What calling `callee` may do, once it is evaluated."""
        return Effect.NONE if self.effects is None else self.effects.of_call(callee)

    def is_pure(self, e: Expr) -> bool:
        """Whether evaluating `e` touches no reference."""
        return self.effects is None or self.effects.of(e) is Effect.NONE

    def may_go(self, e: Expr) -> bool:
        """Whether nobody notices if `e` is not evaluated: it makes references at most."""
        return not self.of(e) & ~Effect.CREATE


def touches(root: Expr) -> bool:
    """Whether a reference is made, read or written somewhere under `root`."""
    return any(
        type(e) in _TOUCHING or (type(e) is Call and type(e.op) is Op and e.attrs.impure)
        for e in post_order(root)
    )

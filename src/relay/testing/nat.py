"""Natural numbers in unary, from Python and back; `prelude` is a `Prelude` or a module that has `nat`."""

from typing import Any

from relay.interpreter.value import ConstructorValue
from relay.ir.expr import Constructor, Expr
from relay.ir.module import IRModule


def _constructors(prelude: Any) -> tuple[Constructor, Constructor]:
    mod: IRModule = getattr(prelude, "mod", prelude)
    _, z, s = mod.get_type("nat")
    return z, s


def make_nat_expr(prelude: Any, n: int) -> Expr:
    """`n` as an expression: `S(S(Z))` for 2."""
    if n < 0:
        raise ValueError(f"a natural number is not negative, unlike {n}")
    z, s = _constructors(prelude)
    e: Expr = z()
    for _ in range(n):
        e = s(e)
    return e


def make_nat_value(prelude: Any, n: int) -> ConstructorValue:
    """`n` as a value."""
    if n < 0:
        raise ValueError(f"a natural number is not negative, unlike {n}")
    z, s = _constructors(prelude)
    value = ConstructorValue(z, ())
    for _ in range(n):
        value = ConstructorValue(s, (value,))
    return value


def count(prelude: Any, n: ConstructorValue) -> int:
    """A value of type `nat` as a Python integer."""
    _, s = _constructors(prelude)
    found = 0
    while n.constructor == s:
        found += 1
        n = n.fields[0]
    return found

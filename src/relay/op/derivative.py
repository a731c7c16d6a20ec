"""Derivatives of operator calls: one entry for each mode, whichever kind of rule the operator has.

A rule is written in Relay operators, so that what it returns can be differentiated again.  It gets variables (or
constants) as operands, with their types written on them: `type_of(x)`.  `None` is a zero.  A tuple operand arrives as
a Python tuple and so does its cotangent or tangent; of a tuple result, `y`, `g` and the tangent are Python tuples.

- `partials(y, *xs)`: for each operand the derivative of an element by the operand's element (None: zero);
- `transpose(g, *xs)`: the cotangents of an operator that is linear in all its floating operands together;
- `vjp(g, y, *xs)`: the cotangent of each operand; `jvp(dxs, y, *xs)`: the tangent of the result.

`g` has the type of `y`, and each cotangent and tangent the type of what it belongs to.
"""

from collections.abc import Sequence
from typing import Any

from relay.ir.dtype import is_float
from relay.ir.expr import Constant, Expr, RelayExpr, TupleGetItem, Var
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import Derivative, Operator, builders


def vjp(op: Operator, g: Any, y: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    """The cotangents of the operands `xs` of a call of `op` whose result is `y` and has the cotangent `g`.

    Operators that are composed of others (`Derivative.DECOMPOSITION`) are expanded before this is asked.
    """
    rule: Any = op
    match op.derivative:
        case Derivative.ZERO:
            return (None,) * len(xs)
        case Derivative.PARTIALS:
            partials = rule.partials(y, *xs)
            return tuple([None if p is None or not is_floating(x) else unbroadcast(times(g, p), x, y)
                          for p, x in zip(partials, xs, strict=True)])  # fmt: skip
        case Derivative.TRANSPOSE | Derivative.MULTILINEAR:
            return tuple(rule.transpose(g, *xs))
        case Derivative.RULES:
            return tuple(rule.vjp(g, y, *xs))
        case _:
            raise AssertionError(f"{op.name} is expanded before it is differentiated")


def jvp(op: Operator, dxs: Sequence[Any], y: Any, xs: Sequence[Any]) -> Any:
    """The tangent of a call of `op` whose operands `xs` have the tangents `dxs`; None if it is zero."""
    rule: Any = op
    if all(is_zero(dx) for dx in dxs):
        return None
    match op.derivative:
        case Derivative.ZERO:
            return None
        case Derivative.PARTIALS:
            partials = rule.partials(y, *xs)
            return total([spread(times(dx, p), y, x) for dx, p, x in zip(dxs, partials, xs, strict=True)
                          if dx is not None and p is not None])  # fmt: skip
        case Derivative.TRANSPOSE:
            return op(*[tangent(dx, x) for dx, x in zip(dxs, xs, strict=True)])
        case Derivative.MULTILINEAR:
            return total([op(*xs[:i], dx, *xs[i + 1 :]) for i, dx in enumerate(dxs) if not is_zero(dx)])
        case Derivative.RULES:
            return rule.jvp(dxs, y, *xs)
        case _:
            raise AssertionError(f"{op.name} is expanded before it is differentiated")


# --- what rules are written with ---


def type_of(x: Expr) -> Type:
    """The type of an operand, a result or a cotangent as a rule gets it."""
    match x:
        case Var(type_annotation=Type() as t) | Constant(type=Type() as t):
            return t
        case TupleGetItem(tuple_value, index):
            whole = type_of(tuple_value)
            assert isinstance(whole, TupleType)
            return whole.fields[index]
        case _:
            raise AssertionError(f"{x!r} has no type written on it")


def is_floating(x: Any) -> bool:
    """Whether an operand is a tensor of a floating-point base type (a base type still open counts)."""
    t = None if isinstance(x, tuple) else type_of(x)
    return isinstance(t, TensorType) and (not isinstance(t.dtype, str) or is_float(t.dtype))


def is_zero(dx: Any) -> bool:
    """Whether a tangent is zero: None, or a tuple of zeros."""
    return dx is None or (isinstance(dx, tuple) and all(d is None for d in dx))  # pyright: ignore[reportUnknownVariableType]


def times(a: Expr, b: Expr) -> Expr:
    """The product, elementwise with broadcasting."""
    return builders["multiply"](a, b)


def total(terms: Sequence[Expr]) -> Expr | None:
    """The sum of tangents or cotangents; None of none."""
    result: Expr | None = None
    for term in terms:
        result = term if result is None else builders["add"](result, term)
    return result


def zeros_like(x: Expr) -> Expr:
    """Zeros of the type of `x`."""
    return builders["zeros_like"](x)


def tangent(dx: Any, x: Any) -> Any:
    """A tangent that may be None written out; an operand that has no tangents (an index, a condition) as it is."""
    if isinstance(x, tuple):
        given: Sequence[Any] = (None,) * len(x) if dx is None else dx  # pyright: ignore[reportUnknownArgumentType]
        return tuple([tangent(d, e) for d, e in zip(given, x, strict=True)])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if dx is not None:
        return dx
    return zeros_like(x) if is_floating(x) else x


def unbroadcast(g: Expr, x: Expr, of: Expr | None = None) -> Expr:
    """A cotangent summed down to the type of `x`; `of` has the type of `g` where that is known."""
    if of is not None and type_of(of) is type_of(x):
        return g
    return builders["collapse_sum_like"](g, x)


def spread(dx: Expr, y: Expr, of: Expr | None = None) -> Expr:
    """A tangent stretched to the type of `y`; `of` has the type of `dx` where that is known."""
    if of is not None and type_of(of) is type_of(y):
        return dx
    return builders["broadcast_to_like"](dx, y)

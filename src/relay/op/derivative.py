"""Derivatives of operator calls: one entry for each mode, whichever kind of rule the operator has.

A rule is written in Relay operators (`apply`), so that what it returns can be differentiated again.  It gets
atoms: variables with their types written on them, constants, and projections of such variables.  A tuple
operand arrives as a Python tuple, and so does its cotangent or tangent; of a tuple result `y`, `g` and the
tangent are Python tuples.  `None` is a zero, as a whole or as a field.

- `partials(y, *xs)`: for each operand the derivative of an element by the operand's element; each may
  broadcast to `y`;
- `transpose(g, *xs)`: the cotangents of an operator that is linear in its floating operands, in all together
  or in each alone;
- `vjp(g, y, *xs)`: the cotangent of each operand; `jvp(dxs, y, *xs)`: the tangent of the result.

`g` has the type of `y`, and each cotangent and tangent the type of what it belongs to.  What a rule says of
an operand that is not floating, or is `carried`, is dropped: it need not ask.  A rule is not asked at all
where no part of the result is floating, or where all that it is given is zero.
"""

from collections.abc import Sequence
from typing import Any, cast

from relay.ir.dtype import is_float
from relay.ir.expr import Constant, Expr, TupleGetItem, Var
from relay.ir.type import HAS_ANY, DType, TensorType, TupleType, Type
from relay.op.base import Operator
from relay.op.kind import Derivative
from relay.op.numeric import apply, scalar


def vjp(op: Operator, g: Any, y: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    """The cotangents of the operands `xs` of a call of `op` whose result is `y` and has the cotangent `g`.

    Operators that are composed of others (`Derivative.DECOMPOSITION`) are expanded before this is asked.
    """
    rule: Any = op
    nothing = (None,) * len(xs)
    if is_zero_tangent(g) or not is_floating(y):
        return nothing
    match op.derivative:
        case Derivative.ZERO:
            return nothing
        case Derivative.PASSED_ON:
            found = (g, *nothing[1:])
        case Derivative.PARTIALS:
            partials = rule.partials(y, *xs)
            found = [None if p is None else unbroadcast(times(g, p), x, y)
                     for p, x in zip(partials, xs, strict=True)]  # fmt: skip
        case Derivative.TRANSPOSE | Derivative.MULTILINEAR:
            found = rule.transpose(written(g, y), *xs)
        case Derivative.RULES:
            found = rule.vjp(g, y, *xs)
        case _:
            raise AssertionError(f"{op.name} is expanded before it is differentiated")
    return tuple([_kept(d, x) for d, x in zip(found, varying(op, xs), strict=True)])


def jvp(op: Operator, dxs: Sequence[Any], y: Any, xs: Sequence[Any]) -> Any:
    """The tangent of a call of `op` whose operands `xs` have the tangents `dxs`; None if it is zero."""
    rule: Any = op
    given = [_kept(d, x) for d, x in zip(dxs, varying(op, xs), strict=True)]
    if is_zero_tangent(tuple(given)) or not is_floating(y):
        return None
    match op.derivative:
        case Derivative.ZERO:
            return None
        case Derivative.PASSED_ON:
            made = given[0]
        case Derivative.PARTIALS:
            partials = rule.partials(y, *xs)
            terms = [(dx, p, x) for dx, p, x in zip(given, partials, xs, strict=True) if dx is not None]
            return total([broadcast_like(times(dx, p), y, x) for dx, p, x in terms if p is not None])
        case Derivative.TRANSPOSE:
            made = op(*[x if a is None else written(dx, x)
                        for dx, a, x in zip(given, varying(op, xs), xs, strict=True)])  # fmt: skip
        case Derivative.MULTILINEAR:
            made = total([op(*xs[:i], dx, *xs[i + 1 :]) for i, dx in enumerate(given) if dx is not None])
        case Derivative.RULES:
            made = rule.jvp(given, y, *xs)
        case _:
            raise AssertionError(f"{op.name} is expanded before it is differentiated")
    if isinstance(made, Expr) and isinstance(y, tuple):
        return tuple([TupleGetItem(made, i) if is_floating(f) else None for i, f in enumerate(fields_of(y))])
    return made


def varying(op: Operator, xs: Sequence[Any]) -> list[Any]:
    """The operands, with None for those that are `carried`."""
    if not op.carried:
        return list(xs)
    return [None if name in op.carried else x for name, x in zip(_names(op, len(xs)), xs, strict=True)]


def _names(op: Operator, count: int) -> list[str]:
    """The name of each operand; those of a variadic operator go by the last name."""
    return [*op.operands[:count], *op.operands[-1:] * (count - len(op.operands))]


def _kept(d: Any, x: Any) -> Any:
    """A cotangent or tangent of `x` without the parts for which there is none."""
    if d is None or x is None:
        return None
    if isinstance(x, tuple):
        return tuple([_kept(e, f) for e, f in zip(d, fields_of(x), strict=True)])
    return d if is_floating(x) else None


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


def tensor_type(x: Expr) -> TensorType:
    """The type of a tensor."""
    t = type_of(x)
    assert isinstance(t, TensorType)
    return t


def rank_of(x: Expr) -> int:
    """The rank of a tensor, which is known wherever derivatives are taken."""
    shape = tensor_type(x).shape
    assert isinstance(shape, tuple)
    return len(shape)


def static_shape(x: Expr) -> tuple[int, ...] | None:
    """The shape of a tensor, where every size is a number."""
    shape = tensor_type(x).shape
    numbers = isinstance(shape, tuple) and all(isinstance(d, int) for d in shape)
    return cast("tuple[int, ...]", shape) if numbers else None


def fields_of(x: Any) -> tuple[Any, ...]:
    """The fields of a tuple operand or result."""
    return cast("tuple[Any, ...]", x)


def is_floating(x: Any) -> bool:
    """Whether an operand is a tensor of a floating-point dtype (one still open counts), or has one."""
    if isinstance(x, tuple):
        return any(is_floating(f) for f in fields_of(x))
    t = type_of(x)
    return isinstance(t, TensorType) and (not isinstance(t.dtype, str) or is_float(t.dtype))


def is_zero_tangent(dx: Any) -> bool:
    """Whether a tangent is zero: None, or a tuple of zeros."""
    return dx is None or (isinstance(dx, tuple) and all(is_zero_tangent(d) for d in fields_of(dx)))


def const_like(value: float, x: Expr) -> Constant:
    """A scalar of the dtype of `x`."""
    return scalar(value, tensor_type(x).dtype)


def times(a: Expr, b: Expr) -> Expr:
    """The product, elementwise with broadcasting."""
    return apply("multiply", a, b)


def total(terms: Sequence[Expr]) -> Expr | None:
    """The sum of tangents or cotangents; None of none."""
    result: Expr | None = None
    for term in terms:
        result = term if result is None else apply("add", result, term)
    return result


def masked(condition: Expr, g: Expr) -> Expr:
    """A tangent or cotangent, with 0 where the condition does not hold."""
    return apply("where", condition, g, const_like(0, g))


def zeros_like(x: Expr) -> Expr:
    """Zeros of the type of `x`."""
    return apply("zeros_like", x)


def written(dx: Any, x: Any) -> Any:
    """A tangent or cotangent that may be zero, written out; what has none (an index) stays as it is."""
    if isinstance(x, tuple):
        given = (None,) * len(fields_of(x)) if dx is None else fields_of(dx)
        return tuple([written(d, e) for d, e in zip(given, fields_of(x), strict=True)])
    if dx is not None:
        return dx
    return zeros_like(x) if is_floating(x) else x


def cast_back(g: Expr, x: Expr, of: DType | None = None) -> Expr:
    """A cotangent in the dtype of `x`; `of` is its own where that is known."""
    dtype = tensor_type(x).dtype
    if of is not None and of == dtype:
        return g
    return apply("cast", g, dtype=dtype) if isinstance(dtype, str) else apply("cast_like", g, x)


def unbroadcast(g: Expr, x: Expr, of: Expr | None = None) -> Expr:
    """A cotangent summed down to the type of `x`; `of` has the type of `g` where that is known."""
    if of is not None and same_shape(of, x):
        return g
    sizes = static_shape(x)
    return apply("collapse_sum_like", g, x) if sizes is None else apply("collapse_sum_to", g, shape=sizes)


def broadcast_like(dx: Expr, y: Expr, of: Expr | None = None) -> Expr:
    """A tangent stretched to the type of `y`; `of` has the type of `dx` where that is known."""
    if of is not None and same_shape(of, y):
        return dx
    sizes = static_shape(y)
    return apply("broadcast_to_like", dx, y) if sizes is None else apply("broadcast_to", dx, shape=sizes)


def same_shape(a: Expr, b: Expr) -> bool:
    """Whether two tensors are known to have one shape; an unknown size (`?`) is not known to equal itself."""
    shape = tensor_type(a).shape
    known = isinstance(shape, tuple) and not any(isinstance(d, Type) and d.flags & HAS_ANY for d in shape)
    return known and shape == tensor_type(b).shape

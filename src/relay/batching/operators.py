"""A call of an operator on batched operands: by its rule, else, of a composite operator, by its parts."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var
from relay.ir.type import Dim, TupleType
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.batching import aligned, any_batched, row_type, some_row, stretched
from relay.op.composite import Composite, as_operand
from relay.op.derivative import fields_of, varying

Bind = Callable[[Expr], Any]
"""Binds an expression: the atom that holds its value; of a tuple, a Python tuple of atoms."""


def batched(op: Operator, n: Dim, which: Sequence[Any], xs: Sequence[Any], bind: Bind) -> Any:
    """The results of `n` rows of a call, along a new first axis of each tensor; `which` operands are batched.

    None where the operator has no rule for these operands.
    """
    found = results_of_rows(op, n, which, xs, bind)
    return found and stretched(n, *found)


def results_of_rows(
    op: Operator, n: Dim, which: Sequence[Any], xs: Sequence[Any], bind: Bind
) -> tuple[Any, Any] | None:
    """The value of a batched call, bound, and what of it is batched: the rest is the same for every row.

    Operands that are `carried` count as their type does, which is one for all rows.  None as in `batched`.
    """
    is_varying = [v is not None for v in varying(op, xs)]
    xs = [x if v or not w else bind(some_row(x)) for x, v, w in zip(xs, is_varying, which, strict=True)]
    which = [w if v else False for w, v in zip(which, is_varying, strict=True)]
    if not any(map(any_batched, which)):
        value = bind(op(*map(_packed, xs)))
        return value, _everywhere(value, False)
    made = op.batch(n, which, *xs)
    if made is None and op.is_pointwise:
        made = op(*aligned(which, xs))
    if made is None:
        return _by_parts(op, n, which, xs, bind) if isinstance(op, Composite) else None
    value = tuple([bind(f) for f in fields_of(made)]) if isinstance(made, tuple) else bind(made)
    return value, _everywhere(value, True)


def _by_parts(
    op: Composite, n: Dim, which: Sequence[Any], xs: Sequence[Any], bind: Bind
) -> tuple[Any, Any] | None:
    """The value of a batched composite operator and what of it is batched."""
    types = [row_type(x, w) for x, w in zip(xs, which, strict=True)]
    rows = [Var(f"x{i}", t, span=None) for i, t in enumerate(types)]
    values: dict[Expr, tuple[Any, Any]] = {}
    leaves = [_leaf(row, t, x, w, values) for row, t, x, w in zip(rows, types, xs, which, strict=True)]
    body = op.decompose(types, *leaves)
    for e in post_order(body):
        if e in values or isinstance(e, Op):
            continue
        match e:
            case Tuple(fields):
                values[e] = tuple([values[f][0] for f in fields]), tuple([values[f][1] for f in fields])
            case TupleGetItem(whole, index):
                values[e] = values[whole][0][index], values[whole][1][index]
            case Call(Operator() as inner, args):
                operands, batches = [values[a][0] for a in args], [values[a][1] for a in args]
                found = results_of_rows(inner, n, batches, operands, bind)
                if found is None:
                    return None
                values[e] = found
            case _:
                assert isinstance(e, Constant), f"{e!r} in a decomposition"
                values[e] = e, False
    return values[body]


def _leaf(row: Expr, t: Any, x: Any, which: Any, values: dict[Expr, tuple[Any, Any]]) -> Any:
    """An operand of a decomposition; what it stands for goes to `values`."""
    values[row] = x, which
    if not isinstance(t, TupleType):
        return row
    fields = as_operand(row, t)
    parts = zip(fields, t.fields, x, which, strict=True)
    return tuple([_leaf(f, u, y, w, values) for f, u, y, w in parts])


def _everywhere(value: Any, is_batched: bool) -> Any:
    """That all of a value is batched, or nothing."""
    return (
        tuple([_everywhere(f, is_batched) for f in fields_of(value)])
        if isinstance(value, tuple)
        else is_batched
    )


def _packed(x: Any) -> Expr:
    """An operand as an expression."""
    return Tuple(tuple([_packed(f) for f in fields_of(x)])) if isinstance(x, tuple) else x

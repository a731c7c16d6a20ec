"""Derivatives from Python: `gradient`, `value_and_grad`, `jacobian`, `hessian`.

`relay.grad`, `relay.vjp` and `relay.jvp` make the nodes; these build on them.
"""

import math

import numpy as np

from relay.diagnostic import fail
from relay.expansion.gradient import function_type, gradient, parameters
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Expr, Function, Grad, Tuple, TupleGetItem, constant
from relay.ir.module import IRModule
from relay.ir.type import FuncType, TensorType, Type
from relay.op.numeric import apply

__all__ = ["gradient", "hessian", "jacobian", "value_and_grad"]


def value_and_grad(f: Expr) -> Grad:
    """`grad(f)`: a function from f's arguments to its value and the gradient with respect to each."""
    return Grad("grad", f)


def jacobian(f: Expr, argnum: int = 0, mod: IRModule | None = None) -> Function:
    """The function from f's arguments to the derivative of its result by argument `argnum`.

    For `f: fn(…, Tensor[s, t], …) -> Tensor[r, t]` the derivative is a tensor of shape `(*r, *s)`; `r` and
    `s` must be static.  Reverse mode: one pull back for each element of the result.

    Raises `jacobian-shape`, and what `vjp` raises.
    """
    t = function_type(f, mod)
    out, by = t.ret_type, _argument(t, argnum)
    if not _is_static(out) or not _is_static(by):
        fail(
            "jacobian-shape",
            f"a Jacobian is of a function from tensors to a tensor, all of static shape, not {t}",
            span=f.span,
            hint="use vjp or jvp for other functions",
        )
    assert isinstance(out, TensorType)
    assert isinstance(by, TensorType)
    params = parameters(f, t)
    back = TupleGetItem(Call(Grad("vjp", f), params), 1)
    shape, dtype = out.concrete_shape, str(out.dtype)
    units = [constant(u.reshape(shape), dtype) for u in np.eye(math.prod(shape), dtype=to_numpy(dtype))]
    rows = tuple([TupleGetItem(Call(back, (u,)), argnum) for u in units])
    whole = (*shape, *by.concrete_shape)
    if not rows:
        return Function(tuple(params), apply("zeros", shape=whole, dtype=by.dtype))
    return Function(
        params, apply("reshape", apply("stack", Tuple(rows), axis=0), newshape=whole, allowzero=True)
    )


def hessian(f: Expr, argnum: int = 0, mod: IRModule | None = None) -> Function:
    """The function from f's arguments to the second derivative of its scalar result by argument `argnum`.

    For `f: fn(…, Tensor[s, t], …) -> Tensor[(), t]` it is a tensor of shape `(*s, *s)`; `s` must be static.

    Raises `jacobian-shape`, and what `grad` raises.
    """
    t = function_type(f, mod)
    params = parameters(f, t)
    slope = TupleGetItem(TupleGetItem(Call(Grad("grad", f), params), 1), argnum)
    return jacobian(Function(tuple(params), slope), argnum, mod)


def _argument(t: FuncType, argnum: int) -> Type:
    if not 0 <= argnum < len(t.arg_types):
        raise ValueError(f"argnum is from 0 to {len(t.arg_types) - 1}, not {argnum}")
    return t.arg_types[argnum]


def _is_static(t: Type) -> bool:
    return (
        isinstance(t, TensorType) and isinstance(t.shape, tuple) and all(isinstance(d, int) for d in t.shape)
    )

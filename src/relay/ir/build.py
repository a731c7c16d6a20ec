"""The short ways to make nodes: `var`, `const`, `grad`, `vjp`, `jvp`."""

from collections.abc import Sequence
from typing import Any

from relay.diagnostic import Span, caller_span
from relay.ir.axes import Axes, expect_axes
from relay.ir.dtype import dtype_name
from relay.ir.expect import expect_expr
from relay.ir.expr import Constant, Expr, Grad, RelayExpr, Var, VMap, constant
from relay.ir.type import Dim, DType, IncompleteType, TensorType, Type, TypeVar


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Dim] | Type | None = None,
    dtype: DType = "float32",
    span: Span | None = None,
) -> Var:
    """A variable: of type `type_annotation` (a dtype's name is a scalar), or a tensor of `shape` and
    `dtype`, or for inference to type.
    """
    if not isinstance(dtype, TypeVar | IncompleteType):
        dtype_name(dtype)
    if shape is not None:
        if type_annotation is not None:
            raise ValueError("give a variable either type_annotation or shape, not both")
        type_annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    if not isinstance(name_hint, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the name of a variable is text, not {name_hint!r:.80}")
    return Var(name_hint, type_annotation, span=span)


def const(value: Any, dtype: Any = None, span: Span | None = None) -> Constant:
    """A constant from a number, a nested list or an array.

    Python ints become int32 (int64 where they do not fit) and floats float32; arrays keep their dtype.
    """
    if isinstance(value, RelayExpr):
        raise TypeError(f"{value!r} is an expression already")
    return constant(value, dtype, span=span)


def grad(function: Expr) -> Grad:
    """`grad(f)`: a function from f's arguments to its value and the gradient with respect to each."""
    return Grad("grad", expect_expr(function))


def vjp(function: Expr) -> Grad:
    """`vjp(f)`: a function from f's arguments to its value and the function that pulls cotangents back."""
    return Grad("vjp", expect_expr(function))


def vmap(function: Expr, in_axes: Axes = 0, out_axes: Axes = 0) -> VMap:
    """`vmap(f, in_axes, out_axes)`: a function of one example as one of many, whose rows lie along an axis.

    `in_axes` is an axis for every argument, or a tuple with one for each; None shares an argument among the
    rows.  `out_axes` says where the rows of the result lie.
    """
    span = caller_span()
    axes = expect_axes(in_axes, "in_axes", span), expect_axes(out_axes, "out_axes", span)
    return VMap(expect_expr(function), *axes)


def jvp(function: Expr) -> Grad:
    """`jvp(f)`: a function from f's arguments and their tangents to its value and its tangent."""
    return Grad("jvp", expect_expr(function))

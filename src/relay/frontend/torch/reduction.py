"""Reductions along axes."""

from collections.abc import Callable
from typing import Any

from relay.frontend.support import cast, p_norm
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_float, axes_of, axis_of, count_of
from relay.frontend.value import Value, call, constant


def reduced(name: str, x: Value, dims: Any = None, keep: bool = False) -> Value:
    """A reduction along the axes that `dims` names, or all."""
    if x.rank == 0:
        return call(name, call("expand_dims", x, axis=0), axis=(0,))
    return call(name, x, axis=axes_of(dims, x.rank), keepdims=bool(keep))


def _reduction(name: str) -> Callable[..., Value]:
    def convert(node: Node, x: Value, dims: Any = None, keep: bool = False) -> Value:
        return reduced(name, as_float(node, x), dims, keep)

    return convert


for _name in ("sum", "mean", "prod"):
    converts(f"aten.{_name}")(_reduction(_name))


@converts("aten.nansum")
def nansum(node: Node, x: Value, dims: Any = None, keep: bool = False) -> Value:
    """The sum of what is a number."""
    x = as_float(node, x)
    return reduced("sum", call("where", call("isnan", x), constant(0, x.dtype), x), dims, keep)


@converts("aten.amax", "aten.amin", "aten.max.default", "aten.min.default")
def amax(node: Node, x: Value, dims: Any = None, keep: bool = False) -> Value:
    """The greatest or the least."""
    return extreme("max" if "max" in node.operator else "min", x, dims, keep)


def extreme(name: str, x: Value, dims: Any, keep: bool) -> Value:
    """The greatest or the least; of truths whether any or all hold."""
    return reduced({"max": "any", "min": "all"}[name] if x.dtype == "bool" else name, x, dims, keep)


@converts("aten.max.dim", "aten.min.dim")
def max_along(node: Node, x: Value, dim: int, keep: bool = False) -> Any:
    """The greatest or the least along an axis, and where it is."""
    name = "max" if "max" in node.operator else "min"
    if x.rank == 0:
        return x, constant(0, "int64")
    whole = cast(x, "int32") if x.dtype == "bool" else x
    place = call(f"arg{name}", whole, axis=axis_of(dim, x.rank), keepdims=bool(keep))
    return extreme(name, x, dim, keep), cast(place, "int64")


@converts("aten.aminmax")
def aminmax(node: Node, x: Value) -> Any:
    """The least and the greatest."""
    dim, keep = node.option("dim"), bool(node.option("keepdim", False))
    return extreme("min", x, dim, keep), extreme("max", x, dim, keep)


@converts("aten.argmax", "aten.argmin")
def argmax(node: Node, x: Value, dim: int | None = None, keep: bool = False) -> Value:
    """Where the greatest or the least is; without an axis in the flattened tensor."""
    name = "argmax" if "argmax" in node.operator else "argmin"
    if x.rank == 0:
        return constant(0, "int64")
    if dim is None:
        found = call(name, call("reshape", x, newshape=(-1,)), axis=0)
        return call("reshape", found, newshape=(1,) * x.rank) if keep else found
    return call(name, x, axis=axis_of(dim, x.rank), keepdims=bool(keep))


@converts("aten.any", "aten.all")
def any_all(node: Node, x: Value, dims: Any = None, keep: bool = False) -> Value:
    """Whether any, or all, of the elements are not zero."""
    return reduced("any" if ".any" in node.operator else "all", cast(x, "bool"), dims, keep)


@converts("aten.count_nonzero")
def count_nonzero(node: Node, x: Value, dims: Any = None) -> Value:
    """How many elements are not zero."""
    return reduced("sum", cast(cast(x, "bool"), "int64"), dims)


def moments(x: Value, dims: Any, keep: bool, correction: float) -> tuple[Value, Value]:
    """The variance with a correction of the count, and the mean."""
    axes = axes_of(dims, x.rank)
    count = count_of(x, axes)
    mean = call("mean", x, axis=axes, keepdims=True)
    away = x - mean
    total = call("sum", away * away, axis=axes, keepdims=keep)
    if isinstance(count, Value):
        rest = call("maximum", cast(count, x.dtype) - float(correction), 0.0)
        variance = total / rest
    else:
        variance = total * (1 / max(count - correction, 0)) if count > correction else total / 0.0
    return variance, mean if keep else call("squeeze", mean, axis=axes)


@converts("aten.var", "aten.std", "aten.var_mean", "aten.std_mean")
def var(node: Node, x: Value, *rest: Any) -> Any:
    """The variance, or its root, and the mean."""
    kind = node.operator.rpartition(".")[2]
    if kind == "correction":
        dims, keep = (rest[0] if rest else None), bool(node.option("keepdim", False))
        correction = node.options.get("correction")
        correction = 1 if correction is None else correction
    elif kind == "dim":
        dims, correction, keep = rest[0], int(rest[1]), bool(rest[2])
    else:
        dims, correction, keep = None, int(rest[0]) if rest else 1, False
    found, mean = moments(x, dims, keep, correction)
    found = call("sqrt", found) if ".std" in node.operator else found
    return (found, mean) if "_mean" in node.operator else found


@converts("aten.logsumexp")
def logsumexp(node: Node, x: Value, dims: Any, keep: bool = False) -> Value:
    """`log(sum(exp(x)))`."""
    return reduced("logsumexp", as_float(node, x), dims, keep)


@converts("aten.linalg_vector_norm", "aten.norm")
def norm(node: Node, x: Value, order: Any = 2, dims: Any = None, keep: bool = False) -> Value:
    """`sum(|x| ** order) ** (1 / order)`."""
    x, order = as_float(node, x), 2 if order is None else order
    size = call("abs", x)
    match order:
        case 0:
            return reduced("sum", cast(call("not_equal", x, 0), x.dtype), dims, keep)
        case 1:
            return reduced("sum", size, dims, keep)
        case _ if order == float("inf"):
            return reduced("max", size, dims, keep)
        case _ if order == -float("inf"):
            return reduced("min", size, dims, keep)
        case _:
            return p_norm(x, order, lambda powers: reduced("sum", powers, dims, keep))


@converts("aten.cumsum", "aten.cumprod")
def cumsum(node: Node, x: Value, dim: int) -> Value:
    """The sum, or product, of each element and those before it."""
    x = cast(x, node.dtype)
    name = "cumsum" if "cumsum" in node.operator else "cumprod"
    return call(name, x, axis=axis_of(dim, x.rank)) if x.rank else x

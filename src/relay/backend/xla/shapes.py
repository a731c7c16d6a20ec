"""Shapes of tensors that are traced against types.

Sizes are numbers, or in programs that are exported symbols of JAX and what is computed of these.
"""

from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

from relay.interpreter.checks import shape_fits
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import ANY, Dim, DimCall, DimExpr, TensorType, Type, TypeVar
from relay.ir.walk import type_post_order
from relay.op.traced import UntraceableError


def shape_of(x: Any) -> tuple[Any, Any]:
    """The shape and dtype of an array."""
    return x.shape, x.dtype


def demand(t: Type | None, value: Any, sizes: dict[Any, Any]) -> None:
    """Check the shapes of tensors against a type; `sizes` gets parameters that are not known before."""
    for path, part in tensor_parts(t):
        x = value
        for i in path:
            x = x[i]
        fits = shape_fits if all(isinstance(d, int) for d in getattr(x, "shape", ())) else symbols_fit
        if not fits(part, x, sizes):
            raise UntraceableError("a shape is not what its type says")


def symbols_fit(part: TensorType, x: Any, sizes: dict[Any, Any]) -> bool:
    """Whether a tensor whose shape has symbols has the shape of a type, where the type can be computed."""
    if isinstance(part.shape, TypeVar):
        return sizes.setdefault(part.shape, x.shape) == x.shape
    if not isinstance(part.shape, tuple):
        return True
    if len(part.shape) != len(x.shape):
        return False
    for d, size in zip(part.shape, x.shape, strict=True):
        wanted = sizes.setdefault(d, size) if isinstance(d, TypeVar) else evaluated(d, sizes.get)
        if wanted is not None and wanted != size:
            return False
    return True


def evaluated(d: Dim, size_of: Callable[[TypeVar], Any]) -> Any:
    """A dimension where `size_of` gives sizes of parameters; None if one is not known, or an operation not
    computed.
    """
    if isinstance(d, int):
        return d
    found: dict[Any, Any] = {}
    for part in type_post_order(d):
        match part:
            case TypeVar():
                found[part] = size_of(part)
            case DimExpr(terms=terms, constant=constant):
                products = [[found[a] for a in monomial] for monomial, _ in terms]
                known = all(x is not None for product in products for x in product)
                sums = (
                    [c * reduce(mul, product) for product, (_, c) in zip(products, terms, strict=True)]
                    if known
                    else []
                )
                found[part] = sum(sums, constant) if known else None
            case DimCall(op="/", args=(a, b)):
                a, b = (found.get(x, x) for x in (a, b))
                found[part] = None if a is None or b is None else a // b
            case _:
                found[part] = None
    return None if d is ANY else found[d]

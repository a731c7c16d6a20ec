"""Operators for which XLA has something better than what their references are made of."""

from collections.abc import Callable
from functools import cache
from typing import Any

from relay.backend.xla.convolutions import convolved, of_weight, spread_out
from relay.backend.xla.pooling import averages, greatest, to_averaged, to_greatest
from relay.ir.dtype import dtype_name, is_float
from relay.op.conversion import accumulator, converted
from relay.op.error_function import Erf, Erfc, Ndtr
from relay.op.math import Sigmoid
from relay.op.nn.basic import Dilate
from relay.op.nn.conv import Conv
from relay.op.nn.conv_transpose import ConvTranspose
from relay.op.nn.conv_weight import ConvBackwardWeight
from relay.op.nn.linear_units import CUBE, Gelu, Silu
from relay.op.nn.pool import AvgPool, MaxPool
from relay.op.nn.pool_grad import AvgPoolGrad, MaxPoolGrad
from relay.op.numeric import narrow
from relay.op.pad import Pad

Form = Callable[..., Any]
"""The value of an operator: `form(np, op, *operands)`, on arrays of JAX with its array module."""


def form_of(op: Any, operands: Any) -> Form | None:
    """XLA's own form of an operator on arrays, if there is one."""
    form = form_of_class(op.__class__)
    if form is None or form in FORMS_OF_ANY.values() or all(is_float(dtype_name(x.dtype)) for x in operands):
        return form
    return None


@cache
def form_of_class(cls: type) -> Form | None:
    """The form of the operators of a class."""
    several = FORMS | FORMS_OF_ANY
    return next((form for of, form in several.items() if issubclass(cls, of)), None)


def elementwise(function: Callable[[Any, Any, Any], Any]) -> Form:
    """The form of an operator on each element, `function(jax, op, x)` of float32 or wider."""

    def form(np: Any, op: Any, data: Any) -> Any:
        return narrow(function(np.jax, op, accumulator(data)), data.dtype)

    return form


def normal(jax: Any, x: Any) -> Any:
    """The probability that a normally distributed number is below `x`."""
    return jax.lax.erfc(x * -(0.5**0.5)) * 0.5


def share_of(jax: Any, x: Any, share: Any) -> Any:
    """Return `x * share`, a zero of the sign of `x` where the share is 0, of infinity too."""
    return jax.numpy.where(share == 0, jax.numpy.copysign(share, x), x * share)


def gelu(jax: Any, op: Gelu, x: Any) -> Any:
    """Compute `nn.gelu`."""
    if op.approximate == "tanh":
        inner = (8 / jax.numpy.pi) ** 0.5 * (x + CUBE * x * x * x)
        return share_of(jax, x, jax.lax.logistic(inner))
    return share_of(jax, x, normal(jax, x))


def silu(jax: Any, op: Silu, x: Any) -> Any:
    """Compute `nn.silu`."""
    return share_of(jax, x, jax.lax.logistic(x * op.alpha)) if op.alpha else x / 2


def padded(np: Any, op: Pad, data: Any, pad_value: Any = None) -> Any:
    """`nn.pad`."""
    if op.pad_mode != "constant":
        return op.reference(np, data)
    value = converted(
        np, np.zeros((), data.dtype) if pad_value is None else pad_value, dtype_name(data.dtype)
    )
    return np.jax.lax.pad(data, value, [(before, after, 0) for before, after in op.pad_width])


def dilated(np: Any, op: Dilate, data: Any) -> Any:
    """`nn.dilate`."""
    value = np.asarray(op.dilation_value).astype(data.dtype)
    return np.jax.lax.pad(data, value, [(0, 0, s - 1) for s in op.strides])


FORMS: dict[type, Form] = {
    Conv: convolved,
    ConvTranspose: spread_out,
    ConvBackwardWeight: of_weight,
    MaxPool: greatest,
    MaxPoolGrad: to_greatest,
    AvgPool: averages,
    AvgPoolGrad: to_averaged,
    Sigmoid: elementwise(lambda jax, op, x: jax.lax.logistic(x)),
    Silu: elementwise(silu),
    Erf: elementwise(lambda jax, op, x: jax.lax.erf(x)),
    Erfc: elementwise(lambda jax, op, x: jax.lax.erfc(x)),
    Ndtr: elementwise(lambda jax, op, x: normal(jax, x)),
    Gelu: elementwise(gelu),
}
"""The forms of operators on floats."""
FORMS_OF_ANY: dict[type, Form] = {Pad: padded, Dilate: dilated}
"""The forms of operators on anything."""

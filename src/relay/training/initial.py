"""First values of weights, by random key.

Each function takes the key, or a seed, and the shape.  For a key that is an array the result is an array, for
one that is an expression or a traced value an expression.
"""

from collections.abc import Callable, Sequence
from math import erf, prod, sqrt
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.driver.executor import create_executor
from relay.ir.expr import Function, RelayExpr, constant
from relay.ir.traced import Traced
from relay.op.numeric import apply
from relay.op.random_keys import random_key
from relay.op.threefry import split_key
from relay.tracing.scans import scan

Key = Any


def split(key: Key, count: int) -> Any:
    """Return a stack of `count` keys, `(count, 10)`, whose numbers have nothing to do with one another."""

    def one(rest: Any, _: None) -> tuple[Any, Any]:
        pair = apply("random.threefry_split", rest)
        return pair[1], pair[0]

    if isinstance(key, RelayExpr | Traced):
        return scan(one, apply("random.threefry_key", key), length=count)[1]
    rest = _key_words(key)
    keys = np.empty((count, len(rest)), "uint64")
    for i in range(count):
        keys[i], rest = split_key(np, rest)
    return keys


def uniform(key: Key, shape: Sequence[int], low: float, high: float, dtype: str = "float32") -> Any:
    """Values evenly between two limits."""
    return _drawn(key, lambda k: apply("random.uniform", k, tuple(shape), dtype, low, high)[1])


def normal(
    key: Key, shape: Sequence[int], mean: float = 0.0, scale: float = 1.0, dtype: str = "float32"
) -> Any:
    """Normal values with a mean and a standard deviation."""
    return _drawn(key, lambda k: apply("random.normal", k, tuple(shape), dtype, mean, scale)[1])


def truncated_normal(
    key: Key,
    shape: Sequence[int],
    mean: float = 0.0,
    scale: float = 1.0,
    dtype: str = "float32",
    *,
    limit: float = 2.0,
) -> Any:
    """Values of a normal distribution from which those further from the mean than `limit` times `scale` are
    cut off.

    Computed as the inverse of the error function of even values, in float32, to 6 digits.
    """
    if not limit > 0:
        fail("attribute-value", f"a normal distribution cannot be cut off at {limit} standard deviations")

    def made(k: Any) -> Any:
        share = erf(limit / sqrt(2))
        even = apply("random.uniform", k, tuple(shape), "float32", -share, share)[1]
        found = apply("clip", _inverse_erf(even) * sqrt(2), a_min=-limit, a_max=limit) * scale + mean
        return apply("cast", found, dtype=dtype)

    return _drawn(key, made)


def xavier_uniform(key: Key, shape: Sequence[int], gain: float = 1.0, dtype: str = "float32") -> Any:
    """Even values for a layer `(out, in, ...)` that keep the size of signals in both directions.

    Source: Glorot and Bengio, 2010.
    """
    bound = gain * sqrt(6 / sum(_fans(shape)))
    return uniform(key, shape, -bound, bound, dtype)


def xavier_normal(key: Key, shape: Sequence[int], gain: float = 1.0, dtype: str = "float32") -> Any:
    """Normal values for a layer `(out, in, ...)` that keep the size of signals in both directions.

    Source: Glorot and Bengio, 2010.
    """
    return normal(key, shape, 0.0, gain * sqrt(2 / sum(_fans(shape))), dtype)


def kaiming_uniform(
    key: Key, shape: Sequence[int], gain: float = sqrt(2), dtype: str = "float32", *, backward: bool = False
) -> Any:
    """Even values for a layer `(out, in, ...)` before `nn.relu` that keep the size of signals forwards, or of
    gradients if `backward`.

    Source: He, Zhang, Ren and Sun, 2015.
    """
    bound = gain * sqrt(3 / _fans(shape)[backward])
    return uniform(key, shape, -bound, bound, dtype)


def kaiming_normal(
    key: Key, shape: Sequence[int], gain: float = sqrt(2), dtype: str = "float32", *, backward: bool = False
) -> Any:
    """Normal values for a layer `(out, in, ...)` before `nn.relu` that keep the size of signals forwards, or
    of gradients if `backward`.

    Source: He, Zhang, Ren and Sun, 2015.
    """
    return normal(key, shape, 0.0, gain / sqrt(_fans(shape)[backward]), dtype)


def orthogonal(key: Key, shape: Sequence[int], gain: float = 1.0, dtype: str = "float32") -> Any:
    """A layer `(out, in, ...)` that as a matrix `(out, the rest)` has orthogonal rows of the length `gain`,
    or orthogonal columns where it has more rows.

    Any such matrix is as likely as another.  Source: Saxe, McClelland and Ganguli, 2014.
    """
    _fans(shape)
    rows, columns = shape[0], prod(shape[1:])
    least = min(rows, columns)
    wide = "float64" if dtype == "float64" else "float32"

    def made(k: Any) -> Any:
        drawn = apply("random.normal", k, (max(rows, columns), least), wide, 0.0, 1.0)[1]
        q, r = (apply("linalg.qr", drawn)[i] for i in range(2))
        diagonal = apply("sum", r * np.eye(least, dtype=wide), axis=0)
        q = q * apply("where", diagonal < constant(0, wide), constant(-gain, wide), constant(gain, wide))
        q = q if rows >= columns else apply("transpose", q)
        return apply("cast", apply("reshape", q, newshape=tuple(shape)), dtype=dtype)

    return _drawn(key, made)


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many numbers each result of a layer comes from, and how many each of its inputs goes to."""
    if len(shape) < 2 or 0 in shape:
        fail(
            "attribute-value",
            f"a weight of the shape {tuple(shape)} has no numbers of inputs and outputs",
            hint="its first axis is the outputs, its second the inputs; use `normal` or `uniform` for others",
        )
    window = prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _drawn(key: Key, make: Callable[[Any], Any]) -> Any:
    if isinstance(key, RelayExpr | Traced):
        return make(apply("random.threefry_key", key))
    return create_executor("debug").evaluate(Function((), make(constant(_key_words(key)))))()


def _key_words(key: Any) -> np.ndarray[Any, Any]:
    return random_key(int(key)) if np.ndim(key) == 0 else np.asarray(key, "uint64")


CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


def _inverse_erf(x: Any) -> Any:
    """The number whose error function is `x` of float32, by two polynomials.  Source: Giles, 2010."""
    w = apply("negative", apply("log", (x * -1.0 + 1.0) * (x + 1.0)))
    is_central = apply("less", w, constant(5.0, "float32"))
    centre, tail = w - 2.5, apply("sqrt", w) - 3.0
    found = [constant(p[0], "float32") for p in (CENTRE, TAIL)]
    for a, b in zip(CENTRE[1:], TAIL[1:], strict=True):
        found = [found[0] * centre + a, found[1] * tail + b]
    return apply("where", is_central, *found) * x

"""The distance of results from right numbers, in units in the last place of the results' dtype."""

from typing import Any

import ml_dtypes
import numpy as np
from mpmath import mp

Long = np.longdouble


def to_long(right: Any) -> Any:
    """Round numbers of mpmath, or others, to long doubles; None, which is not compared, becomes NaN."""
    array = np.asarray(right)
    if array.dtype != object:
        return array.astype(Long)
    return np.asarray([_long(x) for x in array.ravel()], Long).reshape(array.shape)


def claims(right: Any) -> Any:
    """Return a mask of the entries that are not None."""
    array = np.asarray(right)
    if array.dtype != object:
        return np.ones(array.shape, bool)
    return np.asarray([x is not None for x in array.ravel()], bool).reshape(array.shape)


def _long(x: Any) -> Any:
    """Round one number: two floats hold more bits than a long double, whose exponent goes further."""
    if x is None:
        return Long(np.nan)
    if isinstance(x, mp.mpc):
        x = x.real if x.imag == 0 else mp.nan
    x = mp.mpf(x)
    if x == 0 or not mp.isfinite(x):
        return Long(float(x))
    share, exponent = mp.frexp(x)
    high = float(share)
    low = float(share - high)
    return np.ldexp(Long(high) + Long(low), int(min(max(exponent, -16000), 16000)))


def unit(size: Any, dtype: Any) -> Any:
    """Return the distance of neighbours of a dtype at some sizes."""
    info = ml_dtypes.finfo(dtype)
    _, exponent = np.frexp(np.minimum(size, Long(info.max)))
    least = np.ldexp(Long(1), int(info.minexp) - int(info.nmant))
    return np.maximum(np.ldexp(Long(1), exponent - 1 - int(info.nmant)), least)


def distances(value: Any, right: Any, scale: Any = None) -> Any:
    """Return how many units each number of a result is away; infinite where one is NaN and the other not.

    Infinity is the number behind the greatest one, so that a result may round to it.
    """
    info = ml_dtypes.finfo(value.dtype)
    beyond = np.ldexp(Long(1), int(info.maxexp))
    wanted, actual = to_long(right), value.astype(Long)
    with np.errstate(all="ignore"):
        wanted, actual = (np.clip(x, -beyond, beyond) for x in (wanted, actual))
        size = np.abs(wanted) if scale is None else np.fmax(np.abs(wanted), np.abs(to_long(scale)))
        away = np.abs(actual - wanted) / unit(size, value.dtype)
    lost = np.isnan(actual) != np.isnan(wanted)
    away = np.where(lost, np.inf, np.where(np.isnan(wanted), 0, away))
    return np.where(claims(right), away, 0)


def is_apart(value: Any, right: Any, ulps: float, scale: Any = None) -> Any:
    """Return a mask of the elements of a result that are further away than `ulps`; integers must be equal."""
    value = np.asarray(value)
    if value.dtype.kind in "biuSUO" or not _is_floating(value.dtype):
        return np.asarray(value != np.asarray(right)) & claims(right)
    return distances(value, right, scale) > ulps


def _is_floating(dtype: Any) -> bool:
    try:
        ml_dtypes.finfo(dtype)
    except ValueError:
        return False
    return True

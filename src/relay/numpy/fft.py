"""The extension `fft` of the standard, as far as it is of real numbers.

Its transforms give complex arrays, which Relay does not have.
"""

from typing import Any

from relay.numpy import dtypes
from relay.numpy.array import check_device
from relay.numpy.call import AnyArray, array, axes_of, cast
from relay.numpy.creation import arange
from relay.numpy.elementwise import divide
from relay.numpy.manipulation import concat, roll


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> AnyArray:
    """The frequencies that the elements of a transform of `n` samples, `d` apart, belong to."""
    check_device(device)
    upper = arange((n + 1) // 2, dtype=dtypes.float64)
    return _spaced(concat([upper, arange(-(n // 2), 0, dtype=dtypes.float64)]), n * d, dtype)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> AnyArray:
    """The frequencies that the elements of a transform of `n` real samples, `d` apart, belong to."""
    check_device(device)
    return _spaced(arange(n // 2 + 1, dtype=dtypes.float64), n * d, dtype)


def _spaced(places: AnyArray, length: float, dtype: Any) -> AnyArray:
    wanted = dtypes.DEFAULT_FLOAT if dtype is None else dtypes.checked_dtype(dtype)
    return cast(divide(places, length), wanted)


def fftshift(x: Any, /, *, axes: Any = None) -> AnyArray:
    """The elements moved so that the frequency 0 stands in the middle."""
    return _shifted(x, axes, 1)


def ifftshift(x: Any, /, *, axes: Any = None) -> AnyArray:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, sign: int) -> AnyArray:
    given = array(x)
    along = axes_of(axes, given.ndim)
    half = tuple([sign * (given.shape[a] // 2) for a in along])
    return roll(given, half, axis=along) if along else given

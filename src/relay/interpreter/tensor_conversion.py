"""Tensors from Python: numbers, lists, and arrays of any library, as a tensor type wants them."""

from typing import Any, cast

import numpy as np

from relay.interpreter.array_kinds import bits_of
from relay.interpreter.value import ConstructorValue, FunctionValue, Value, is_sequence, is_tensor
from relay.ir.dtype import dtype_name, integer_range, is_float, is_integer, rounded, to_numpy
from relay.ir.expr import Constant
from relay.ir.subst import substitute_type
from relay.ir.type import TensorType, Type, TypeVar

Array = np.ndarray[Any, Any]


class MisfitError(Exception):
    """A Python value that does not become a value of the wanted type."""

    def __init__(self, message: str, found: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.found = found
        self.hint = hint


def convert_tensor(x: Any, t: TensorType | None, env: dict[Any, Any]) -> Value:
    """A number, a list, or an array of any library as a tensor of type `t`.

    The type's parameters are bound in `env`; `MisfitError` if it is not such a tensor.
    """
    same = None if t is None else as_it_is(x, t)
    if same is not None:
        return same
    array, exact = (np.asarray(x), True) if is_tensor(x) else as_array(x)
    array, found = with_dtype(array, x)
    dtype = found if exact else default_name(array, found)
    if t is not None:
        dtype = env.setdefault(t.dtype, dtype) if isinstance(t.dtype, Type) else t.dtype
    if dtype != found:
        if exact or not loosely(array, found, dtype):
            raise _wrong_dtype(array, found, dtype, exact)
        array = rounded(array, to_numpy(dtype))
    if t is not None:
        check_shape(array.shape, t, env)
    return array if array.ndim else array[()]


NUMBERS: dict[tuple[Any, Any], Any] = {
    **{(to_numpy(d).type, d): None for d in ("float32", "float64", "bool", "int32", "int64")},
    (float, "float32"): np.float32,
    (float, "float64"): np.float64,
    (bool, "bool"): np.bool_,
    (int, "int32"): np.int32,
    (int, "int64"): np.int64,
}
"""What makes a scalar of a number, by its class and the dtype; None where it is one already."""


def as_it_is(x: Any, t: TensorType) -> Value | None:
    """What needs no closer look: an array of just the type, a number of its kind."""
    kind = cast("type[Any]", type(x))
    if kind is np.ndarray:
        if x.ndim == 0 or x.shape != t.shape or not isinstance(t.dtype, str) or x.dtype.kind == "O":
            return None
        return x if x.dtype == to_numpy(t.dtype) else None
    if t.shape != () or (kind, t.dtype) not in NUMBERS:
        return None
    if kind is int and not -(2**31) <= x < 2**31:
        return None
    make = NUMBERS[kind, t.dtype]
    return x if make is None else make(x)


def with_dtype(array: Array, x: Any) -> tuple[Array, str]:
    """The array as the language stores it (native byte order, strings as objects), and its dtype."""
    if array.dtype.kind == "U":
        return array.astype(object), "string"
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        found = dtype_name(array.dtype)
    except ValueError:
        found = ""
    if (
        not found
        or array.dtype.kind == "S"
        or (found == "string" and not all(isinstance(s, str) for s in array.flat))
    ):
        raise MisfitError("a tensor is wanted", describe(x), f"{array.dtype} is not a dtype")
    return array, found


def _wrong_dtype(array: Array, found: str, wanted: str, exact: bool) -> MisfitError:
    what = f"a tensor of {found}" if array.ndim else f"a scalar of {found}"
    if exact:
        hint = "" if found == "string" else f'convert it first: x.astype("{wanted}")'
        return MisfitError(f"its dtype is {found}, not {wanted}", what, hint)
    if wanted == "bool":
        return MisfitError(f"its dtype is {found}, not bool", what, "give True or False: no number is one")
    if is_integer(wanted) and is_integer(found):
        low, high = integer_range(wanted)
        numbers = f"{array.min()} to {array.max()}" if array.ndim else f"{array}"
        return MisfitError(f"{wanted} goes from {low} to {high}", numbers, "make the parameter wider")
    kind = "fractions" if is_float(found) else "these numbers"
    return MisfitError(f"{wanted} has no {kind}", what, "round them first, or make the parameter a float")


def as_array(x: Any) -> tuple[Array, bool]:
    """What a Python object that is not from NumPy holds, and whether its dtype is meant exactly."""
    if isinstance(x, bool | int | float):
        if type(x) is int and not -(2**63) <= x < 2**64:
            raise MisfitError("it does not fit in 64 bits", f"the number {x}")
        return np.asarray(x), isinstance(x, bool)
    if isinstance(x, str):
        return np.asarray(x, object), True
    if isinstance(x, Constant):
        return np.asarray(x.value), x.type is not None
    if isinstance(x, list | tuple):
        return _from_rows(x)
    if (bits := bits_of(x)) is not None:
        return bits, True
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x), True
        except (BufferError, RuntimeError, TypeError):
            pass
    if hasattr(x, "__array__"):
        try:
            return np.asarray(x), True
        except (RuntimeError, TypeError, ValueError) as error:
            raise MisfitError("it gives no array", describe(x), str(error)) from None
    raise MisfitError("a tensor is wanted", describe(x), "numbers, lists and arrays are tensors")


def _from_rows(x: Any) -> tuple[Array, bool]:
    try:
        array: Array | None = np.asarray(x)
    except (ValueError, TypeError):
        array = None
    if array is None or array.dtype == object:
        raise MisfitError(
            "its rows have different lengths, or not all of it is numbers of 64 bits",
            describe(x),
            "numbers, lists and arrays are tensors",
        )
    return array, array.dtype.kind in "bU"


def default_name(array: Array, found: str) -> str:
    """The dtype of Python numbers that nothing decides."""
    if is_float(found):
        return "float32"
    if is_integer(found):
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        return "int32" if fits else "int64"
    return found


def loosely(array: Array, found: str, wanted: str) -> bool:
    """Whether Python numbers may become `wanted`: as literals do, integers within range, or floats."""
    if array.size == 0:
        return True
    if is_float(wanted):
        return is_float(found) or is_integer(found)
    if is_integer(wanted) and is_integer(found):
        low, high = integer_range(wanted)
        return bool(array.min() >= low and array.max() <= high)
    return False


def check_shape(shape: tuple[int, ...], t: TensorType, env: dict[Any, Any]) -> None:
    """Compare a shape with that of a type; its parameters are bound on the way."""
    wanted = env.get(t.shape, t.shape)
    if isinstance(wanted, Type):
        if isinstance(wanted, TypeVar):
            env[wanted] = shape
        return
    if len(wanted) != len(shape):
        raise MisfitError(f"its rank is {len(shape)}, not {len(wanted)}", _shape(shape))
    for axis, (d, size) in enumerate(zip(wanted, shape, strict=True)):
        if isinstance(d, TypeVar):
            known = env.setdefault(d, size)
            if known != size:
                raise MisfitError(
                    f"its axis {axis} has size {size}, but `{d.name}` is {known}", _shape(shape)
                )
        else:
            expected = substitute_type(d, env)
            if isinstance(expected, int) and expected != size:
                raise MisfitError(f"its axis {axis} has size {size}, not {expected}", _shape(shape))


def _shape(shape: tuple[int, ...]) -> str:
    return f"the shape ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def describe(x: Any) -> str:
    """A Python value in a few words."""
    if is_tensor(x):
        return f"an array of {x.dtype} with {_shape(x.shape)}" if x.ndim else f"a scalar of {x.dtype}"
    if is_sequence(x):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, ConstructorValue):
        return f"an instance of {x.constructor.belong_to.name}"
    if isinstance(x, FunctionValue):
        return "a function"
    return "nothing (None)" if x is None else f"a Python {type(x).__name__}"

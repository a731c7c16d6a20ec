"""The arrays of `relay.numpy`: of known elements, and of those that a trace records."""

import builtins
import operator
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from relay.interpreter.value import is_array, is_sequence
from relay.ir.symbol import Dimension
from relay.op.registry import clear_arguments
from relay.tracing.places import Places
from relay.tracing.pytree import Box, Boxed
from relay.tracing.value import TracedValue

CPU = "cpu"
"""The one device there is."""
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the standard, the newest last, which the namespace follows."""

functions: dict[str, Callable[..., Any]] = {}
"""What operators and methods stand for, by name; functions need arrays, so the package enters them here."""


def check_device(device: Any) -> None:
    """Refuse any device but the one there is (`ValueError`)."""
    if device is not None and device != CPU:
        raise ValueError(f"relay.numpy has the device {CPU!r}, not {device!r}")


def frozen(x: Any) -> Any:
    """An array of NumPy's that nobody writes, of native byte order, a scalar at rank 0."""
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if not is_array(x) or not x.ndim:
        return x[()]
    view: Any = x.view(np.ndarray)
    view.flags.writeable = False
    return view


def binary(name: str, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """An operator of Python that stands for a function; `swapped` where the other operand stands first."""

    def method(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        f = functions[name]
        return f(other, self) if swapped else f(self, other)

    return method


def _is_operand(x: Any) -> bool:
    return isinstance(x, Boxed | TracedValue | int | float | complex | np.ndarray | np.generic | Dimension)


def by_kind(on_bools: str, on_integers: str) -> tuple[Callable[[Any, Any], Any], ...]:
    """`&` and its like, both ways: the standard has one function for truth values and for bits."""
    return binary(on_bools or on_integers), binary(on_integers, swapped=True)


def reduction(name: str) -> Callable[..., Any]:
    """A method that reduces axes with a function."""

    def method(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return functions[name](self, axis=axis, keepdims=keepdims)

    return _method(name, method)


def spread(name: str) -> Callable[..., Any]:
    """A method that reduces axes with a function that has a correction of the number of elements."""

    def method(self: Any, axis: Any = None, keepdims: bool = False, correction: float = 0.0) -> Any:
        return functions[name](self, axis=axis, keepdims=keepdims, correction=correction)

    return _method(name, method)


def _method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    method.__name__ = name
    method.__doc__ = f"`relay.numpy.{name}` along `axis`."
    return clear_arguments(method, f"x.{name}")


class ArrayMethods:
    """The operators, attributes and methods of the standard, by the functions of `relay.numpy`."""

    __slots__ = ()
    __array_priority__ = 1000  # NumPy's arrays leave `a + x` to these
    shape: Any
    dtype: Any
    ndim: Any

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """`relay.numpy` (`ValueError` for a version of the standard that it does not follow)."""
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(f"relay.numpy follows the versions {', '.join(VERSIONS)}, not {api_version!r}")
        return import_module("relay.numpy")

    @property
    def device(self) -> str:
        """Where it is: the one device, `"cpu"`."""
        return CPU

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Itself, on the one device there is (`ValueError` for another)."""
        check_device(device)
        if stream is not None:
            raise ValueError(f"{CPU!r} has no streams")
        return self

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """The transpose of a matrix (`ValueError` for any other rank)."""
        if self.ndim != 2:
            raise ValueError(f"x.T is of matrices, not of rank {self.ndim}; x.mT is of stacks of them")
        return functions["matrix_transpose"](self)

    @property
    def mT(self) -> Any:  # noqa: N802 - the standard's name
        """The transposes of a stack of matrices."""
        return functions["matrix_transpose"](self)

    def __getitem__(self, where: Any) -> Any:
        return functions["index"](self, where)

    @property
    def at(self) -> "Places":
        """`x.at[i].set(v)` is a copy of `x` with `v` at `x[i]`; `.add(v)` adds to what is there."""
        return Places(self, functions["changed"])

    def __bool__(self) -> bool:
        return builtins.bool(self._python_number("bool"))

    def __int__(self) -> int:
        return int(self._python_number("int"))

    def __float__(self) -> float:
        return float(self._python_number("float"))

    def __complex__(self) -> complex:
        return complex(self._python_number("complex"))

    def __index__(self) -> int:
        return operator.index(self._python_number("index"))

    def _python_number(self, kind: str) -> Any:
        """The number of an array of rank 0, which Python asks for."""
        raise AssertionError("each kind of array has its own")

    # --- methods that people know, by `functions`

    sum, prod = reduction("sum"), reduction("prod")
    mean, std, var = reduction("mean"), spread("std"), spread("var")
    max, min = reduction("max"), reduction("min")
    all, any = reduction("all"), reduction("any")
    argmax, argmin = reduction("argmax"), reduction("argmin")

    def astype(self, dtype: Any) -> Any:
        """The values in another dtype."""
        return functions["astype"](self, dtype)

    def reshape(self, *shape: Any) -> Any:
        """The elements in another shape, given as a tuple or size by size; -1 is what is left."""
        return functions["reshape"](self, shape[0] if len(shape) == 1 and is_sequence(shape[0]) else shape)

    def flatten(self) -> Any:
        """The elements on one axis."""
        return self.reshape(-1)

    ravel = flatten

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, given as a tuple or one by one; without one, in reverse."""
        order = axes[0] if len(axes) == 1 and is_sequence(axes[0]) else axes
        return functions["permute_dims"](self, order or tuple(reversed(range(self.ndim))))

    def squeeze(self, axis: Any = None) -> Any:
        """Without these axes, or all, of size 1."""
        ones = tuple([i for i, d in enumerate(self.shape) if d == 1])
        return functions["squeeze"](self, ones if axis is None else axis)

    # --- operators

    __add__, __radd__ = binary("add"), binary("add", swapped=True)
    __sub__, __rsub__ = binary("subtract"), binary("subtract", swapped=True)
    __mul__, __rmul__ = binary("multiply"), binary("multiply", swapped=True)
    __truediv__, __rtruediv__ = binary("divide"), binary("divide", swapped=True)
    __floordiv__, __rfloordiv__ = binary("floor_divide"), binary("floor_divide", swapped=True)
    __mod__, __rmod__ = binary("remainder"), binary("remainder", swapped=True)
    __pow__, __rpow__ = binary("pow"), binary("pow", swapped=True)
    __matmul__, __rmatmul__ = binary("matmul"), binary("matmul", swapped=True)
    __lshift__, __rlshift__ = binary("bitwise_left_shift"), binary("bitwise_left_shift", swapped=True)
    __rshift__, __rrshift__ = binary("bitwise_right_shift"), binary("bitwise_right_shift", swapped=True)
    __and__, __rand__ = binary("bitwise_and"), binary("bitwise_and", swapped=True)
    __or__, __ror__ = binary("bitwise_or"), binary("bitwise_or", swapped=True)
    __xor__, __rxor__ = binary("bitwise_xor"), binary("bitwise_xor", swapped=True)
    __lt__, __le__ = binary("less"), binary("less_equal")
    __gt__, __ge__ = binary("greater"), binary("greater_equal")
    __eq__, __ne__ = binary("equal"), binary("not_equal")  # pyright: ignore[reportAssignmentType]
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> Any:
        return functions["negative"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return functions["abs"](self)

    def __invert__(self) -> Any:
        return functions["bitwise_invert"](self)


class Array(ArrayMethods, Boxed):
    """An array of known elements: what `relay.numpy` computes with outside of traces.

    Its operators promote dtypes as the standard says.  `x[i] = v` gives it new elements, which no other array
    sees, at the cost of a copy; `x.at[i].set(v)`, which traced arrays have too, is another array.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        """`value` is a tensor as the interpreter has it: an array of NumPy's, a scalar at rank 0."""
        self.value = value

    shape = property(lambda self: self.value.shape, doc="The sizes of its axes.")
    dtype = property(lambda self: self.value.dtype, doc="Its dtype, as NumPy's.")
    ndim = property(lambda self: self.value.ndim, doc="The number of its axes.")
    size = property(lambda self: self.value.size, doc="The number of its elements.")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of rank 0 has no len()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __setitem__(self, where: Any, value: Any) -> None:
        self.value = self.at[where].set(value).value

    def tolist(self) -> Any:
        """The elements as Python's numbers, in lists."""
        return self.value.tolist()

    def item(self) -> Any:
        """The one element as a number of Python's."""
        return self.value.item()

    def _python_number(self, kind: str) -> Any:
        if self.ndim:
            raise TypeError(f"only an array of rank 0 is a number of Python's, and this has rank {self.ndim}")
        if kind == "index" and self.dtype.kind not in "iu":
            raise TypeError(f"an index is an integer, not {self.dtype}")
        return self.value.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Its elements for NumPy, which may not write them."""
        array = np.asarray(frozen(self.value))
        if dtype is not None and dtype != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule of its elements, with the options that NumPy's arrays take.

        They are copied for a library that does not know of elements that are not to be written.
        """
        try:
            return np.asarray(self).__dlpack__(**options)
        except BufferError:
            if options.get("copy") is False:
                raise
            return np.array(self.value).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        """The kind and number of its device, as DLPack has them."""
        return np.asarray(self.value).__dlpack_device__()

    def __format__(self, spec: str) -> str:
        return format(str(self) if self.ndim else self.value.item(), spec)

    def __repr__(self) -> str:
        return (
            f"Array({np.array2string(np.asarray(self.value), separator=', ', prefix='Array(')}, {self.dtype})"
        )

    def __str__(self) -> str:
        return str(self.value)

    def __reduce__(self) -> Any:
        return Array, (self.value,)


class TracedArray(ArrayMethods, TracedValue):  # pyright: ignore[reportIncompatibleMethodOverride]
    """An array of `relay.numpy` in a trace: a traced value with the operators of `Array`."""

    __slots__ = ()

    def _python_number(self, kind: str) -> NoReturn:
        TracedValue.__bool__(self) if kind == "bool" else TracedValue.__int__(self)
        raise AssertionError


BOX = Box(Array, TracedArray)
Array.box = TracedArray.box = BOX

"""What a Python function that is traced is called with: values with the operators and methods of arrays."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from relay.diagnostic import RelayError, caller_span, did_you_mean, fail
from relay.interpreter.value import is_sequence
from relay.ir.dtype import dtype_name, floating_dtype, summed_dtype, to_numpy
from relay.ir.expr import Call, Expr, TupleGetItem, as_expr
from relay.ir.traced import Traced
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.namespace import ELSEWHERE
from relay.op.registry import builders, clear_arguments, registry
from relay.tracing.diagnostics import BRANCH_HINT, refuse
from relay.tracing.indexing import apply, index, is_integer
from relay.tracing.places import Places, changed
from relay.tracing.pytree import Box
from relay.tracing.shapes import sizes
from relay.tracing.types import TypesOfTrace, current

Axis = int | tuple[int, ...] | None


@cache
def ufuncs() -> dict[Any, str]:
    """The operators by the functions of NumPy that compute them."""
    found: dict[Any, str] = {np.matmul: "nn.matmul"}
    for name, cls in registry.items():
        if cls.ufunc:
            found.setdefault(getattr(np, cls.ufunc), name)
    return found


def operator(name: str, *, swapped: bool = False) -> Callable[["TracedValue", Any], Any]:
    """An operator of Python that stands for one of Relay; `swapped` where the other operand stands first."""

    def method(self: "TracedValue", other: Any) -> Any:
        return apply(name, other, self) if swapped else apply(name, self, other)

    return method


def division(*, swapped: bool = False) -> Callable[["TracedValue", Any], Any]:
    """`/`, which Python does not mean to truncate; `swapped` where the other operand stands first."""
    divide = operator("divide", swapped=swapped)

    def method(self: "TracedValue", other: Any) -> Any:
        dtype = known_dtype(self)
        if dtype is not None and dtype.kind in "iub":
            hint = "x.astype('float32') / y divides floats; x // y rounds down, relay.divide(x, y) to 0"
            fail("dtype-not-supported", f"`/` of {dtype} would not be exact", caller_span(), hint=hint)
        return divide(self, other)

    return method


def known_dtype(x: "TracedValue") -> np.dtype[Any] | None:
    """The dtype of a value; None where it is not known while tracing."""
    try:
        return x.dtype
    except RelayError as error:
        if not set(error.codes) <= {"traced-type", "ambiguous-type"}:
            raise
        return None


def logical(on_bools: str, on_integers: str) -> tuple[Callable[["TracedValue", Any], Any], ...]:
    """`&` and its like, both ways: of truth values, or of the bits of integers."""

    def name(self: "TracedValue") -> str:
        return on_bools if self.dtype == np.bool_ else on_integers

    return (
        lambda self, other: apply(name(self), self, other),
        lambda self, other: apply(name(self), other, self),
    )


def as_given(dtype: str) -> str:
    """Return the dtype itself, in which a reduction is computed."""
    return dtype


def reduction(name: str, computing: Callable[[str], str] = as_given) -> Callable[..., Any]:
    """Return a method that reduces axes with an operator, in the dtype that `computing` gives for the
    value's.
    """

    def method(self: "TracedValue", axis: Axis = None, keepdims: bool = False) -> Any:
        return apply(name, _cast(self, computing), axis=axis, keepdims=keepdims)

    return _method(name, method)


def spread(name: str) -> Callable[..., Any]:
    """Return a method that reduces axes with `variance` or `std`."""

    def method(self: "TracedValue", axis: Axis = None, keepdims: bool = False, unbiased: bool = False) -> Any:
        return apply(name, _cast(self, floating_dtype), axis=axis, keepdims=keepdims, unbiased=unbiased)

    return _method(name, method)


def _cast(x: "TracedValue", computing: Callable[[str], str]) -> "TracedValue":
    known = known_dtype(x)
    dtype = "" if known is None else dtype_name(known)
    wanted = computing(dtype) if dtype else dtype
    return x if wanted == dtype else apply("cast", x, dtype=wanted)


def _method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    method.__name__ = name
    method.__doc__ = f"`relay.{name}` along `axis`: one, several, or all."
    return clear_arguments(method, "x.var" if name == "variance" else f"x.{name}")


def clears(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what makes misuse of a method's arguments a diagnostic."""
    return lambda method: clear_arguments(method, name)


class TracedValue(Traced):
    """A value of a function that is being traced: a tensor, or a tuple or function as its type says.

    It has the operators and methods that NumPy arrays have.  Its shape and dtype are known, its elements are
    not: to branch or loop on them, use `relay.cond` and `relay.while_loop`.  Raises `traced-type` where its
    type cannot be known.
    """

    __slots__ = ()
    types: TypesOfTrace
    box: ClassVar[Box | None] = None

    def wrap(self, expr: Expr) -> Self:
        return super().wrap((current.get() or self.types).kept(expr))

    @property
    def type(self) -> Type:
        """Its Relay type."""
        return self.types(self.expr)

    def tensor_type(self, what: str) -> TensorType:
        """Its type, which is a tensor's; `what` is asked of it."""
        t = self.type
        if not isinstance(t, TensorType):
            fail("traced-type", f"only a tensor has {what}, and this is {t}", caller_span(),
                 hint="the fields of a tuple are x[0], x[1], …")  # fmt: skip
        return t

    # --- what is known of it

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes of its axes: integers, and symbolic dimensions."""
        t = self.tensor_type("a shape")
        if not isinstance(t.shape, tuple):
            fail("traced-type", f"the rank of {t} is not known", caller_span(),
                 hint="annotate the parameters with shapes: `Tensor[(n, 4), float32]`")  # fmt: skip
        return t.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype, as NumPy's."""
        t = self.tensor_type("a dtype")
        if not isinstance(t.dtype, str):
            fail("traced-type", f"the dtype of {t} is not known", caller_span(),
                 hint="annotate the parameters with dtypes: `Tensor[(n, 4), float32]`")  # fmt: skip
        return to_numpy(t.dtype)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of its elements."""
        return math.prod(self.shape)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def __len__(self) -> int:
        t = self.type
        if isinstance(t, TupleType):
            return len(t.fields)
        if not self.shape:
            refuse("a traced scalar has no len()", "x.ndim is the number of its axes")
        if not isinstance(self.shape[0], int):
            refuse(
                f"Python needs the size of an axis, which is {self.shape[0]}", "x.shape[0] is the dimension"
            )
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        t = self.type
        if isinstance(t, TupleType):
            return iter([self[i] for i in range(len(t.fields))])
        if not self.shape:
            refuse("Python cannot loop over a traced scalar", BRANCH_HINT)
        if not isinstance(self.shape[0], int):
            refuse(f"Python cannot loop over an axis of size {self.shape[0]}", BRANCH_HINT)
        return iter([self[i] for i in range(self.shape[0])])

    def is_tuple(self) -> bool:
        """Whether it is known to be a tuple."""
        try:
            return isinstance(self.type, TupleType)
        except RelayError as error:
            if error.codes != ("traced-type",):
                raise
            return False

    # --- parts

    def __getitem__(self, where: Any) -> Any:
        if is_integer(where) and self.is_tuple():
            count = len(self)
            if not -count <= where < count:
                raise IndexError(f"field {where} of a tuple of {count}")
            return self.wrap(TupleGetItem(self.expr, where % count))
        return index(self, where)

    @property
    def at(self) -> "Places":
        """`x.at[i].set(v)` is a copy of `x` with `v` at `x[i]`; `.add(v)` adds to what is there."""
        return Places(self, changed)

    def __setitem__(self, where: Any, value: Any) -> NoReturn:
        refuse("traced values do not change", "`x = x.at[i].set(v)` is a copy with another value at `x[i]`")

    @clears("x.astype")
    def astype(self, dtype: Any) -> Any:
        """The values in another dtype."""
        return apply("cast", self, dtype=dtype)

    @clears("x.reshape")
    def reshape(self, *shape: Any) -> Any:
        """The elements in another shape, given as a tuple or size by size; -1 is what is left."""
        return apply("reshape", self, newshape=sizes(self, shape), allowzero=True)

    @clears("x.transpose")
    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, given as a tuple or one by one; without one, in reverse."""
        order = axes[0] if len(axes) == 1 and is_sequence(axes[0]) else axes
        return apply("transpose", self, axes=tuple(order) if order else None)

    T = property(transpose, doc="The axes in reverse.")

    @clears("x.flatten")
    def flatten(self) -> Any:
        """The elements on one axis."""
        return self.reshape(-1)

    ravel = flatten

    @clears("x.squeeze")
    def squeeze(self, axis: Axis = None) -> Any:
        """Without these axes, or all, of size 1."""
        return apply("squeeze", self, axis=(axis,) if isinstance(axis, int) else axis)

    # --- reductions along `axis`: one, several, or all; dtypes are those of the array API

    sum, prod = reduction("sum", summed_dtype), reduction("prod", summed_dtype)
    mean = reduction("mean", floating_dtype)
    std, var = spread("std"), spread("variance")
    max, min = reduction("max"), reduction("min")
    all, any = reduction("all"), reduction("any")
    argmax, argmin = reduction("argmax"), reduction("argmin")

    # --- what only a run can tell

    def __bool__(self) -> bool:
        refuse("Python cannot branch on a traced value", BRANCH_HINT)

    def _number(self) -> NoReturn:
        refuse("Python cannot have the number of a traced value", "its shape and dtype alone are known")

    __int__ = __float__ = __index__ = __complex__ = _number

    def __format__(self, spec: str, /) -> str:
        if spec:
            self._number()
        return str(self)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse("NumPy cannot use a traced value", "use the operators of Relay: relay.sin(x) for numpy.sin(x)")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufuncs().get(ufunc, ufunc.__name__)
        if method != "__call__" or options or name not in builders:
            self._refuse_function(ufunc)
        return apply(name, *inputs)

    def __array_function__(self, function: Any, *_: Any) -> NoReturn:
        self._refuse_function(function)

    def _refuse_function(self, function: Any) -> NoReturn:
        """Name the operator or the method for a function of NumPy's."""
        name = function.__name__
        own = next((path for path in (name, f"nn.{name}", f"linalg.{name}") if path in builders), None)
        hint = (
            f"`relay.{own}(x)` is the operator"
            if own
            else f"relay.numpy has NumPy's functions: `relay.numpy.{name}`"
        )
        refuse(f"`numpy.{name}` cannot use a traced value", hint)

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_"):
            path = name if name in builders else ELSEWHERE.get(name)
            known = f"relay.{path}(x) is an operator" if path else ""
            hint = (
                known or did_you_mean(name, dir(type(self))) or "arrays that are traced have not all methods"
            )
            raise AttributeError(f"a traced value has no `{name}`; {hint}")
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<traced {self.expr!r}>"

    def __str__(self) -> str:
        return str(self.expr)

    __hash__ = object.__hash__

    # --- operators

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        return self.wrap(Call(self.expr, tuple([as_expr(a) for a in args]), attrs or None))

    __add__, __radd__ = operator("add"), operator("add", swapped=True)
    __sub__, __rsub__ = operator("subtract"), operator("subtract", swapped=True)
    __mul__, __rmul__ = operator("multiply"), operator("multiply", swapped=True)
    __truediv__, __rtruediv__ = division(), division(swapped=True)
    __floordiv__, __rfloordiv__ = operator("floor_divide"), operator("floor_divide", swapped=True)
    __mod__, __rmod__ = operator("floor_mod"), operator("floor_mod", swapped=True)
    __pow__, __rpow__ = operator("power"), operator("power", swapped=True)
    __matmul__, __rmatmul__ = operator("nn.matmul"), operator("nn.matmul", swapped=True)
    __lshift__, __rlshift__ = operator("left_shift"), operator("left_shift", swapped=True)
    __rshift__, __rrshift__ = operator("right_shift"), operator("right_shift", swapped=True)
    __and__, __rand__ = logical("logical_and", "bitwise_and")
    __or__, __ror__ = logical("logical_or", "bitwise_or")
    __xor__, __rxor__ = logical("logical_xor", "bitwise_xor")
    __lt__, __le__ = operator("less"), operator("less_equal")
    __gt__, __ge__ = operator("greater"), operator("greater_equal")
    __eq__, __ne__ = operator("equal"), operator("not_equal")  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> Any:
        return apply("negative", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return apply("abs", self)

    def __invert__(self) -> Any:
        return apply("logical_not" if self.dtype == np.bool_ else "bitwise_not", self)

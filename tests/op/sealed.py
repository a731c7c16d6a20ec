"""NumPy behind a seal: an array module whose arrays tell shapes and dtypes and never a value.

Whatever runs on it can be traced: it writes into no array, and none of its branches and sizes is by a value.
"""

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

UNARY = {f"__{name}__": getattr(operator, name) for name in ("neg", "pos", "abs", "invert")}
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "xor")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
BINARY = {
    **{name: getattr(operator, name) for name in (*ARITHMETIC, *COMPARISONS)},
    "and": operator.and_,
    "or": operator.or_,
}
METHODS = (
    *("all", "any", "argmax", "argmin", "astype", "clip", "cumsum", "max", "mean", "min", "prod", "reshape"),
    *("round", "squeeze", "sum", "swapaxes", "transpose", "view"),
)
UNTRACEABLE = (
    "argwhere",
    "bincount",
    "flatnonzero",
    "lib",
    "min_scalar_type",
    "ndindex",
    "nonzero",
    "unique",
)
"""What makes arrays whose shape is a value, or is not about arrays."""
COMBINING = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


class Sealed:
    """An array without values."""

    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, value: Any) -> None:
        self.value = np.asarray(value)
        self.shape, self.dtype = self.value.shape, self.value.dtype
        self.ndim, self.size = self.value.ndim, self.value.size

    @property
    def T(self) -> "Sealed":
        return Sealed(self.value.T)

    @property
    def real(self) -> "Sealed":
        return Sealed(self.value.real)

    @property
    def imag(self) -> "Sealed":
        return Sealed(self.value.imag)

    @property
    def at(self) -> "Places":
        return Places(self)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return (Sealed(x) for x in self.value)

    def __getitem__(self, at: Any) -> "Sealed":
        return Sealed(self.value[opened(at)])


class Places:
    """`x.at[i]`, from which copies of `x` are made that differ there."""

    def __init__(self, x: Sealed) -> None:
        self.x = x

    def __getitem__(self, at: Any) -> "Places":
        self.index = opened(at)
        return self

    def set(self, values: Any) -> Sealed:
        out = self.x.value.copy()
        out[self.index] = opened(values)
        return Sealed(out)

    def __getattr__(self, way: str) -> Callable[[Any], Sealed]:
        def combined(values: Any) -> Sealed:
            out = self.x.value.copy()
            COMBINING[way].at(out, self.index, opened(values))
            return Sealed(out)

        return combined


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refused(self: Sealed, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError(f"`{name}` of an array whose values are not known")

    return refused


def _unary(f: Callable[[Any], Any]) -> Callable[[Sealed], Sealed]:
    return lambda x: Sealed(f(x.value))


def _binary(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Sealed]:
    return lambda x, y: Sealed(f(opened(x), opened(y)))


def _method(name: str) -> Callable[..., Sealed]:
    return lambda x, *args, **kwargs: Sealed(getattr(x.value, name)(*opened(args), **opened(kwargs)))


for _name in ("bool", "int", "float", "complex", "index", "array", "setitem", "contains"):
    setattr(Sealed, f"__{_name}__", _refusing(f"__{_name}__"))
for _name in ("item", "tolist", "tobytes", "nonzero", "fill"):
    setattr(Sealed, _name, _refusing(_name))
for _name, _f in UNARY.items():
    setattr(Sealed, _name, _unary(_f))
for _name, _f in BINARY.items():
    setattr(Sealed, f"__{_name}__", _binary(_f))
    setattr(Sealed, f"__r{_name}__", _binary(lambda y, x, f=_f: f(x, y)))
for _name in METHODS:
    setattr(Sealed, _name, _method(_name))


def opened(x: Any) -> Any:
    """What is behind the seals of an array, or in a tuple, a list or a dict."""
    if isinstance(x, Sealed):
        return x.value
    if isinstance(x, dict):
        return {k: opened(v) for k, v in x.items()}
    return type(x)(map(opened, x)) if type(x) in (tuple, list) else x


def sealed(x: Any) -> Any:
    """Arrays and scalars, also in tuples and lists, behind seals."""
    if isinstance(x, tuple | list):
        return tuple(map(sealed, x))
    return Sealed(x) if isinstance(x, np.ndarray | np.generic) else x


class Namespace:
    """A `Tracing` module over a module of NumPy."""

    def __init__(self, module: Any = np) -> None:
        self.module = module
        self.failed: list[str] = []
        """The codes of what was required and does not hold."""

    def __getattr__(self, name: str) -> Any:
        assert name not in UNTRACEABLE, f"`{name}` is not in every array module"
        found = getattr(self.module, name)
        if isinstance(found, ModuleType):
            return Namespace(found)
        return Function(found) if callable(found) and not isinstance(found, type) else found

    def require(self, ok: Any, code: str, message: str, hint: str = "") -> None:
        if not np.all(opened(ok)):
            self.failed.append(code)

    def loop(self, count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
        for i in range(count):
            state = step(Sealed(i), state)
        return state

    def sharded(self, x: Any, spec: Any) -> Any:
        return x

    def matrix_product(self, a: Any, b: Any, dtype: Any) -> Sealed:
        return Sealed(np.matmul(opened(a).astype(dtype), opened(b).astype(dtype)))

    def placed(self, x: Any, at: Any, values: Any) -> Sealed:
        return x.at[at].set(values)

    def operator(self, op: Any, *operands: Any) -> Any:
        return op.traced(self, *operands)


class Function:
    """A function of NumPy on sealed arrays."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return sealed(self.f(*opened(args), **opened(kwargs)))

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        return sealed(self.f.accumulate(*opened(args), **opened(kwargs)))

"""How a function learns its type parameters at run time, and literals whose dtype is one of them.

A parameter that shows in the type of an argument tensor is read off that argument on entry, and only by
functions that need it.  A dtype that shows in no argument tensor (only under `List[…]`, say) is passed,
hidden, in front of what the function captures.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from relay.ir.dtype import rounded
from relay.ir.expr import Constant, Function, Var
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import DimExpr, FuncType, Kind, TypeVar

Getter = Callable[[Any], Any]
_dtype, _shape = attrgetter("dtype"), attrgetter("shape")


def sources(params: Iterable[Var]) -> dict[Any, tuple[int, Getter]]:
    """How each type parameter can be read off an argument: its position and a function of its value."""
    found: dict[Any, tuple[int, Getter]] = {}
    composed: dict[Any, tuple[int, Getter]] = {}
    for i, param in enumerate(params):
        for path, tensor in tensor_parts(param.type_annotation):
            if isinstance(tensor.dtype, TypeVar):
                found.setdefault(tensor.dtype, (i, _through(path, _dtype)))
            if isinstance(tensor.shape, TypeVar):
                found.setdefault(tensor.shape, (i, _through(path, _shape)))
            elif isinstance(tensor.shape, tuple):
                for axis, d in enumerate(tensor.shape):
                    if isinstance(d, TypeVar):
                        found.setdefault(d, (i, _through(path, _size(axis))))
                    elif isinstance(d, DimExpr) and d.linear is not None:
                        atom, factor, constant = d.linear
                        composed.setdefault(atom, (i, _through(path, _solved(axis, factor, constant))))
    return {**composed, **found}


def _size(axis: int) -> Getter:
    return lambda value: value.shape[axis]


def _solved(axis: int, factor: int, constant: int) -> Getter:
    return lambda value: (value.shape[axis] - constant) // factor


def _through(path: tuple[int, ...], get: Getter) -> Getter:
    """`get` after the projections of `path`."""
    if not path:
        return get
    steps = [itemgetter(i) for i in path]

    def getter(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return get(value)

    return getter


def hidden_parameters(fn: Function) -> tuple[TypeVar, ...]:
    """The dtypes that `fn` cannot read off an argument."""
    wanted = [p for p in fn.type_params if p.kind is Kind.BaseType]
    if not wanted:
        return ()
    known = sources(fn.params)
    return tuple([p for p in wanted if p not in known])


def hidden_of_type(scheme: FuncType) -> tuple[TypeVar, ...]:
    """As `hidden_parameters`, of a function known by its type."""
    params = [Var("", t, span=None) for t in scheme.arg_types]
    known = sources(params)
    return tuple([p for p in scheme.type_params if p.kind is Kind.BaseType and p not in known])


def constant_value(e: Constant) -> Any:
    """The run-time value of a constant; an open literal has its default type."""
    return frozen(e.value if e.type is not None else e.value.astype(default_dtype(e.value)))


def frozen(value: np.ndarray[Any, Any]) -> Any:
    """An array that nobody can write to through this name; a scalar at rank 0."""
    if value.ndim == 0:
        return value[()]
    if value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def default_dtype(value: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """The dtype of an open literal that nothing decides: int32 (int64 if it does not fit) or float32."""
    if value.dtype.kind == "f":
        return np.dtype("float32")
    fits = value.size == 0 or (value.min() >= -(2**31) and value.max() < 2**31)
    return np.dtype("int32" if fits else "int64")


class LiteralOf(dict[Any, Any]):
    """The values of an open literal by dtype, made when first asked for; None asks for the default."""

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, dtype: Any) -> Any:
        wanted = default_dtype(self.value) if dtype is None else dtype
        made = self[dtype] = frozen(rounded(self.value, wanted))
        return made

"""What a tensor of a model is while it is imported: an expression, its type, and what is known of it.

Converters compute with values as with numbers.  An operator on constants is evaluated at once; sizes that
are known, as numbers or as expressions over symbolic ones, are followed through integer arithmetic.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from relay.diagnostic import Span
from relay.frontend.sizes import RULES, followed
from relay.ir.dtype import dtype_name, is_float, to_numpy
from relay.ir.expr import Call, Constant, Expr, GlobalVar, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type
from relay.ir.walk import rewrite
from relay.op.arrays import unboxed
from relay.op.registry import instance
from relay.typecheck.infer import infer_expr

Array = np.ndarray[Any, Any]
MAX_FOLDED_ELEMENTS = 1 << 16
"""The most elements that constant folding computes from fewer ones while importing."""
MAX_CACHED_TYPES = 1 << 14
"""The number of result types that are cached."""


class NeedsValueError(Exception):
    """A number that decides types (a shape, an axis) is only known when the model runs."""

    def __init__(self, what: str, sources: frozenset[str], of_shape: bool = False) -> None:
        """`sources` are the inputs of the model that it comes from; `of_shape` if their sizes decide it."""
        super().__init__(what)
        self.of_shape = of_shape
        self.what = what
        self.sources = sources
        self.span: Span | None = None


class Value:
    """An expression with its type; `array` is its value if it is constant, `dims` sizes that it holds.

    `some_dims` are the sizes that it holds where some of them are `?`.
    """

    __slots__ = ("_expr", "_stand_in", "array", "dims", "some_dims", "sources", "type")

    def __init__(
        self,
        expr: Expr | None,
        type_: Type,
        array: Array | None = None,
        dims: Array | None = None,
        sources: frozenset[str] = frozenset(),
    ) -> None:
        """`expr` may be left out for a constant; `dims` is an array of Python objects."""
        self._expr = expr
        self._stand_in: Var | None = None
        self.type = type_
        self.array = array
        self.dims = dims
        self.some_dims: Array | None = None
        self.sources = sources

    @property
    def expr(self) -> Expr:
        """The expression."""
        if self._expr is None:
            assert self.array is not None
            self._expr = Constant(self.array, self.tensor)
        return self._expr

    def named(self, var: Expr) -> "Value":
        """The value, bound to a variable."""
        found = Value(var, self.type, self.array, self.dims, self.sources)
        found.some_dims = self.some_dims
        return found

    @property
    def stand_in(self) -> Expr:
        """A variable of its type, for inference."""
        if self._stand_in is None:
            unnamed = "x" if self.array is None else "constant"
            name = self._expr.name_hint if isinstance(self._expr, Var) else unnamed
            self._stand_in = Var(name, self.type, span=None)
        return self._stand_in

    @property
    def tensor(self) -> TensorType:
        """Its type, which is that of a tensor."""
        if not isinstance(self.type, TensorType):
            raise TypeError(f"a tensor is needed here, not {self.type}")
        return self.type

    @property
    def dtype(self) -> str:
        """Its dtype."""
        return str(self.tensor.dtype)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its sizes: numbers, symbolic expressions, or `?`."""
        shape = self.tensor.shape
        assert isinstance(shape, tuple), "importing knows every rank"
        return shape

    @property
    def rank(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return is_float(self.dtype)

    def size(self, axis: int) -> int:
        """The size of an axis, which must be known."""
        found = self.shape[axis]
        if not isinstance(found, int):
            raise NeedsValueError(f"the size of axis {axis}", self.sources, of_shape=True)
        return found

    def sizes(self) -> tuple[int, ...]:
        """The shape, which must be known."""
        return tuple([self.size(i) for i in range(self.rank)])

    def known(self, what: str) -> Array:
        """The value, which must be known while importing."""
        if self.array is not None:
            return self.array
        if self.dims is not None and all(isinstance(d, int) for d in self.dims.flat):
            return self.dims.astype("int64")
        raise NeedsValueError(what, self.sources)

    def numbers(self, what: str) -> list[int]:
        """A vector or a scalar of whole numbers, which must be known."""
        return [int(x) for x in self.known(what).reshape(-1)]

    def number(self, what: str) -> Any:
        """A single number, which must be known."""
        found = self.known(what).reshape(-1)
        if found.size != 1:
            raise ValueError(f"{what} is one number, not {found.size}")
        return found[0].item() if found.dtype.kind in "biuf" else float(found[0])

    def __add__(self, other: "Operand") -> "Value":
        return call("add", self, other)

    def __radd__(self, other: "Operand") -> "Value":
        return call("add", other, self)

    def __sub__(self, other: "Operand") -> "Value":
        return call("subtract", self, other)

    def __rsub__(self, other: "Operand") -> "Value":
        return call("subtract", other, self)

    def __mul__(self, other: "Operand") -> "Value":
        return call("multiply", self, other)

    def __rmul__(self, other: "Operand") -> "Value":
        return call("multiply", other, self)

    def __truediv__(self, other: "Operand") -> "Value":
        return call("divide", self, other)

    def __rtruediv__(self, other: "Operand") -> "Value":
        return call("divide", other, self)

    def __neg__(self) -> "Value":
        return call("negative", self)

    def __getitem__(self, index: int) -> "Value":
        return project(self, index)


Operand = Value | int | float | Array


def constant(value: Any, dtype: str | None = None) -> Value:
    """A constant."""
    array = np.asarray(value)
    array = array.astype(to_numpy(dtype)) if dtype is not None else array
    return Value(None, TensorType(array.shape, dtype_name(array.dtype)), array)


def open_call(stand_in: Expr, operands: Sequence[Value], mod: IRModule | None = None) -> Value:
    """The value of an expression over the operands' stand-ins."""
    instead: dict[Expr, Expr] = {o.stand_in: o.expr for o in operands}
    inferred = infer_expr(stand_in, mod).checked_type if mod is None else type_in(stand_in, mod)
    real = rewrite(stand_in, instead.get)
    return Value(real, inferred, sources=union(operands))


def type_in(e: Expr, mod: IRModule) -> Type:
    """The type of an expression over the definitions of a module."""
    from relay.typecheck.query import type_of

    return type_of(e, mod)


def union(operands: Iterable[Value]) -> frozenset[str]:
    """The inputs that any of them comes from."""
    none: frozenset[str] = frozenset()
    return none.union(*[o.sources for o in operands])


def call(name: str, *operands: Any, **attrs: Any) -> Value:
    """An operator on values (tuples of them, numbers in the dtype of the first one)."""
    like = next((o.dtype for o in operands if isinstance(o, Value)), None)
    values: list[Any] = [as_value(o, like) for o in operands]
    flat: list[Value] = []
    for o in values:
        flat += o if isinstance(o, tuple) else [o]
    op = instance(name, attrs)
    result = result_type(op, values)
    sources = union(flat)
    if flat and all(v.array is not None for v in flat) and _is_small(result, flat):
        arrays = [_array_of(o) for o in values]
        return Value(None, result, evaluate(op, arrays), sources=sources)
    found = Value(Call(Op.get(op.name), tuple(map(_expr_of, values)), op), result, sources=sources)
    if name in RULES:
        known: list[Any] = [held_by(o) if isinstance(o, Value) else [held_by(v) for v in o] for o in values]
        held = followed(name, attrs, known)
        if held is not None and all(isinstance(d, int) for d in held.flat):
            return Value(None, result, held.astype(to_numpy(str(found.dtype))), sources=sources)
        hold(found, held)
    return found


def kept(name: str, *operands: Value, **attrs: Any) -> Value:
    """An operator that stays in the program even on constants: what it makes of a weight is larger."""
    op = instance(name, attrs)
    made = Call(Op.get(op.name), tuple([o.expr for o in operands]), op)
    return Value(made, result_type(op, operands), sources=union(operands))


_types: dict[Any, Type] = {}
"""Types of results, by the operator with its attributes and the operands' types."""


def result_type(op: Any, operands: Sequence[Any]) -> Type:
    """The type of an operator's result."""
    key = (op, *[o.type if isinstance(o, Value) else tuple([v.type for v in o]) for o in operands])
    found = _types.get(key)
    if found is None:
        made = Call(Op.get(op.name), tuple(map(_stand_in_of, operands)), op)
        found = infer_expr(made).checked_type
        if len(_types) >= MAX_CACHED_TYPES:
            _types.clear()
        _types[key] = found
    return found


def _stand_in_of(operand: "Value | Sequence[Value]") -> Expr:
    """A variable for each value of an operand."""
    if isinstance(operand, Value):
        return operand.stand_in
    return Tuple(tuple([v.stand_in for v in operand]))


def _expr_of(operand: "Value | Sequence[Value]") -> Expr:
    return operand.expr if isinstance(operand, Value) else Tuple(tuple([v.expr for v in operand]))


def _array_of(operand: "Value | Sequence[Value]") -> Any:
    if isinstance(operand, Value):
        assert operand.array is not None
        return operand.array[()]
    return tuple([_array_of(v) for v in operand])


def as_value(x: Any, like: str | None) -> Any:
    """An operand as a value."""
    if isinstance(x, Value):
        return x
    if isinstance(x, tuple | list):
        return tuple([as_value(v, like) for v in x])  # pyright: ignore[reportUnknownVariableType]
    return constant(x, None if isinstance(x, np.ndarray) else like)


def _is_small(t: Type, operands: Sequence[Value]) -> bool:
    """Whether a result is worth computing now."""
    if not isinstance(t, TensorType):
        return True
    count = 1
    for d in t.shape if isinstance(t.shape, tuple) else ():
        count *= d if isinstance(d, int) else 1
    most = max(v.array.size for v in operands if v.array is not None)
    return count <= max(MAX_FOLDED_ELEMENTS, most)


def evaluate(op: Any, arrays: Sequence[Any]) -> Any:
    """The value of an operator on constants."""
    with np.errstate(all="ignore"):
        found: Any = unboxed(op.reference(np, *arrays))
    if isinstance(found, tuple):
        return tuple([np.asarray(x) for x in cast("tuple[Any, ...]", found)])
    return np.asarray(found)


def project(x: Value, index: int) -> Value:
    """A field of a tuple."""
    assert isinstance(x.type, TupleType)
    t = x.type.fields[index]
    if isinstance(x.array, tuple):
        return Value(None, t, x.array[index], sources=x.sources)
    return Value(TupleGetItem(x.expr, index), t, sources=x.sources)


def fields(x: Value) -> tuple[Value, ...]:
    """All fields of a tuple."""
    assert isinstance(x.type, TupleType)
    return tuple([project(x, i) for i in range(len(x.type.fields))])


def apply_global(mod: IRModule, name: str, *operands: Value) -> Value:
    """A call of a definition of the module."""
    made = Call(GlobalVar(name), tuple([o.stand_in for o in operands]))
    return open_call(made, operands, mod)


def tuple_of(values: Sequence[Value]) -> Value:
    """A tuple."""
    return Value(
        Tuple(tuple([v.expr for v in values])), TupleType([v.type for v in values]), sources=union(values)
    )


# --- sizes --------------------------------------------------------------------------------------------------


def sizes_of(x: Value) -> Array | None:
    """The integers that a value holds, as numbers and symbolic sizes."""
    if x.dims is not None:
        return x.dims
    if x.array is not None and x.array.dtype.kind in "iu" and x.array.size <= 64:
        found = np.empty(x.array.shape, object)
        found[...] = x.array.tolist() if x.array.ndim else int(x.array)
        return found
    return None


def symbolic(dims: Sequence[Dim], expr: Expr, t: Type, sources: frozenset[str]) -> Value:
    """A vector of sizes; a constant where all are numbers."""
    if all(isinstance(d, int) for d in dims):
        return Value(None, t, np.asarray(dims, "int64"), sources=sources)
    held = np.empty(len(dims), object)
    held[:] = list(dims)
    found = Value(expr, t, sources=sources)
    hold(found, held)
    return found


def hold(x: Value, dims: Array | None) -> None:
    """Say which sizes a value holds; some may be `?`."""
    if dims is not None and any(d is ANY for d in dims.flat):
        x.some_dims = dims
    else:
        x.dims = dims


def held_by(x: Value) -> Array | None:
    """The integers that a value holds, as numbers and sizes, `?` included."""
    return sizes_of(x) if x.some_dims is None else x.some_dims
